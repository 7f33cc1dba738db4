//! The real thing that a history is played on: bare repositories, a store, the engine in this process and in others.

mod git;
mod hands;
mod objects;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use git2::{Repository, RepositoryInitOptions};
use holdfast::admission::Rejection;
use holdfast::apply::{
    ApplyError, ApplyOptions, Context, Interrupt, Prepared, Removal, Request, Transaction, prepare, rename,
};
use holdfast::base::clock::{Clock, Moment};
use holdfast::base::ids::{ApplyId, CommitId, SourceId, SourceName};
use holdfast::base::resource::ResourceId;
use holdfast::inventory::{Inventory, SourceRecord};
use holdfast::manifest;
use holdfast::plan::document::{Allowances, PlanDocument, Purpose};
use holdfast::plan::{Grants, SealedPlan};
use holdfast::source::config::read_config;
use holdfast::source::limits::Limits;
use holdfast::source::mirror::{NoProgress, Ssh};
use holdfast::source::spec::SourceSpec;
use holdfast::target::sqlite::{Access, Embedded, Options};
use holdfast::target::{Contents, Live, Reader, Target as _};
use serde_json::json;

use super::reference::BUDGET;
use super::step::{Given, Job, Name, Res, Side, What};
pub use objects::values;

const WAIT: Duration = Duration::from_secs(20);

/// A clock that stands still within a step. A process that is killed has the real time, which is later.
#[derive(Debug)]
struct Standing(AtomicI64);

impl Clock for Standing {
    fn now(&self) -> Moment {
        Moment::from_millis(1_600_000_000_000 + self.0.load(Ordering::SeqCst) * 1000)
    }
}

pub struct Engine {
    folder: tempfile::TempDir,
    cache: PathBuf,
    ssh: Ssh,
    /// As the loop has it.
    store: Embedded,
    /// One that remembers nothing.
    plain: Embedded,
    repositories: BTreeMap<Side, Repository>,
    /// Every commit, by its number.
    commits: Vec<CommitId>,
    specs: BTreeMap<Side, SourceSpec>,
    ids: BTreeMap<Res, ResourceId>,
    clock: Standing,
    /// Sources whose branch is in the mirror as it is.
    fetched: RefCell<BTreeSet<Side>>,
    /// Somebody else has the store open: its log isn't cleared away and made anew each time, and a commit shows.
    beside: rusqlite::Connection,
    seen: RefCell<Option<(i64, Rc<Dump>)>>,
    applies: u128,
    fetch: Limits,
    manifests: manifest::Limits,
    interrupt: Interrupt,
}

/// Why nothing was planned or applied.
#[derive(Debug)]
pub enum Refusal {
    Rejected(Box<Rejection>),
    /// The command itself refuses it, before anything is planned.
    Asked(&'static str),
    Failed(String),
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

impl From<ApplyError> for Refusal {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Refused(refused) => refused.rejection.into(),
            ApplyError::Target(error) => Self::Failed(error.to_string()),
            ApplyError::Interrupted => Self::Failed("interrupted".to_owned()),
        }
    }
}

/// How an apply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Commit,
    /// Right before its commit, as when its process goes away.
    Cut,
}

/// What was applied, and what the same plan comes to afterwards.
pub struct Applied {
    pub plan: PlanDocument,
    pub again: Option<Result<PlanDocument, Refusal>>,
}

/// Everything of a store that a promise is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump {
    pub objects: BTreeMap<ResourceId, Live>,
    /// Every Source that the target knows, with what it owns.
    pub sources: Vec<(SourceRecord, Arc<Inventory>)>,
}

impl Engine {
    pub fn new() -> Self {
        let folder = place();
        let clock = Standing(AtomicI64::new(0));
        let bare = || {
            let mut options = RepositoryInitOptions::new();
            options.bare(true).external_template(false);
            options
        };
        let at = |side: Side| folder.path().join(format!("{}.git", side.name()));
        let repository = |side: Side| (side, Repository::init_opts(at(side), &bare()).unwrap());
        let repositories = Side::BOTH.into_iter().map(repository).collect();
        let path = folder.path().join("store").join("control-plane.db");
        std::fs::create_dir(folder.path().join("store")).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder.path().join("store"), private).unwrap();
        let open = || Embedded::open(&path, Options { access: Access::Create, wait: WAIT, now: clock.now() }).unwrap();
        let (store, plain) = (open().remembering(), open());
        let beside = rusqlite::Connection::open(&path).unwrap();
        beside.query_row("SELECT count(*) FROM meta", (), |_| Ok(())).unwrap();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        store.hand("setup").put(&[namespace], clock.now()).unwrap();
        let mut engine = Self {
            // That of the processes, too.
            cache: folder.path().join("xdg").join("holdfast"),
            ssh: Ssh::default(),
            folder,
            store,
            plain,
            repositories,
            commits: Vec::new(),
            specs: BTreeMap::new(),
            ids: Res::ALL.into_iter().map(|res| (res, ResourceId::parse(&res.id()).unwrap())).collect(),
            clock,
            fetched: RefCell::default(),
            beside,
            seen: RefCell::default(),
            applies: 0,
            fetch: Limits::default(),
            manifests: manifest::Limits::default(),
            interrupt: Interrupt::default(),
        };
        for side in Side::BOTH {
            engine.commit(side, &BTreeMap::new());
        }
        engine.configure(&Side::BOTH.into_iter().map(|side| (side, (side.names()[0], true))).collect());
        engine
    }

    /// Sets the clock.
    pub fn at(&self, seconds: i64) {
        self.clock.0.store(seconds, Ordering::SeqCst);
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes holdfast.yaml, and reads it as the command does.
    pub fn configure(&mut self, sources: &BTreeMap<Side, (Name, bool)>) {
        let (objects, percent) = BUDGET;
        let source = |(side, (name, prune)): (&Side, &(Name, bool))| {
            format!(
                "apiVersion: holdfast.dev/v1\nkind: Source\nmetadata: {{name: {}}}\nspec:\n  repository: {}\n  \
                 ref: main\n  namespaces: [shop]\n  prune: {prune}\n  permitInGit: [adopt-from]\n  \
                 pruneBudget: {{objects: {objects}, percent: {percent}}}\n---\n",
                name.text(),
                self.path().join(format!("{}.git", side.name())).display()
            )
        };
        let mut text: String = sources.iter().map(source).collect();
        text.push_str("apiVersion: holdfast.dev/v1\nkind: Target\nmetadata: {name: local}\nspec:\n");
        text.push_str("  embedded: {path: store/control-plane.db}\n");
        std::fs::write(self.path().join("holdfast.yaml"), &text).unwrap();
        let config = read_config(&text, "holdfast.yaml", self.path()).unwrap();
        let named = |name: Name| config.sources.iter().find(|spec| spec.name.as_str() == name.text()).unwrap().clone();
        self.specs = sources.iter().map(|(side, (name, _))| (*side, named(*name))).collect();
    }

    /// Without a fetch where it would bring nothing, and nobody wants it all the same.
    fn context(&self, job: Job, fetch: bool) -> Context<'_> {
        let mut read = job.who.sides().into_iter().chain(job.who.others());
        let offline = !fetch && read.all(|side| self.fetched.borrow().contains(&side));
        Context { offline, ..self.surroundings() }
    }

    fn surroundings(&self) -> Context<'_> {
        Context {
            target: &self.store,
            cache: &self.cache,
            clock: &self.clock,
            fetch: &self.fetch,
            manifests: &self.manifests,
            progress: &NoProgress,
            ssh: &self.ssh,
            offline: false,
            read_only: false,
            interrupt: &self.interrupt,
        }
    }

    /// What a command asks for, as it makes it of its arguments.
    fn request(&self, job: Job, grants: Grants, reviewed: Option<&PlanDocument>) -> Result<Request<'_>, Refusal> {
        let specs = |sides: Vec<Side>| sides.into_iter().map(|side| &self.specs[&side]).collect::<Vec<_>>();
        let sources = specs(job.who.sides());
        let applied = || -> Result<Vec<(SourceName, CommitId)>, Refusal> {
            let known = self.store.reader().and_then(|reader| reader.sources()).map_err(failed)?;
            let commit = |spec: &&SourceSpec| {
                let record = known.iter().find(|record| record.name == spec.name && record.removed_at.is_none());
                record.map(|record| (spec.name.clone(), record.commit.clone()))
            };
            Ok(sources.iter().filter_map(commit).collect())
        };
        let commits = match (reviewed, job.what) {
            (Some(plan), _) => plan.sources.iter().map(|s| (s.name.clone(), s.commit.clone())).collect(),
            (None, What::Repair | What::Rebuild) => applied()?,
            _ => Vec::new(),
        };
        if job.what == What::Repair && commits.len() < sources.len() {
            return Err(Refusal::Asked("it was never applied"));
        }
        let renamed = |plan: &PlanDocument| {
            plan.sources.iter().any(|planned| sources.iter().all(|spec| spec.name != planned.name))
        };
        if reviewed.is_some_and(renamed) {
            return Err(Refusal::Asked("the configuration has no such Source"));
        }
        let removal = |purpose| Some(Removal { name: sources[0].name.clone(), purpose, account: None });
        let (purpose, removal) = match job.what {
            What::Apply | What::Repair => (Purpose::Apply, None),
            What::Rebuild => (Purpose::Rebuild, None),
            What::Orphan => (Purpose::Apply, removal(Purpose::Orphan)),
            What::Prune => (Purpose::Apply, removal(Purpose::Prune)),
        };
        let others = if job.what == What::Rebuild { Vec::new() } else { specs(job.who.others()) };
        Ok(Request {
            sources: if removal.is_some() { Vec::new() } else { sources },
            others,
            at: None,
            commits: if removal.is_some() { Vec::new() } else { commits },
            grants,
            waivers: Vec::new(),
            purpose,
            removal,
        })
    }

    /// Reads what a job is about.
    fn prepared<'a>(
        &'a self,
        context: &Context<'a>,
        (job, given): (Job, Given),
        reviewed: Option<&PlanDocument>,
    ) -> Result<Prepared<'a>, Refusal> {
        let deletes = reviewed.and_then(|plan| plan.allowances.deletes);
        let request = self.request(job, grants(job, given, deletes), reviewed)?;
        let read: Vec<SourceName> = request.sources.iter().chain(&request.others).map(|s| s.name.clone()).collect();
        let mut prepared = prepare(context, request)?;
        let read = self.specs.iter().filter(|(_, spec)| read.contains(&spec.name)).map(|(side, _)| *side);
        self.fetched.borrow_mut().extend(read.filter(|_| job.what == What::Apply && reviewed.is_none()));
        // Within the budget the command to remove is the permission itself.
        if job.what == What::Prune && !given.deletes && reviewed.is_none() {
            let plan = self.sealed(context, &prepared)?;
            prepared.allow_deletes(plan.document().summary.delete);
        }
        Ok(prepared)
    }

    fn sealed(&self, context: &Context<'_>, prepared: &Prepared<'_>) -> Result<SealedPlan, Refusal> {
        let reader = self.store.reader().map_err(failed)?;
        Ok(prepared.plan(context, reader.as_ref())?)
    }

    /// The plan, which must be the same one when it is made twice.
    fn planned(&self, context: &Context<'_>, prepared: &Prepared<'_>) -> Result<SealedPlan, Refusal> {
        let reader = self.store.reader().map_err(failed)?;
        let once = prepared.plan(context, reader.as_ref())?;
        let twice = prepared.plan(context, reader.as_ref())?;
        assert_eq!(once.document(), twice.document(), "the same is planned to the same");
        let bytes = |plan: &SealedPlan| serde_json::to_string(plan.document()).unwrap();
        assert_eq!(bytes(&once), bytes(&twice), "the same is planned to the same bytes");
        Ok(once)
    }

    /// A plan.
    pub fn plan(&self, job: Job, given: Given) -> Result<PlanDocument, Refusal> {
        let context = self.context(job, true);
        let prepared = self.prepared(&context, (job, given), None)?;
        Ok(self.planned(&context, &prepared)?.document().clone())
    }

    /// Applies a plan.
    pub fn apply(
        &mut self,
        job: Job,
        given: Given,
        reviewed: Option<&PlanDocument>,
        end: End,
    ) -> Result<Applied, Refusal> {
        let options = self.options(reviewed.is_some());
        let context = self.context(job, false);
        let prepared = self.prepared(&context, (job, given), reviewed)?;
        let (plan, transaction) = match reviewed {
            Some(plan) => (plan.clone(), Transaction::begin(&context, &prepared, plan, options)?),
            None => {
                let sealed = self.planned(&context, &prepared)?;
                let plan = sealed.document().clone();
                (plan, Transaction::begin_at_once(&context, &prepared, sealed, options)?)
            }
        };
        if end == End::Cut {
            return Ok(Applied { plan, again: None });
        }
        transaction.commit(&context)?;
        // Read anew now and then; what was read of git stands.
        let again = if self.applies.is_multiple_of(8) && reviewed.is_none() {
            self.plan(job, given)
        } else {
            self.sealed(&context, &prepared).map(|sealed| sealed.document().clone())
        };
        Ok(Applied { plan, again: Some(again) })
    }

    fn options(&mut self, single_use: bool) -> ApplyOptions {
        self.applies += 1;
        let apply = ApplyId::new(
            uuid::Builder::from_unix_timestamp_millis(
                1_600_000_000_000 + u64::try_from(self.applies).unwrap(),
                &[0; 10],
            )
            .into_uuid(),
        );
        ApplyOptions {
            actor: "lab".to_owned(),
            apply,
            lock_timeout: WAIT,
            allow_unmerged: false,
            while_paused: false,
            reason: None,
            single_use,
        }
    }

    /// Renames a Source on the target.
    pub fn rename(&mut self, from: Name, to: Name) -> Result<(), Refusal> {
        let options = self.options(false);
        let name = |name: Name| SourceName::parse(name.text()).unwrap();
        rename(&self.surroundings(), &name(from), &name(to), &options)?;
        Ok(())
    }

    /// A process of the built program.
    fn command(&self) -> Command {
        let built = || env!("CARGO_BIN_EXE_holdfast").into();
        let mut command = Command::new(std::env::var_os("HOLDFAST_HISTORIES_PROGRAM").unwrap_or_else(built));
        command.current_dir(self.path()).env_clear();
        command.env("HOME", self.path()).env("XDG_CACHE_HOME", self.path().join("xdg")).env("USER", "lab");
        // Nothing here is fetched over TLS, and to read all authorities takes longer than all else.
        command.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/nowhere");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The loop looks at a Source once.
    pub fn tick(&self, side: Side) {
        self.command().args(["run", "--once", self.specs[&side].name.as_str()]).status().unwrap();
    }

    /// Does a job in a process of its own that dies at a place, if it comes there.
    pub fn kill(&self, job: Job, at: &str) {
        let mut command = self.command();
        command.env("HOLDFAST_FAILPOINT", format!("{at}:1"));
        let arguments: &[&str] = match job.what {
            What::Apply => &["apply"],
            What::Repair => &["repair"],
            What::Orphan => &["source", "remove", "--orphan"],
            What::Prune => &["source", "remove", "--prune"],
            What::Rebuild => &["source", "rebuild"],
        };
        command.args(arguments).args(["--yes", "-o", "json"]);
        command.args(job.who.sides().iter().map(|side| self.specs[side].name.as_str()));
        command.status().unwrap();
    }

    fn source_id(&self, side: Side, reader: &dyn Reader) -> SourceId {
        let (identity, known) = (reader.identity().unwrap(), reader.sources().unwrap());
        holdfast::apply::source_id(&identity, &self.specs[&side].name, &known)
    }

    /// What is there; it is read again only if somebody committed since.
    pub fn dump(&self) -> Rc<Dump> {
        let version = self.beside.query_row("PRAGMA data_version", (), |row| row.get(0)).unwrap();
        if let Some((_, dump)) = self.seen.borrow().as_ref().filter(|(seen, _)| *seen == version) {
            return Rc::clone(dump);
        }
        let dump = Rc::new(self.read());
        *self.seen.borrow_mut() = Some((version, Rc::clone(&dump)));
        dump
    }

    fn read(&self) -> Dump {
        let reader = self.plain.reader().unwrap();
        let heads = reader.list(&Contents::Namespace("shop".to_owned())).unwrap();
        let objects = reader.objects(&heads.iter().map(|head| &head.id).collect::<Vec<_>>()).unwrap();
        let known = reader.sources().unwrap();
        let inventory = |record: SourceRecord| {
            let inventory = reader.inventory(&record.id).unwrap();
            (record, inventory)
        };
        Dump { objects: objects.into_iter().collect(), sources: known.into_iter().map(inventory).collect() }
    }

    /// The commit of a number.
    pub fn commit_id(&self, number: usize) -> &CommitId {
        &self.commits[number]
    }
}

/// A folder for a world: in memory where that can be, since nothing of it outlives a power failure.
fn place() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    tempfile::Builder::new().prefix("holdfast-world-").tempdir_in(&memory).or_else(|_| tempfile::tempdir()).unwrap()
}

fn failed(error: impl std::fmt::Display) -> Refusal {
    Refusal::Failed(error.to_string())
}

fn grants(job: Job, given: Given, deletes: Option<usize>) -> Grants {
    let all = || Res::ALL.into_iter().map(Res::id).collect();
    let listed = |given: bool| if given { all() } else { Vec::new() };
    let prune = job.what == What::Prune && !given.deletes;
    let allowances = Allowances {
        deletes: if prune { deletes } else { given.deletes.then_some(100) },
        adopt: listed(given.adopt),
        allow: if given.allow { vec![Res::Claim.id()] } else { Vec::new() },
        release: listed(given.release),
        adopt_from: if given.from { Name::ALL.map(|name| name.text().to_owned()).to_vec() } else { Vec::new() },
        ..Allowances::default()
    };
    Grants::new(allowances).unwrap()
}
