//! What Sources do to each other, cut off at every sync point, killed, and two at once: all old or all new, in one order.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;

use crate::crash::{copy_folder, failpoints, replace_folder};
use crate::lab::{Lab, Said};
use crate::rebuilds::restore;

const SPEC: &str = "  namespaces: [shop]\n  prune: true\n  permitInGit: [adopt-from]";
const X: &str = "ConfigMap/shop/x";

/// Commands that write what Sources own, each with the configuration that it is given.
pub const ACTS: [(&str, &[&str]); 6] = [
    ("apply a", &["apply", "a", "--yes", "-f", "a.yaml"]),
    ("transfer to b", &["apply", "b", "--yes", "-f", "b.yaml"]),
    ("rename a", &["source", "rename", "a", "a2", "-f", "a.yaml"]),
    ("orphan a", &["source", "remove", "a", "--orphan", "--yes", "-f", "a.yaml"]),
    ("prune a", &["source", "remove", "a", "--prune", "--yes", "--allow-deletes", "9", "--allow", X, "-f", "a.yaml"]),
    ("rebuild a", &["source", "rebuild", "a", "--yes", "-f", "a.yaml"]),
];

fn config(name: &str, annotations: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{annotations}}}\ndata: {{v: \"1\"}}\n")
}

/// Everything of a target that counts, whatever apply brought it.
pub type Shape = (BTreeSet<String>, BTreeSet<String>, BTreeSet<String>);

/// Source a owns three objects and releases x to b, which declares it and hasn't applied that. `sound`: as it was
/// applied; `restored`: one object of a's has a new UID.
pub struct Stage {
    pub lab: Lab,
    /// UIDs of objects that are there at the beginning; whatever comes later has any.
    uids: BTreeSet<String>,
}

impl Stage {
    pub fn new() -> Self {
        let lab = Lab::new();
        let (a, b) = (lab.repo("repo-a"), lab.repo("repo-b"));
        for name in ["one", "two"] {
            a.write(&format!("{name}.yaml"), config(name, ""));
        }
        a.write("x.yaml", config("x", ", annotations: {holdfast.dev/release-to: b}"));
        a.commit("first");
        b.write("own.yaml", config("of-b", ""));
        b.commit("first");
        for (name, source) in [("a", a.source("a", SPEC)), ("b", b.source("b", SPEC))] {
            lab.configure(&[source]);
            std::fs::copy(lab.path().join("holdfast.yaml"), lab.path().join(format!("{name}.yaml"))).unwrap();
        }
        lab.put("bank", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        lab.run(&["apply", "a", "--yes", "-f", "a.yaml"]).ok();
        lab.run(&["apply", "b", "--yes", "-f", "b.yaml"]).ok();
        a.write("two.yaml", config("two", "").replace("\"1\"", "\"2\""));
        a.commit("second");
        b.write("x.yaml", config("x", ", annotations: {holdfast.dev/adopt-from: a}"));
        b.commit("second");
        let mut stage = Self { lab, uids: BTreeSet::new() };
        stage.keep("sound");
        let object = stage.lab.live("ConfigMap/shop/one").unwrap();
        let before = object["metadata"]["uid"].as_str().unwrap().to_owned();
        restore(&stage.lab, "one", "1");
        stage.keep("restored");
        let list = stage.lab.dump();
        let uids = list["items"].as_array().unwrap().iter().map(|o| o["metadata"]["uid"].as_str().unwrap().to_owned());
        stage.uids = uids.collect();
        stage.uids.insert(before);
        stage
    }

    pub fn keep(&self, name: &str) {
        copy_folder(&self.lab.path().join(".holdfast"), &self.lab.path().join("kept").join(name));
    }

    pub fn reset(&self, name: &str) {
        replace_folder(&self.lab.path().join("kept").join(name), &self.lab.path().join(".holdfast"));
    }

    pub fn command(&self, act: usize) -> Command {
        self.lab.command(ACTS[act].1)
    }

    pub fn run(&self, act: usize) -> Said {
        self.lab.run(ACTS[act].1)
    }

    pub fn shape(&self) -> Shape {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(&self.lab.path().join(".holdfast"), copy.path());
        shape(&copy.path().join("control-plane.db"), &self.uids)
    }

    /// Where each act begins: a rebuild needs something to take back.
    pub fn start(acts: &[usize]) -> &'static str {
        if acts.contains(&5) { "restored" } else { "sound" }
    }
}

fn shape(database: &Path, uids: &BTreeSet<String>) -> Shape {
    let known = |uid: &str| if uids.contains(uid) { uid.to_owned() } else { "new".to_owned() };
    let conn = Connection::open(database).unwrap();
    let check: String = conn.query_row("PRAGMA integrity_check", (), |r| r.get(0)).unwrap();
    assert_eq!(check, "ok");
    let texts = |sql: &str| -> Vec<[String; 3]> {
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map((), |r| Ok([r.get(0)?, r.get(1)?, r.get(2)?])).unwrap().map(Result::unwrap).collect()
    };
    let json = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let objects = texts(
        "SELECT kind || '/' || name || ' ' || coalesce(substr(mark, 1, 36), ''), uid, body FROM resource
         JOIN body USING (key) WHERE uid IS NOT NULL AND kind <> 'Namespace'",
    );
    let objects = objects.into_iter().map(|[id, uid, body]| format!("{id} {} {}", json(&body)["data"], known(&uid)));
    let rows = texts("SELECT s.id, i.row, '' FROM inventory i JOIN source s ON s.key = (i.key >> 40)");
    let rows = rows.into_iter().map(|[source, row, _]| {
        let row = json(&row);
        format!("{source} {} {}", row["id"]["name"], known(row["uid"].as_str().unwrap()))
    });
    let sources = texts("SELECT id, record, '' FROM source").into_iter().map(|[id, record, _]| {
        let record = json(&record);
        format!("{id} {} {} {} {}", record["name"], record["commit"], record["serial"], record["removedAt"].is_null())
    });
    (objects.collect(), rows.collect(), sources.collect())
}

/// Every live object has at most one owner, and no row is of a removed Source.
#[track_caller]
pub fn is_sound(shape: &Shape, when: &str) {
    let mut uids = BTreeSet::new();
    for row in &shape.1 {
        let object = row.split_once(' ').unwrap().1.to_owned();
        assert!(uids.insert(object), "{when}: two rows of one object: {shape:?}");
        let source = shape.2.iter().find(|source| row.starts_with(&source[..36])).unwrap();
        assert!(source.ends_with("true"), "{when}: a row of a removed Source: {shape:?}");
    }
}

#[test]
fn an_abort_at_any_sync_point_of_a_handover_leaves_all_old_or_all_new_and_the_next_try_works_unaided() {
    let stage = Stage::new();
    let mut tried = 0;
    for (act, (name, _)) in ACTS.iter().enumerate() {
        let start = Stage::start(&[act]);
        stage.reset(start);
        let old = stage.shape();
        stage.run(act).exits(0);
        let new = stage.shape();
        assert_ne!(old, new, "{name}");
        is_sound(&new, name);
        for point in failpoints(&stage.lab) {
            for nth in [1, 2] {
                let when = format!("{name} at {point}:{nth}");
                stage.reset(start);
                let mut command = stage.command(act);
                let status = command.stdout(Stdio::null()).stderr(Stdio::null());
                let status = status.env("HOLDFAST_FAILPOINT", format!("{point}:{nth}")).status().unwrap();
                if status.code().is_some() {
                    // The act doesn't come there, or not so often: it was done.
                    assert!(status.success() && stage.shape() == new, "{when}");
                    continue;
                }
                let found = stage.shape();
                let is_new = point == "after-commit";
                assert_eq!(&found, if is_new { &new } else { &old }, "{when}");
                if !is_new {
                    stage.run(act).exits(0);
                    assert_eq!(stage.shape(), new, "{when}, and once more");
                } else {
                    let again = stage.run(act);
                    assert!([0, 1, 4].contains(&again.code), "{when}: {again:?}");
                    assert_eq!(stage.shape().0, new.0, "{when}, and once more");
                }
                tried += 1;
            }
        }
    }
    println!("crash: {tried} aborts at sync points of handovers");
    assert!(tried >= 6 * 7, "{tried}");
}

#[test]
fn a_handover_that_is_killed_at_any_moment_is_all_old_or_all_new() {
    let stage = Stage::new();
    let (mut old_left, mut new_left) = (0, 0);
    for (act, (name, _)) in ACTS.iter().enumerate() {
        let start = Stage::start(&[act]);
        stage.reset(start);
        let old = stage.shape();
        let begun = Instant::now();
        stage.run(act).exits(0);
        let (new, took) = (stage.shape(), begun.elapsed());
        for n in 0..10 {
            stage.reset(start);
            let mut child = stage.command(act).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let begun = Instant::now();
            // Ten moments over its whole time.
            let moment = took.mul_f64(f64::from(n) / 9.0);
            while begun.elapsed() < moment {
                thread::park_timeout(moment.saturating_sub(begun.elapsed()).max(Duration::from_micros(50)));
            }
            child.kill().unwrap();
            child.wait().unwrap();
            let found = stage.shape();
            assert!(found == old || found == new, "{name} killed after {moment:?}");
            if found == new { new_left += 1 } else { old_left += 1 }
        }
    }
    println!("crash: 60 kills of handovers left the old state {old_left} times, the new one {new_left} times");
}

#[test]
fn any_two_at_once_come_to_one_order_or_one_of_them_is_refused() {
    let stage = Stage::new();
    let (mut both, mut one) = (0, 0);
    for (p, (p_name, _)) in ACTS.iter().enumerate() {
        for (q, (q_name, _)) in ACTS.iter().enumerate().skip(p) {
            let start = Stage::start(&[p, q]);
            let alone = |act: usize| {
                stage.reset(start);
                (stage.run(act).code, stage.shape())
            };
            let (p_alone, q_alone) = (alone(p), alone(q));
            let serial = |first: usize, second: usize| {
                stage.reset(start);
                let codes = (stage.run(first).code, stage.run(second).code);
                (codes, stage.shape())
            };
            let orders = [serial(p, q), serial(q, p)];
            for round in 0..2 {
                let when = format!("{p_name} and {q_name}, round {round}");
                stage.reset(start);
                let spawn =
                    |act: usize| stage.command(act).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                let (first, second) = if round == 0 { (p, q) } else { (q, p) };
                let (a, b) = (spawn(first), spawn(second));
                let (a, b) = (Said::of(a.wait_with_output().unwrap()), Said::of(b.wait_with_output().unwrap()));
                let (p_said, q_said) = if round == 0 { (&a, &b) } else { (&b, &a) };
                for said in [p_said, q_said] {
                    assert!([0, 1, 4].contains(&said.code), "{when}: {said:?}");
                }
                let found = stage.shape();
                is_sound(&found, &when);
                let is = |shape: &Shape| *shape == found;
                match (p_said.code == 0, q_said.code == 0) {
                    (true, true) => {
                        both += 1;
                        let fits = |(codes, shape): &((i32, i32), Shape)| *codes == (0, 0) && is(shape);
                        assert!(orders.iter().any(fits), "{when}: both were done, in no order: {found:?}");
                    }
                    (true, false) => {
                        one += 1;
                        assert!(is(&p_alone.1) || orders.iter().any(|(_, shape)| is(shape)), "{when}: {found:?}");
                    }
                    (false, true) => {
                        one += 1;
                        assert!(is(&q_alone.1) || orders.iter().any(|(_, shape)| is(shape)), "{when}: {found:?}");
                    }
                    (false, false) => {
                        // Each is refused by itself: nothing happened.
                        assert!(p_alone.0 != 0 && q_alone.0 != 0, "{when}: {p_said:?} {q_said:?}");
                    }
                }
            }
        }
    }
    println!("race: {both} times both were done in one order, {one} times one was refused");
}
