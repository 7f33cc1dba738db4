//! What a command that plans or applies needs: configuration, target, cache, chosen Sources.

use super::args::{Fetching, Global, Permissions};
use super::config::{self, Found};
use super::env::{Env, WallClock};
use super::exit::{Failure, Stop};
use super::output::Output;
use super::planfile;
use super::progress::Bar;
use super::target::{self, Asked, Opened};
use crate::admission::{Rejection, unknown_waivers};
use crate::apply::{Context, Interrupt, Removal, Request, seen_commit};
use crate::base::clock::{Clock, Moment};
use crate::base::fault::Fault;
use crate::base::ids::{ApplyId, CommitId, SourceName};
use crate::base::pointer::Pointer;
use crate::base::resource::GroupKind;
use crate::inventory::present;
use crate::manifest;
use crate::plan::Grants;
use crate::plan::binding::wrong_target;
use crate::plan::document::{Allowances, PlanDocument, Purpose, Waiver};
use crate::schema::Catalog;
use crate::source::limits;
use crate::source::mirror::Ssh;
use crate::source::refs::RefSpec;
use crate::source::spec::{ServiceAccount, SourceSpec};
use crate::source::target::TargetSpec;
use crate::source::worktree;
use crate::target::sqlite::{Access, Embedded};
use crate::target::{Target, TargetError};

/// One command's surroundings.
pub(crate) struct Session {
    found: Found,
    target: Opened,
    spec: TargetSpec,
    cache: std::path::PathBuf,
    ssh: Ssh,
    clock: WallClock,
    fetch: limits::Limits,
    manifests: manifest::Limits,
    progress: Bar,
    offline: bool,
    read_only: bool,
    interrupt: Interrupt,
    reference: Option<RefSpec>,
}

impl Session {
    /// Finds the configuration and opens its target.
    ///
    /// # Errors
    /// If there is no configuration, it has faults, or its target can't be opened.
    pub(crate) fn open(
        global: &Global,
        fetching: &Fetching,
        access: Access,
        env: &Env,
        output: &Output,
    ) -> Result<Self, Stop> {
        // Unpacked while libgit2, which the names of branches need, reads the certificates that it trusts.
        rayon::spawn(Catalog::unpack);
        let found = config::find(global, env)?;
        output.note(&format!("configuration: {}", found.origin));
        let spec = target::choose(global.target.as_deref(), &found.config.targets, &found.base, &env.folder)?;
        let opened = {
            let (base, sources) = (&found.base, &found.config.sources);
            let asked = Asked { base, trust_kubeconfig: global.trust_kubeconfig, sources };
            target::open(&spec, access, WallClock.now(), env, &asked)?
        };
        let cache = env.cache.clone().ok_or_else(|| {
            Failure::refused("neither XDG_CACHE_HOME nor HOME is set, so there is no place for mirrors")
        })?;
        let interrupt =
            super::interrupt::listen().map_err(|e| Failure::fault(format!("signals can't be handled: {e}")))?;
        let reference = match (&global.reference, &global.repository) {
            (Some(text), None) => Some(RefSpec::parse(text).map_err(|e| Failure::usage(format!("--ref: {e}")))?),
            _ => None,
        };
        Ok(Self {
            found,
            target: opened,
            spec,
            cache,
            ssh: Ssh::of_home(env.home.clone()),
            clock: WallClock,
            fetch: limits::Limits::default(),
            manifests: manifest::Limits::default(),
            progress: Bar::new(env.stderr_is_terminal && !global.quiet, output),
            offline: fetching.offline,
            read_only: false,
            interrupt,
            reference,
        })
    }

    /// The same that asks the target nothing but reads.
    pub(crate) fn reading(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// The same for whoever looks at the target again and again.
    pub(crate) fn remembering(self) -> Self {
        Self { target: self.target.remembering(), ..self }
    }

    /// What the configuration says of the target.
    pub(crate) fn spec(&self) -> &TargetSpec {
        &self.spec
    }

    /// For the engine.
    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            target: self.target.target(),
            cache: &self.cache,
            ssh: &self.ssh,
            clock: &self.clock,
            fetch: &self.fetch,
            manifests: &self.manifests,
            progress: &self.progress,
            offline: self.offline,
            read_only: self.read_only,
            interrupt: &self.interrupt,
        }
    }

    /// The Sources of this target.
    fn sources(&self) -> impl Iterator<Item = &SourceSpec> {
        self.found.config.sources.iter().filter(|s| s.target.as_ref().is_none_or(|t| *t == self.spec.name))
    }

    /// The Sources of this target that were not chosen.
    pub(crate) fn others(&self, chosen: &[&SourceSpec]) -> Vec<&SourceSpec> {
        self.sources().filter(|spec| !chosen.iter().any(|one| one.name == spec.name)).collect()
    }

    /// What the configuration was read from.
    pub(crate) fn origin(&self) -> &str {
        &self.found.origin
    }

    /// Whether the configuration has a Source of this name for the target.
    pub(crate) fn has_source(&self, name: &SourceName) -> bool {
        self.sources().any(|source| source.name == *name)
    }

    /// The account that a Source's objects are written as, if the configuration has the Source.
    fn account(&self, name: &SourceName) -> Option<ServiceAccount> {
        self.sources().find(|source| source.name == *name)?.service_account.clone()
    }

    /// Whether somebody asked to stop.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    /// The fields of a kind that any Source of the target calls sensitive.
    pub(crate) fn sensitive(&self, kind: &GroupKind) -> Vec<Pointer> {
        let entries = self.sources().flat_map(|source| &source.sensitive);
        entries.filter(|entry| entry.kind == *kind).flat_map(|entry| entry.pointers.iter().cloned()).collect()
    }

    /// The named Sources, or all.
    pub(crate) fn chosen(&self, names: &[String]) -> Result<Vec<&SourceSpec>, Failure> {
        if names.is_empty() {
            let all: Vec<&SourceSpec> = self.sources().collect();
            if all.is_empty() {
                return Err(Failure::refused(format!(
                    "{} has no Source of Target {}",
                    self.found.origin, self.spec.name
                )));
            }
            return Ok(all);
        }
        let mut chosen: Vec<&SourceSpec> = Vec::new();
        for name in names {
            let found = self.sources().find(|s| s.name.as_str() == name).ok_or_else(|| {
                let known: Vec<&str> = self.sources().map(|s| s.name.as_str()).collect();
                let failure = Failure::refused(format!(
                    "{} has no Source {name:?} of Target {}; it has {known:?}",
                    self.found.origin, self.spec.name
                ));
                if planfile::is_plan(name) {
                    return failure.hint("a saved plan is for holdfast show, verify and apply");
                }
                failure
            })?;
            if !chosen.iter().any(|spec| spec.name == found.name) {
                chosen.push(found);
            }
        }
        Ok(chosen)
    }

    /// The named Sources, or all that were applied, each with the commit that was applied last.
    ///
    /// # Errors
    /// If a named one never was, or the target can't be read.
    pub(crate) fn applied(&self, names: &[String]) -> Result<Vec<(SourceName, CommitId)>, Stop> {
        let records = self.target().reader()?.sources()?;
        let mut commits = Vec::new();
        for spec in self.chosen(names)? {
            match present(&records, &spec.name) {
                Some(record) => commits.push((spec.name.clone(), record.commit.clone())),
                None if names.is_empty() => {}
                None => {
                    let text =
                        format!("Source {} was never applied here, so there is nothing to go back to", spec.name);
                    return Err(Failure::refused(text).hint("plan and apply it first").into());
                }
            }
        }
        if commits.is_empty() {
            return Err(Failure::refused("no Source of the configuration was applied here yet").into());
        }
        Ok(commits)
    }

    /// The Sources that a command meant, and for each the commit, as far as it is known: for the operation log.
    pub(crate) fn meant(&self, names: &[String], applied: bool) -> (Vec<String>, Vec<String>) {
        if applied {
            // What can't be read now has no place in the log either.
            let commits = self.applied(names).unwrap_or_default();
            return commits.into_iter().map(|(name, commit)| (name.to_string(), commit.to_string())).unzip();
        }
        let commit = |spec: &SourceSpec| match &self.reference {
            // Which commit another ref meant is in the report.
            Some(_) => String::new(),
            None => seen_commit(&self.context(), spec).map(|(commit, _)| commit.to_string()).unwrap_or_default(),
        };
        let specs = self.chosen(names).unwrap_or_default();
        specs.into_iter().map(|spec| (spec.name.to_string(), commit(spec))).unzip()
    }

    /// What to plan.
    pub(crate) fn request<'a>(
        &'a self,
        names: &[String],
        permissions: &Permissions,
        commits: Vec<(SourceName, CommitId)>,
    ) -> Result<Request<'a>, Failure> {
        let sources = self.chosen(names)?;
        let others = self.others(&sources);
        let waivers = waivers(permissions)?;
        let unknown: Vec<String> = unknown_waivers(&sources, &waivers).into_iter().map(said).collect();
        if !unknown.is_empty() {
            return Err(Failure::usage(unknown.join("\n")));
        }
        Ok(Request {
            sources,
            others,
            at: self.reference.clone(),
            commits,
            grants: grants(permissions)?,
            waivers,
            purpose: Purpose::Apply,
            removal: None,
        })
    }

    /// What a reviewed plan is made anew of. The file says which Sources, at which commits, and to what purpose; what it
    /// says beside that counts for nothing.
    pub(crate) fn request_of<'a>(
        &'a self,
        plan: &PlanDocument,
        permissions: &Permissions,
    ) -> Result<Request<'a>, Failure> {
        if let [source] = plan.sources.as_slice()
            && source.purpose.removes()
        {
            return self.removal(&source.name, source.purpose, permissions);
        }
        let names: Vec<String> = plan.sources.iter().map(|source| source.name.to_string()).collect();
        let commits = plan.sources.iter().map(|s| (s.name.clone(), s.commit.clone())).collect();
        match plan.sources.as_slice() {
            [source] if source.purpose == Purpose::Rebuild => self.rebuild(&source.name, commits),
            _ => self.request(&names, permissions, commits),
        }
    }

    /// A Source that is removed, whether the configuration still has it or not.
    pub(crate) fn removal<'a>(
        &'a self,
        name: &SourceName,
        purpose: Purpose,
        permissions: &Permissions,
    ) -> Result<Request<'a>, Failure> {
        Ok(Request {
            sources: Vec::new(),
            // The one that leaves is left out where they are read.
            others: self.others(&[]),
            at: None,
            commits: Vec::new(),
            grants: grants(permissions)?,
            waivers: Vec::new(),
            purpose: Purpose::Apply,
            removal: Some(Removal { account: self.account(name), name: name.clone(), purpose }),
        })
    }

    /// A Source that takes back what bears its mark.
    pub(crate) fn rebuild<'a>(
        &'a self,
        name: &SourceName,
        commits: Vec<(SourceName, CommitId)>,
    ) -> Result<Request<'a>, Failure> {
        let request = self.request(&[name.to_string()], &Permissions::default(), commits)?;
        Ok(Request { others: Vec::new(), purpose: Purpose::Rebuild, ..request })
    }

    /// Names the Sources that own something on the target and that the configuration doesn't have.
    ///
    /// # Errors
    /// If the target can't be read.
    pub(crate) fn note_unconfigured(&self, output: &Output) -> Result<(), TargetError> {
        let reader = self.target().reader()?;
        for record in reader.sources()? {
            if record.removed_at.is_some() || self.has_source(&record.name) {
                continue;
            }
            let count = reader.inventory(&record.id)?.rows.len();
            output.note(&format!(
                "Source {} is without configuration here and owns {count} objects: they stay as they are",
                record.name
            ));
        }
        Ok(())
    }

    /// Says of a refused commit what is not committed: the cure may be there, only not in git.
    pub(crate) fn note_uncommitted(&self, request: &[String], output: &Output) {
        for spec in self.chosen(request).unwrap_or_default() {
            // A work tree that can't be read has nothing to add to the refusal.
            let paths = spec.repository.local_path().and_then(|path| worktree::uncommitted(path, &spec.path).ok());
            if let Some(warning) = paths.and_then(|paths| worktree::warning(&paths)) {
                output.note(&format!("Source {}: {}", spec.name, warning.text));
            }
        }
    }

    /// Refuses a plan that was made for another target, before anything is fetched for it.
    pub(crate) fn is_for(&self, plan: &PlanDocument) -> Result<(), Stop> {
        let here = self.target().reader()?.identity()?;
        if here == plan.target.identity || here.began_as(&plan.target.identity) {
            Ok(())
        } else {
            Err(Rejection::of(wrong_target(plan, &here)).into())
        }
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// A new ID for an apply.
    pub(crate) fn new_apply(&self) -> ApplyId {
        apply_id(self.clock.now())
    }

    /// The target.
    pub(crate) fn target(&self) -> &dyn Target {
        self.target.target()
    }

    /// The target as an embedded control plane, to be written by hand.
    ///
    /// # Errors
    /// If it is a cluster, which has its own tools for that.
    pub(crate) fn embedded(&self) -> Result<&Embedded, Failure> {
        match &self.target {
            Opened::Embedded(target) => Ok(target),
            Opened::Kubernetes(_) => {
                let text = "holdfast object is for the embedded control plane, and this target is a cluster";
                Err(Failure::refused(text).hint("use kubectl"))
            }
        }
    }

    /// Whether a loop may run on the target.
    ///
    /// # Errors
    /// If it would write for some Source as its own account, and nobody said that this is meant.
    pub(crate) fn may_run(&self, env: &Env) -> Result<(), Failure> {
        target::may_run(&self.spec, self.sources(), env)
    }

    /// Stops here if somebody asked to.
    ///
    /// # Errors
    /// If somebody did; nothing was written.
    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        if self.interrupt.is_raised() { Err(Failure::refused("interrupted; nothing was written")) } else { Ok(()) }
    }

    /// Takes progress off the screen.
    pub(crate) fn quiet(&self) {
        self.progress.clear();
    }
}

/// A new ID for an apply that begins now.
pub(crate) fn apply_id(now: Moment) -> ApplyId {
    let now = now.as_millis().max(0).unsigned_abs();
    let (seconds, nanos) = (now / 1000, u32::try_from(now % 1000 * 1_000_000).unwrap_or_default());
    ApplyId::new(uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos)))
}

fn grants(given: &Permissions) -> Result<Grants, Failure> {
    let allowances = Allowances {
        deletes: given.allow_deletes,
        allow: given.allow.clone(),
        adopt: given.adopt.clone(),
        adoptions: given.allow_adoptions,
        adopt_from: given.adopt_from.clone(),
        take_over: given.take_over.clone(),
        release: given.release.clone(),
        waive_dry_run: given.waive_dry_run.clone(),
    };
    Grants::new(allowances).map_err(|e| Failure::usage(e.to_string()))
}

fn waivers(given: &Permissions) -> Result<Vec<Waiver>, Failure> {
    if given.waive.is_empty() {
        return Ok(Vec::new());
    }
    let reason = given.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    let reason = reason.ok_or_else(|| Failure::usage("--waive needs --reason"))?;
    Ok(given.waive.iter().map(|rule| Waiver { rule: rule.clone(), reason: reason.to_owned() }).collect())
}

/// A fault on one line, with what to do.
fn said(fault: Fault) -> String {
    match fault.hint {
        Some(hint) => format!("{} ({hint})", fault.text),
        None => fault.text,
    }
}
