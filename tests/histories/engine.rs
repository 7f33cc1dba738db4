//! The real thing that a history is played on: bare repositories, a store, the engine in this process and in others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use git2::{Oid, Repository, Signature, Time};
use holdfast::admission::Rejection;
use holdfast::apply::{ApplyError, ApplyOptions, Context, Interrupt, Prepared, Request, Transaction, prepare};
use holdfast::base::clock::{Clock, Moment};
use holdfast::base::ids::{ApplyId, SourceId, SourceName};
use holdfast::base::resource::ResourceId;
use holdfast::inventory::{Actor, Controls, Inventory, OWNER_ANNOTATION, Pause};
use holdfast::manifest;
use holdfast::plan::Grants;
use holdfast::plan::document::{Allowances, PlanDocument, Purpose};
use holdfast::source::config::read_config;
use holdfast::source::limits::Limits;
use holdfast::source::mirror::{NoProgress, Ssh};
use holdfast::source::spec::SourceSpec;
use holdfast::target::sqlite::{Access, Ask, Embedded, Options};
use holdfast::target::{ControlWrite, HistoryEntry, Live, Target as _};
use serde_json::{Value, json};

use super::reference::BUDGET;
use super::step::{Data, Given, MarkEdit, Res, Side, Who};

const WAIT: Duration = Duration::from_secs(20);

/// A clock that moves a second at each look.
#[derive(Debug)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Moment {
        Moment::from_millis(1_800_000_000_000 + self.0.fetch_add(1, Ordering::SeqCst) * 1000)
    }
}

pub struct Engine {
    folder: tempfile::TempDir,
    store: Embedded,
    specs: BTreeMap<Side, SourceSpec>,
    clock: Ticking,
    applies: u128,
    fetch: Limits,
    manifests: manifest::Limits,
    interrupt: Interrupt,
}

/// Why nothing was planned or applied.
#[derive(Debug)]
pub enum Refusal {
    Rejected(Box<Rejection>),
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

/// Everything of a store that a promise is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump {
    pub objects: BTreeMap<ResourceId, Live>,
    pub inventories: BTreeMap<Side, Inventory>,
    pub commits: BTreeMap<Side, String>,
}

impl Engine {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Ticking(AtomicI64::new(0));
        for side in Side::BOTH {
            Repository::init_bare(folder.path().join(format!("{}.git", side.name()))).unwrap();
        }
        let path = folder.path().join("store").join("control-plane.db");
        std::fs::create_dir(folder.path().join("store")).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder.path().join("store"), private).unwrap();
        let store = Embedded::open(&path, Options { access: Access::Create, wait: WAIT, now: clock.now() }).unwrap();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        store.hand("setup").put(&[namespace], clock.now()).unwrap();
        let mut engine = Self {
            folder,
            store,
            specs: BTreeMap::new(),
            clock,
            applies: 0,
            fetch: Limits::default(),
            manifests: manifest::Limits::default(),
            interrupt: Interrupt::default(),
        };
        for side in Side::BOTH {
            engine.commit(side, &BTreeMap::new());
        }
        engine.configure(&BTreeMap::from([(Side::Alpha, true), (Side::Beta, true)]));
        engine
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn repository(&self, side: Side) -> PathBuf {
        self.path().join(format!("{}.git", side.name()))
    }

    /// Writes holdfast.yaml, and reads it as the command does.
    pub fn configure(&mut self, prune: &BTreeMap<Side, bool>) {
        let (objects, percent) = BUDGET;
        let source = |(side, prune): (&Side, &bool)| {
            format!(
                "apiVersion: holdfast.dev/v1\nkind: Source\nmetadata: {{name: {}}}\nspec:\n  repository: {}\n  \
                 ref: main\n  namespaces: [shop]\n  prune: {prune}\n  \
                 pruneBudget: {{objects: {objects}, percent: {percent}}}\n---\n",
                side.name(),
                self.repository(*side).display()
            )
        };
        let mut text: String = prune.iter().map(source).collect();
        text.push_str("apiVersion: holdfast.dev/v1\nkind: Target\nmetadata: {name: local}\nspec:\n");
        text.push_str("  embedded: {path: store/control-plane.db}\n");
        std::fs::write(self.path().join("holdfast.yaml"), &text).unwrap();
        let config = read_config(&text, "holdfast.yaml", self.path()).unwrap();
        self.specs = Side::BOTH.into_iter().zip(config.sources).collect();
    }

    /// Commits a whole tree to the branch.
    pub fn commit(&self, side: Side, declared: &BTreeMap<Res, Data>) {
        let repository = Repository::open_bare(self.repository(side)).unwrap();
        let mut tree = repository.treebuilder(None).unwrap();
        for (res, data) in declared {
            let blob = repository.blob(manifest_of(*res, data).to_string().as_bytes()).unwrap();
            tree.insert(format!("{}.json", res.name()), blob, 0o100_644).unwrap();
        }
        let tree = repository.find_tree(tree.write().unwrap()).unwrap();
        let parent = repository.find_reference("refs/heads/main").ok().map(|head| head.peel_to_commit().unwrap());
        let now = Time::new(self.clock.now().as_millis() / 1000, 0);
        let by = Signature::new("lab", "lab@example.com", &now).unwrap();
        let parents: Vec<_> = parent.iter().collect();
        repository.commit(Some("refs/heads/main"), &by, &by, "c", &tree, &parents).unwrap();
    }

    /// The branch goes back to its newest commit's parent.
    pub fn rewind(&self, side: Side) {
        let repository = Repository::open_bare(self.repository(side)).unwrap();
        let head = repository.find_reference("refs/heads/main").unwrap().peel_to_commit().unwrap();
        let parent: Oid = head.parent_id(0).unwrap();
        repository.reference("refs/heads/main", parent, true, "back").unwrap();
    }

    /// Plans, and does something with what was prepared and planned.
    pub fn plan<R>(
        &self,
        who: Who,
        given: Given,
        reviewed: Option<&PlanDocument>,
        then: impl FnOnce(&Context<'_>, &Prepared<'_>) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let context = Context {
            target: &self.store,
            cache: &self.path().join("cache"),
            clock: &self.clock,
            fetch: &self.fetch,
            manifests: &self.manifests,
            progress: &NoProgress,
            ssh: &Ssh::default(),
            offline: false,
            interrupt: &self.interrupt,
        };
        let commits = reviewed.map(|plan| plan.sources.iter().map(|s| (s.name.clone(), s.commit.clone())).collect());
        let request = Request {
            sources: self.specs.iter().filter(|(side, _)| who.has(**side)).map(|(_, spec)| spec).collect(),
            others: self.specs.iter().filter(|(side, _)| !who.has(**side)).map(|(_, spec)| spec).collect(),
            at: None,
            commits: commits.unwrap_or_default(),
            grants: grants(given),
            waivers: Vec::new(),
            purpose: Purpose::Apply,
            removal: None,
        };
        then(&context, &prepare(&context, request)?)
    }

    /// The plan, which must be the same one when it is made twice.
    pub fn planned(&self, context: &Context<'_>, prepared: &Prepared<'_>) -> Result<PlanDocument, Refusal> {
        let reader = self.store.reader().map_err(|e| Refusal::Failed(e.to_string()))?;
        let once = prepared.plan(context, reader.as_ref())?.document().clone();
        let twice = prepared.plan(context, reader.as_ref())?.document().clone();
        let bytes = |plan: &PlanDocument| {
            let mut value = serde_json::to_value(plan).unwrap();
            value.as_object_mut().unwrap().remove("createdAt");
            value.to_string()
        };
        assert_eq!(bytes(&once), bytes(&twice), "the same is planned to the same bytes");
        Ok(once)
    }

    /// Applies a plan.
    pub fn apply(
        &mut self,
        who: Who,
        given: Given,
        reviewed: Option<&PlanDocument>,
        end: End,
    ) -> Result<PlanDocument, Refusal> {
        self.applies += 1;
        let apply = ApplyId::new(
            uuid::Builder::from_unix_timestamp_millis(
                1_800_000_000_000 + u64::try_from(self.applies).unwrap(),
                &[0; 10],
            )
            .into_uuid(),
        );
        let options = ApplyOptions {
            actor: "lab".to_owned(),
            apply,
            lock_timeout: WAIT,
            allow_unmerged: false,
            while_paused: false,
            reason: None,
            single_use: reviewed.is_some(),
        };
        self.plan(who, given, reviewed, |context, prepared| {
            let plan = match reviewed {
                Some(plan) => plan.clone(),
                None => self.planned(context, prepared)?,
            };
            let transaction = Transaction::begin(context, prepared, &plan, options)?;
            match end {
                End::Cut => drop(transaction),
                End::Commit => drop(transaction.commit(context)?),
            }
            Ok(plan)
        })
    }

    /// Applies in a process of its own that dies at a place, if it comes there.
    pub fn kill(&self, who: Who, at: &str) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
        command.current_dir(self.path()).env_clear();
        command.env("HOME", self.path()).env("XDG_CACHE_HOME", self.path().join("xdg")).env("USER", "lab");
        command.env("HOLDFAST_FAILPOINT", format!("{at}:1")).args(["apply", "--yes", "-o", "json"]);
        command.args(who.sides().iter().map(|side| side.name()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
    }

    pub fn put(&self, hand: u8, res: Res, key: char, value: Option<u8>, mark: MarkEdit) {
        let live = self.dump().objects;
        let mark_of = |res: Res| {
            let live = live.get(&ResourceId::parse(&res.id()).unwrap())?;
            live.object.pointer("/metadata/annotations")?.get(OWNER_ANNOTATION).cloned()
        };
        let kept = mark_of(res);
        let next = match mark {
            MarkEdit::Keep => kept,
            MarkEdit::Off => None,
            MarkEdit::Copy(from) => mark_of(from),
            MarkEdit::Garbage => Some(json!("nobody knows")),
        };
        let id = ResourceId::parse(&res.id()).unwrap();
        let mut object = live.get(&id).map_or_else(|| manifest_of(res, &Data::new()), |live| live.object.clone());
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("annotations");
        if let Some(mark) = next {
            metadata.insert("annotations".to_owned(), json!({ OWNER_ANNOTATION: mark }));
        }
        match value {
            // Nothing is written where there is nothing to take away, not even an empty map.
            None if !values(&object, res).contains_key(&key) => {}
            None => drop(values_mut(&mut object, res).remove(&key.to_string())),
            Some(value) => drop(values_mut(&mut object, res).insert(key.to_string(), json!(value.to_string()))),
        }
        self.store.hand(&format!("hand-{hand}")).put(&[object], self.clock.now()).unwrap();
    }

    pub fn delete(&self, hand: u8, res: Res) {
        let id = ResourceId::parse(&res.id()).unwrap();
        self.store.hand(&format!("hand-{hand}")).delete(&[id], self.clock.now()).unwrap();
    }

    pub fn remake(&self, hand: u8, res: Res) {
        let id = ResourceId::parse(&res.id()).unwrap();
        let hand = self.store.hand(&format!("hand-{hand}"));
        let mut object = hand.get(&id).unwrap().unwrap().object;
        hand.delete(&[id], self.clock.now()).unwrap();
        let metadata = object["metadata"].as_object_mut().unwrap();
        for key in ["uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"] {
            metadata.remove(key);
        }
        hand.put(&[object], self.clock.now()).unwrap();
    }

    pub fn pause(&self, side: Side) {
        let by = Actor { proven: "lab".to_owned(), claimed: None };
        let pause = Pause { by, reason: "an incident".to_owned(), at: self.clock.now(), until: None };
        self.control(side, "pause", |was| was.begin_pause(pause.clone()));
    }

    pub fn resume(&self, side: Side, revert: bool) {
        let now = self.clock.now();
        self.control(side, "resume", |was| if revert { was.give_up(now) } else { was.end_pause(now) });
    }

    fn control(&self, side: Side, operation: &str, change: impl Fn(Controls) -> Controls) {
        let id = self.source_id(side);
        let was = self.store.reader().unwrap().controls(&id).unwrap();
        let entry = HistoryEntry {
            id: String::new(),
            at: self.clock.now(),
            actor: "lab".to_owned(),
            claimed: false,
            operation: operation.to_owned(),
            sources: vec![side.name().to_owned()],
            commits: Vec::new(),
            plan: None,
            result: String::new(),
            objects: Vec::new(),
        };
        let becomes = change(was.clone());
        assert!(self.store.control(ControlWrite { source: id, was, becomes, entry, details: json!({}) }).unwrap());
    }

    pub fn source_id(&self, side: Side) -> SourceId {
        let identity = self.store.reader().unwrap().identity().unwrap();
        SourceId::derive(&identity, &SourceName::parse(side.name()).unwrap(), 0)
    }

    pub fn dump(&self) -> Dump {
        let ask = Ask { kind: None, namespace: Some("shop".to_owned()), system: false };
        let objects = self.store.hand("reader").list(&ask).unwrap();
        let reader = self.store.reader().unwrap();
        let known = reader.sources().unwrap();
        let ids: BTreeMap<Side, SourceId> = Side::BOTH.into_iter().map(|side| (side, self.source_id(side))).collect();
        Dump {
            objects: objects.into_iter().map(|live| (live.head.id.clone(), live)).collect(),
            inventories: ids.iter().map(|(side, id)| (*side, reader.inventory(id).unwrap())).collect(),
            commits: ids
                .iter()
                .filter_map(|(side, id)| Some((*side, known.iter().find(|r| r.id == *id)?.commit.to_string())))
                .collect(),
        }
    }
}

fn grants(given: Given) -> Grants {
    let all = || Res::ALL.into_iter().map(Res::id).collect();
    let allowances = Allowances {
        deletes: given.deletes.then_some(100),
        adopt: if given.adopt { all() } else { Vec::new() },
        allow: if given.allow { vec![Res::Claim.id()] } else { Vec::new() },
        ..Allowances::default()
    };
    Grants::new(allowances).unwrap()
}

fn manifest_of(res: Res, data: &Data) -> Value {
    let values: serde_json::Map<String, Value> =
        data.iter().map(|(key, value)| (key.to_string(), json!(value.to_string()))).collect();
    let mut object = if res.is_claim() {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": res.name(), "namespace": "shop"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    } else {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": res.name(), "namespace": "shop"}})
    };
    if !values.is_empty() {
        *values_mut(&mut object, res) = values;
    }
    object
}

fn values_mut(object: &mut Value, res: Res) -> &mut serde_json::Map<String, Value> {
    let holder = if res.is_claim() { &mut object["metadata"] } else { object };
    let key = if res.is_claim() { "labels" } else { "data" };
    let map = holder.as_object_mut().unwrap();
    map.entry(key).or_insert_with(|| json!({})).as_object_mut().unwrap()
}

/// The named values of a live object.
pub fn values(object: &Value, res: Res) -> BTreeMap<char, u8> {
    let at = if res.is_claim() { "/metadata/labels" } else { "/data" };
    let map = object.pointer(at).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.chars().next().unwrap(), value.as_str().unwrap().parse().unwrap()))
        .collect()
}
