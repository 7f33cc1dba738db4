//! What the command line understands. Names are a contract; help texts carry examples.

mod confirming;
mod drift;
mod permissions;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use confirming::Confirming;
pub(crate) use drift::{ExportArgs, InspectArgs, RepairArgs};
pub(crate) use permissions::Permissions;

/// Brings a git commit to a control plane whole or not at all.
#[derive(Debug, Parser)]
#[command(name = "holdfast", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "Examples:
  holdfast init                                   start with a commented holdfast.yaml
  holdfast plan --out shop.plan.json              what would the newest commit change?
  holdfast apply shop.plan.json                   exactly that, or nothing")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The configuration: a file, a folder, or git:REF:PATH
    #[arg(short, long = "file", value_name = "FILE|FOLDER", global = true)]
    pub file: Option<String>,
    /// The target: the name of a Target, embedded:PATH or kubernetes:CONTEXT
    #[arg(long, global = true, value_name = "TARGET")]
    pub target: Option<String>,
    /// Use a kubeconfig of a work tree though it runs programs or names files
    #[arg(long, global = true)]
    pub trust_kubeconfig: bool,
    /// Instead of a configuration: the repository of one Source
    #[arg(long, global = true, value_name = "URL|PATH")]
    pub repository: Option<String>,
    /// The name of that Source
    #[arg(long, global = true, value_name = "NAME")]
    pub source: Option<String>,
    /// Another commit than the Source's own ref: a branch, tag:NAME or commit:ID
    #[arg(long = "ref", global = true, value_name = "REF")]
    pub reference: Option<String>,
    /// The path of that Source inside the repository
    #[arg(long, global = true, value_name = "PATH")]
    pub path: Option<String>,
    /// A namespace that that Source may write; "*" is all
    #[arg(long, global = true, value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
    /// How data is printed
    #[arg(short, long, global = true, value_name = "FORMAT")]
    pub output: Option<Format>,
    /// Nothing but data and failures
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more of what is done
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Show sensitive values; on a terminal only
    #[arg(long, global = true)]
    pub show_secrets: bool,
    /// The form of log lines
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Rows for people
    Table,
    /// A unified diff of YAML
    Diff,
    /// One JSON document
    Json,
    /// A comment for a pull request
    Markdown,
    /// YAML
    Yaml,
}

impl Format {
    /// Its name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Diff => "diff",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Yaml => "yaml",
        }
    }
}

/// When colour is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Where commits come from.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options")]
pub(crate) struct Fetching {
    /// Fetch nothing: the mirror counts as it is
    #[arg(long)]
    pub offline: bool,
}

/// How an apply waits.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options")]
pub(crate) struct Locking {
    /// How long to wait for another process that writes
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub lock_timeout: Duration,
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().map_err(|_| format!("{text:?}: write a number with ms, s, m, h or d"))?;
    let time = match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        "d" => number.checked_mul(86_400).map(Duration::from_secs),
        _ => None,
    };
    time.ok_or_else(|| format!("{text:?}: write a number with ms, s, m, h or d"))
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Writes a commented holdfast.yaml
    #[command(after_help = "Example:\n  holdfast init      never over an existing file")]
    Init,
    /// Fetches, checks and diffs: what would a commit change?
    #[command(after_help = "Examples:
  holdfast plan                                     all Sources of the configuration, planned together
  holdfast plan shop --out shop.plan.json           one Source; the plan is saved
  holdfast plan shop --ref feature/x -o markdown    a pull request's branch, as a comment
  holdfast plan --exit-code                         3 when changes are pending")]
    Plan(PlanArgs),
    /// Shows a saved plan again
    #[command(after_help = "Examples:
  holdfast show shop.plan.json
  holdfast show shop.plan.json -o diff")]
    Show {
        /// The saved plan
        plan: PathBuf,
    },
    /// Would a saved plan still apply? Names each thing that moved; writes nothing
    #[command(after_help = "Example:\n  holdfast verify shop.plan.json")]
    Verify(VerifyArgs),
    /// Applies exactly a saved plan; or plans, shows, asks and applies
    #[command(after_help = "Examples:
  holdfast apply shop.plan.json                     exactly what was reviewed, or nothing
  holdfast apply shop                               plans, shows, asks, applies
  holdfast apply shop --expect CONTENTID            what was reviewed on the pull request, after its merge

A PLAN has a . or / in its name, a SOURCE neither.")]
    Apply(ApplyArgs),
    /// Back to the last applied commit: a plan like any other, admitted by today's rules
    #[command(after_help = "Examples:
  holdfast repair shop                              plans, shows, asks, applies
  holdfast repair shop --out back.plan.json         shows and saves the plan, and applies nothing
  holdfast apply back.plan.json                     what was reviewed, or nothing")]
    Repair(RepairArgs),
    /// Live changes as a patch to the manifests that they belong to
    #[command(after_help = "Examples:
  holdfast export-drift shop > drift.patch && git apply drift.patch
  holdfast export-drift shop Deployment.apps/shop/web
  holdfast export-drift shop --added                what others added beside what is declared, too

Sensitive values are not exported. What could not be exported is named on stderr, and the command then ends with 1.")]
    ExportDrift(ExportArgs),
    /// The loop: fetches, observes, diffs, applies and reports, on each Source's interval
    #[command(after_help = "Examples:
  holdfast run                                      all Sources of the configuration, until a signal
  holdfast run shop --once                          one look at one Source; 1 if it was refused or out of reach
  holdfast run --log-format json                    one JSON object a line, on stderr")]
    Run(RunArgs),
    /// Finishes or undoes an interrupted apply; on the embedded target nothing is ever half done
    #[command(after_help = "Example:\n  holdfast recover")]
    Recover(Locking),
    /// The least Kubernetes roles of a Source: for its objects, and for Holdfast's own state
    #[command(after_help = "Examples:
  holdfast rbac shop | kubectl apply -f -
  holdfast rbac --read-only shop                   for plan --read-only, drift and status

The roles come from the Source's scope: namespaces, clusterKinds, kinds. Where it names a serviceAccount, its roles are bound to it.")]
    Rbac(RbacArgs),
    /// Prints the manifests as they were read
    #[command(after_help = "Examples:\n  holdfast render shop\n  holdfast render shop -o json")]
    Render(RenderArgs),
    /// Says what a rule asks, with an example
    #[command(
        after_help = "Examples:\n  holdfast explain                  lists all rules\n  holdfast explain unknown-field"
    )]
    Explain {
        /// The rule
        rule: Option<String>,
    },
    /// Synced and Healthy, for each Source and object; reads only
    #[command(after_help = "Examples:
  holdfast status                         all Sources; objects that are not both Synced and Healthy
  holdfast status shop -v                 one Source with all of its objects
  holdfast status Deployment.apps/shop/web
  holdfast status --exit-code             3 unless everything is Synced
  holdfast status --watch                 again whenever something changes

What holds a / is an ID, what doesn't a SOURCE.")]
    Status(InspectArgs),
    /// What differs from what was last applied: fields, who and when; reads only
    #[command(after_help = "Examples:
  holdfast drift
  holdfast drift shop -o json
  holdfast drift Deployment.apps/shop/web
  holdfast drift --exit-code              3 when there is drift

What holds a / is an ID, what doesn't a SOURCE.")]
    Drift(InspectArgs),
    /// Applies, refusals and outside writes: when, who, commit, plan, result
    #[command(after_help = "Examples:\n  holdfast history\n  holdfast history show 0198c0de")]
    History(HistoryArgs),
    /// The Sources that a target knows; pauses and pins
    #[command(after_help = "Examples:
  holdfast source list
  holdfast source pause shop --reason 'incident 7'")]
    Source {
        #[command(subcommand)]
        command: SourceCommand,
    },
    /// The embedded control plane by hand, as somebody outside would
    #[command(after_help = "Examples:
  holdfast object list
  holdfast object get Deployment.apps/shop/web -o yaml
  holdfast object put by-hand.yaml --as ada
  holdfast object delete ConfigMap/shop/old --as ada")]
    Object {
        #[command(subcommand)]
        command: ObjectCommand,
    },
    /// Prints completions for a shell
    #[command(after_help = "Example:\n  holdfast completions bash > /etc/bash_completion.d/holdfast")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Prints the manual pages
    #[command(after_help = "Example:\n  holdfast man | man -l -")]
    Man,
}

/// Options of `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The Sources; none is all of the configuration, planned together
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,
    /// Save the plan
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Exit with 3 when changes are pending
    #[arg(long)]
    pub exit_code: bool,
    /// Ask the target nothing but reads: its own admission is asked at the apply, and every Change says so
    #[arg(long)]
    pub read_only: bool,
    #[command(flatten)]
    pub permissions: Permissions,
    #[command(flatten)]
    pub fetching: Fetching,
}

/// Options of `rbac`.
#[derive(Debug, Args)]
pub(crate) struct RbacArgs {
    /// The Sources; none is all of the configuration
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,
    /// What plan --read-only, drift and status need
    #[arg(long)]
    pub read_only: bool,
}

/// Options of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The saved plan
    pub plan: PathBuf,
    #[command(flatten)]
    pub permissions: Permissions,
    #[command(flatten)]
    pub fetching: Fetching,
}

/// Options of `apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// One saved plan, or Sources
    #[arg(value_name = "PLAN|SOURCE")]
    pub what: Vec<String>,
    /// Don't ask
    #[arg(short, long)]
    pub yes: bool,
    /// The PlanId of a saved plan, or the ContentId that was reviewed
    #[arg(long, value_name = "ID")]
    pub expect: Option<String>,
    /// Apply a commit that its Source's ref doesn't reach
    #[arg(long)]
    pub allow_unmerged: bool,
    /// Apply although a Source is paused; needs --reason
    #[arg(long)]
    pub while_paused: bool,
    #[command(flatten)]
    pub permissions: Permissions,
    #[command(flatten)]
    pub fetching: Fetching,
    #[command(flatten)]
    pub locking: Locking,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The Sources; none is all of the configuration
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,
    /// Look at each Source once, and end
    #[arg(long)]
    pub once: bool,
    #[command(flatten)]
    pub fetching: Fetching,
    #[command(flatten)]
    pub locking: Locking,
}

/// Options of `render`.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The Sources; none is all of the configuration
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,
    #[command(flatten)]
    pub fetching: Fetching,
}

/// Options of `history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub command: Option<HistoryCommand>,
    /// At most so many entries
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
}

/// What of the history.
#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// The receipt of one apply, or the details of another entry
    #[command(after_help = "Example:\n  holdfast history show 0198c0de -o json")]
    Show {
        /// The entry's ID, or the beginning of it
        id: String,
    },
}

/// What of the Sources.
#[derive(Debug, Subcommand)]
pub(crate) enum SourceCommand {
    /// Lists them: name, ID, commit, objects
    #[command(after_help = "Example:\n  holdfast source list -o json")]
    List,
    /// Holds back every apply of a Source; what others write meanwhile is an emergency change, which is not reverted
    #[command(after_help = "Examples:
  holdfast source pause shop --reason 'incident 7'
  holdfast source pause shop --reason 'incident 7' --until 2h --as ada")]
    Pause(HoldArgs),
    /// Ends a pause; emergency changes stay until they are in git or given up
    #[command(after_help = "Examples:
  holdfast source resume shop
  holdfast source resume shop --revert              gives the emergency changes up, also after the pause")]
    Resume {
        /// Give up what was changed in pauses: the next apply brings back what git declares
        #[arg(long)]
        revert: bool,
        #[command(flatten)]
        named: Named,
    },
    /// Holds a Source at a commit
    #[command(after_help = "Examples:
  holdfast source pin shop --reason 'until the fix is in'
  holdfast source pin shop 0123456789abcdef0123456789abcdef01234567 --reason 'the last good one' --until 2026-12-01T08:00:00Z")]
    Pin {
        #[command(flatten)]
        hold: HoldArgs,
        /// The full ID of a commit that the mirror has; the one that is applied if none is named
        #[arg(value_name = "COMMIT")]
        commit: Option<String>,
    },
    /// Tries what was refused at once, whatever its next try; a running loop does it within a second
    #[command(after_help = "Example:\n  holdfast source retry shop")]
    Retry(Named),
    /// Ends a pin
    #[command(after_help = "Example:\n  holdfast source unpin shop")]
    Unpin(Named),
    /// Gives a Source another name: its ID and every object stay as they are
    #[command(after_help = "Example:\n  holdfast source rename web web-v2")]
    Rename(RenameArgs),
    /// Removes a Source: its objects stay unmarked, or are deleted; needs no repository
    #[command(after_help = "Examples:
  holdfast source remove web --orphan                     its objects stay, and are nobody's
  holdfast source remove web --prune --out web.plan.json  all of them are deleted, or nothing; the plan is saved")]
    Remove(RemoveArgs),
    /// Takes back what bears a Source's mark, after a restore gave new UIDs; deletes and writes no object
    #[command(after_help = "Example:\n  holdfast source rebuild web")]
    Rebuild(RebuildArgs),
}

/// A Source that is held or let go, and by whom.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The Source
    pub name: String,
    /// Who does it; the user is recorded too
    #[arg(long = "as", value_name = "ACTOR", value_parser = actor)]
    pub actor: Option<String>,
}

/// How a Source is held, and why.
#[derive(Debug, Args)]
pub(crate) struct HoldArgs {
    /// Why; recorded
    #[arg(long, value_name = "REASON")]
    pub reason: String,
    /// Until when, if not until further notice: a moment (RFC 3339) or a time from now such as 2h
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    #[command(flatten)]
    pub named: Named,
}

/// Options of `source rename`.
#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    /// The name that it has
    pub old: String,
    /// The name that it gets
    pub new: String,
    #[command(flatten)]
    pub locking: Locking,
}

/// Options of `source remove`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("how").required(true).args(["orphan", "prune"]))]
pub(crate) struct RemoveArgs {
    /// The Source
    pub name: String,
    /// Its objects stay, without its mark
    #[arg(long)]
    pub orphan: bool,
    /// Its objects are deleted; refused where one would be kept
    #[arg(long)]
    pub prune: bool,
    #[command(flatten)]
    pub confirming: Confirming,
    #[command(flatten)]
    pub permissions: Permissions,
    #[command(flatten)]
    pub fetching: Fetching,
    #[command(flatten)]
    pub locking: Locking,
}

/// Options of `source rebuild`.
#[derive(Debug, Args)]
pub(crate) struct RebuildArgs {
    /// The Source
    pub name: String,
    #[command(flatten)]
    pub confirming: Confirming,
    /// Why
    #[arg(long, value_name = "REASON")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub fetching: Fetching,
    #[command(flatten)]
    pub locking: Locking,
}

/// What with objects.
#[derive(Debug, Subcommand)]
pub(crate) enum ObjectCommand {
    /// Lists them
    #[command(after_help = "Examples:\n  holdfast object list\n  holdfast object list --system -o json")]
    List {
        /// The built-in ones too
        #[arg(long)]
        system: bool,
    },
    /// Prints one; sensitive values are masked
    #[command(after_help = "Example:\n  holdfast object get Deployment.apps/shop/web -o json")]
    Get {
        /// Kind/namespace/name, Kind.group/namespace/name or Kind/name
        id: String,
    },
    /// Makes or replaces objects
    #[command(after_help = "Example:\n  holdfast object put by-hand.yaml --as ada")]
    Put {
        /// Files of manifests; - is standard input
        #[arg(required = true)]
        files: Vec<String>,
        /// Who does it
        #[arg(long = "as", value_name = "ACTOR", value_parser = actor)]
        actor: Option<String>,
    },
    /// Deletes objects
    #[command(after_help = "Example:\n  holdfast object delete ConfigMap/shop/old --as ada")]
    Delete {
        /// Kind/namespace/name, Kind.group/namespace/name or Kind/name
        #[arg(required = true)]
        ids: Vec<String>,
        /// Who does it
        #[arg(long = "as", value_name = "ACTOR", value_parser = actor)]
        actor: Option<String>,
    },
}

/// Who somebody says to be: not nobody, and no more than a log line can show.
fn actor(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it names nobody".to_owned()),
        long if long.len() > LONGEST_ACTOR => Err(format!("it has more than {LONGEST_ACTOR} bytes")),
        text => Ok(text.to_owned()),
    }
}

/// Longest name of an actor, in bytes.
const LONGEST_ACTOR: usize = 256;
