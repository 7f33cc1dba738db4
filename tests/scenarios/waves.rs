//! Waves with health, on a target that writes in a moment and says by a script how healthy it is: what an apply waits for,
//! in which order, and that what doesn't become healthy was never there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast::apply::{ApplyError, ApplyOptions, Context, Interrupt, Request, Transaction, prepare};
use holdfast::base::clock::{Clock, Moment};
use holdfast::base::ids::{ApplyId, SourceId};
use holdfast::base::resource::ResourceId;
use holdfast::manifest;
use holdfast::plan::Grants;
use holdfast::plan::document::{Allowances, Purpose};
use holdfast::source::config::read_config;
use holdfast::source::limits::Limits;
use holdfast::source::mirror::{NoProgress, Ssh};
use holdfast::target::sqlite::{Access, Embedded, Options};
use holdfast::target::{
    Atomicity, Batch, ControlWrite, DryRunner, Gate, HistoryEntry, LoopWrite, Passing, Reader, Staged, Target,
    TargetError, TargetKind, Writer, Written,
};
use serde_json::{Value, json};

use crate::lab::{Lab, Repo};

const WAIT: Duration = Duration::from_secs(20);

struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Moment {
        Moment::from_millis(1_800_000_000_000 + self.0.fetch_add(1, Ordering::SeqCst) * 1000)
    }
}

/// What the model was told, and what it did.
#[derive(Default)]
struct Story {
    /// After how many looks an object is healthy; one that isn't named is at the first.
    looks: BTreeMap<String, u32>,
    /// What happened: `write ID`, `wait ID`.
    told: Vec<String>,
}

/// An embedded control plane whose objects take a while to become healthy.
struct Model {
    store: Embedded,
    story: Arc<Mutex<Story>>,
}

struct Waiting<'t> {
    inner: Box<dyn Writer + 't>,
    story: Arc<Mutex<Story>>,
}

impl Target for Model {
    fn kind(&self) -> TargetKind {
        self.store.kind()
    }
    fn describe(&self) -> String {
        self.store.describe()
    }
    fn atomicity(&self) -> Atomicity {
        Atomicity::Journaled
    }
    fn reader(&self) -> Result<Box<dyn Reader + '_>, TargetError> {
        self.store.reader()
    }
    fn dry_runner(&self) -> Result<Option<Box<dyn DryRunner + '_>>, TargetError> {
        Ok(None)
    }
    fn writer(&self, sources: &[SourceId], wait: Duration) -> Result<Box<dyn Writer + '_>, TargetError> {
        Ok(Box::new(Waiting { inner: self.store.writer(sources, wait)?, story: self.story.clone() }))
    }
    fn note(&self, entry: HistoryEntry, details: Value) -> Result<(), TargetError> {
        self.store.note(entry, details)
    }
    fn control(&self, write: ControlWrite) -> Result<bool, TargetError> {
        self.store.control(write)
    }
    fn note_loop(&self, write: LoopWrite) -> Result<bool, TargetError> {
        self.store.note_loop(write)
    }
}

impl Writer for Waiting<'_> {
    fn reader(&self) -> &dyn Reader {
        self.inner.reader()
    }

    fn commit(self: Box<Self>, staged: Staged) -> Result<Written, TargetError> {
        let Self { inner, story } = *self;
        let mut story = story.lock().unwrap();
        follow(&mut story, staged.batch())?;
        drop(story);
        inner.commit(staged)
    }
}

/// Goes through a batch as a target does that writes one by one: a second passes with each look.
fn follow(story: &mut Story, batch: &Batch) -> Result<(), TargetError> {
    let mut gates = batch.gates.iter().peekable();
    for (at, write) in batch.writes.iter().enumerate() {
        while let Some(gate) = gates.next_if(|gate| gate.after <= at) {
            pass(story, gate)?;
        }
        story.told.push(format!("write {}", write.id()));
    }
    assert!(gates.next().is_none(), "a gate after the last write");
    Ok(())
}

fn pass(story: &mut Story, gate: &Gate) -> Result<(), TargetError> {
    story.told.extend(gate.waits.iter().map(|wait| format!("wait {}", wait.id)));
    let mut waits = gate.waits.clone();
    for look in 0.. {
        let status = |id: &ResourceId| {
            let healthy = look >= story.looks.get(&id.name).copied().unwrap_or(0);
            let status = if healthy { "True" } else { "False" };
            json!({"kind": id.kind, "status": {"conditions": [{"type": "Ready", "status": status}]}})
        };
        let live: BTreeMap<ResourceId, Value> = waits.iter().map(|wait| (wait.id.clone(), status(&wait.id))).collect();
        match Gate::judge(&waits, Duration::from_secs(look.into()), |id| live.get(id)) {
            Passing::Open => break,
            Passing::Waiting(left) => waits = left,
            Passing::Shut(faults) => return Err(TargetError::Refused { faults }),
        }
    }
    Ok(())
}

struct World {
    lab: Lab,
    repo: Repo,
    model: Model,
    applies: RefCell<u64>,
}

impl World {
    fn new() -> Self {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        let folder = lab.path().join(".holdfast");
        std::fs::create_dir(&folder).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&folder, private).unwrap();
        let options = Options { access: Access::Create, wait: WAIT, now: Moment::from_millis(1_800_000_000_000) };
        let store = Embedded::open(&folder.join("control-plane.db"), options).unwrap();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        store.hand("setup").put(&[namespace], Moment::from_millis(1_800_000_000_000)).unwrap();
        Self { lab, repo, model: Model { store, story: Arc::default() }, applies: RefCell::new(0) }
    }

    /// Declares ConfigMaps, each with its wave and value, and nothing else.
    fn declare(&self, all: &[(&str, i32, &str)]) {
        self.repo.git(&["rm", "-rq", "--ignore-unmatch", "."]);
        for (name, wave, value) in all {
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations: {{holdfast.dev/wave: \"{wave}\"}}\ndata: {{v: \"{value}\"}}\n"
            );
            self.repo.write(&format!("{name}.yaml"), text);
        }
        self.repo.commit("c");
    }

    /// Applies with this `healthTimeout`; what was told, or the rule of each refusal with its resource.
    fn apply(&self, timeout: &str) -> Result<Vec<String>, Vec<String>> {
        let spec = format!(
            "  namespaces: [shop]\n  prune: true\n  pruneBudget: {{objects: 9, percent: 100}}\n  healthTimeout: {timeout}"
        );
        let text = self.repo.source("shop", &spec);
        let config = read_config(&text, "holdfast.yaml", self.lab.path()).unwrap();
        let (limits, manifests, interrupt) = (Limits::default(), manifest::Limits::default(), Interrupt::default());
        let (ssh, clock) = (Ssh::default(), Ticking(AtomicI64::new(1)));
        let context = Context {
            target: &self.model,
            cache: &self.lab.path().join("cache"),
            ssh: &ssh,
            clock: &clock,
            fetch: &limits,
            manifests: &manifests,
            progress: &NoProgress,
            offline: false,
            read_only: false,
            interrupt: &interrupt,
        };
        let request = Request {
            sources: config.sources.iter().collect(),
            others: Vec::new(),
            at: None,
            commits: Vec::new(),
            grants: Grants::new(Allowances::default()).unwrap(),
            waivers: Vec::new(),
            purpose: Purpose::Apply,
            removal: None,
        };
        let prepared = prepare(&context, request).unwrap();
        let plan = prepared.plan(&context, self.model.reader().unwrap().as_ref()).unwrap();
        *self.applies.borrow_mut() += 1;
        let apply = uuid::Builder::from_unix_timestamp_millis(1_800_000_000_000 + *self.applies.borrow(), &[0; 10]);
        let options = ApplyOptions {
            actor: "lab".to_owned(),
            apply: ApplyId::new(apply.into_uuid()),
            lock_timeout: WAIT,
            allow_unmerged: false,
            while_paused: false,
            reason: None,
            single_use: false,
        };
        self.model.story.lock().unwrap().told.clear();
        let done = Transaction::begin(&context, &prepared, plan.document(), options).and_then(|t| t.commit(&context));
        match done {
            Ok(_) => Ok(std::mem::take(&mut self.model.story.lock().unwrap().told)),
            Err(ApplyError::Target(TargetError::Refused { faults })) => {
                Err(faults.iter().map(|f| format!("{} {}", f.rule, f.id.as_ref().unwrap())).collect())
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    fn becomes_healthy_after(&self, name: &str, looks: u32) {
        self.model.story.lock().unwrap().looks.insert(name.to_owned(), looks);
    }

    fn live(&self) -> Vec<String> {
        self.lab.configure(&[self.repo.source("shop", "  namespaces: [shop]")]);
        let all = self.lab.dump();
        let items = all["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "ConfigMap");
        items
            .map(|i| format!("{}={}", i["metadata"]["name"].as_str().unwrap(), i["data"]["v"].as_str().unwrap()))
            .collect()
    }
}

fn said(all: &[&str]) -> Vec<String> {
    all.iter().map(|line| line.replace(' ', " ConfigMap/shop/")).collect()
}

#[test]
fn a_wave_begins_when_what_the_one_before_changed_is_healthy() {
    let world = World::new();
    world.declare(&[("a", 0, "1"), ("b", 0, "1"), ("c", 1, "1"), ("d", 2, "1")]);
    world.becomes_healthy_after("a", 4);
    let told = world.apply("10s").unwrap();
    assert_eq!(told, said(&["write a", "write b", "wait a", "wait b", "write c", "wait c", "write d"]));
    // What stays as it is isn't waited for, and after the last wave nothing is.
    world.declare(&[("a", 0, "1"), ("b", 0, "2"), ("c", 1, "1"), ("d", 2, "2")]);
    assert_eq!(world.apply("10s").unwrap(), said(&["write b", "wait b", "write d"]));
    world.declare(&[("a", 0, "1"), ("b", 0, "3"), ("c", 1, "1"), ("d", 2, "3")]);
    assert_eq!(world.apply("0s").unwrap(), said(&["write b", "write d"]), "0s doesn't wait");
}

#[test]
fn deletes_begin_when_everything_that_was_changed_is_healthy() {
    let world = World::new();
    world.declare(&[("a", 0, "1"), ("b", 0, "1"), ("c", 1, "1")]);
    world.apply("10s").unwrap();
    world.declare(&[("a", 0, "2")]);
    assert_eq!(world.apply("10s").unwrap(), said(&["write a", "wait a", "write c", "write b"]));
    world.declare(&[("d", 0, "1")]);
    world.becomes_healthy_after("d", 100);
    assert_eq!(world.apply("10s").unwrap_err(), ["unhealthy ConfigMap/shop/d"]);
    assert_eq!(world.live(), ["a=2"], "neither written nor deleted");
}

#[test]
fn what_is_not_healthy_in_time_changes_nothing() {
    let world = World::new();
    world.declare(&[("a", 0, "1"), ("b", 1, "1")]);
    world.becomes_healthy_after("a", 11);
    assert_eq!(world.apply("10s").unwrap_err(), ["unhealthy ConfigMap/shop/a"]);
    assert_eq!(world.live(), [""; 0]);
    world.apply("11s").unwrap();
    assert_eq!(world.live(), ["a=1", "b=1"]);
}
