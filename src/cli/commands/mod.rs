//! The commands, one file each.

mod apply;
mod completions;
mod control;
mod drift;
mod explain;
mod export_drift;
mod history;
mod init;
mod man;
mod object;
mod plan;
mod proposal;
mod rbac;
mod rebuild;
mod recover;
mod remove;
mod rename;
mod render;
mod repair;
mod run;
mod show;
mod source;
mod status;
mod verify;

use super::args::{Cli, Command, Format, Global, SourceCommand};
use super::env::Env;
use super::exit::{Exit, Stop};
use super::output::Output;
use crate::plan::document::PlanDocument;
use crate::plan::render::{self as rendered, View};

/// The forms of a plan.
const PLAN_FORMATS: &[Format] = &[Format::Table, Format::Diff, Format::Json, Format::Markdown];

/// Runs the command.
///
/// # Errors
/// Why it stopped; nothing was written unless the error says otherwise.
pub(crate) fn run(cli: &Cli, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let global = &cli.global;
    match &cli.command {
        Command::Init => init::run(env, output),
        Command::Plan(args) => plan::run(args, global, env, output),
        Command::Show { plan } => show::run(plan, global, output),
        Command::Recover(locking) => recover::run(locking, global, env, output),
        Command::Verify(args) => verify::run(args, global, env, output),
        Command::Apply(args) => apply::run(args, global, env, output),
        Command::Repair(args) => repair::run(args, global, env, output),
        Command::ExportDrift(args) => export_drift::run(args, global, env, output),
        Command::Run(args) => run::run(args, global, env, output),
        Command::Rbac(args) => rbac::run(args, global, env, output),
        Command::Render(args) => render::run(args, global, env, output),
        Command::Explain { rule } => explain::run(rule.as_deref(), output),
        Command::Status(args) => status::run(args, global, env, output),
        Command::Drift(args) => drift::run(args, global, env, output),
        Command::History(args) => history::run(args, global, env, output),
        Command::Source { command } => source_command(command, global, env, output),
        Command::Object { command } => object::run(command, global, env, output),
        Command::Completions { shell } => completions::run(*shell, output),
        Command::Man => man::run(output),
    }
}

fn source_command(command: &SourceCommand, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    match command {
        SourceCommand::List => source::list(global, env, output),
        SourceCommand::Rename(args) => rename::run(args, global, env, output),
        SourceCommand::Remove(args) => remove::run(args, global, env, output),
        SourceCommand::Rebuild(args) => rebuild::run(args, global, env, output),
        SourceCommand::Pause(hold) => control::pause(hold, global, env, output),
        SourceCommand::Resume { revert, named } => control::resume(named, *revert, global, env, output),
        SourceCommand::Pin { hold, commit } => control::pin(hold, commit.as_deref(), global, env, output),
        SourceCommand::Retry(named) => control::retry(named, global, env, output),
        SourceCommand::Unpin(named) => control::unpin(named, global, env, output),
    }
}

/// A plan in one of its forms.
fn plan_text(plan: &PlanDocument, format: Format, color: bool, next: Option<&str>) -> Result<String, Stop> {
    let view = View { color, next };
    Ok(match format {
        Format::Diff => rendered::diff(plan, &view),
        Format::Json => rendered::json(plan, true)?,
        Format::Markdown => rendered::markdown(plan, &view),
        Format::Table | Format::Yaml => rendered::table(plan, &view),
    })
}
