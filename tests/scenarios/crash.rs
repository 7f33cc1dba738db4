//! An apply that dies leaves all old or all new, wherever it dies, and the next one needs no help.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;

use crate::lab::{Lab, Repo, Said, changes};

const SPEC: &str =
    "  namespaces: [shop]\n  clusterKinds: [Namespace]\n  prune: true\n  pruneBudget: {objects: 100, percent: 100}";
/// Where the random moments come from; printed, so that a failure can be had again.
const SEED: u64 = 0x5eed_0fc0_ffee;

/// The second commit makes 100, changes 100, deletes 50, and leaves 50 as they are, 10 of which get another owner of a field.
const CREATED: usize = 100;
const UPDATED: usize = 100;
const DELETED: usize = 50;
const SAME: usize = 40;
const OWNED: usize = 10;

fn manifest(kind: &str, n: usize, value: usize) -> String {
    let name = format!("{kind}-{n:03}");
    if n.is_multiple_of(4) {
        return format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {value}\n  \
             selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    \
             spec:\n      containers: [{{name: web, image: registry.example/web:1}}]\n"
        );
    }
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: \"{value}\", note: a text}}\n")
}

/// A target that holds the first commit, a mirror that knows no more, and a repository with the second one.
struct Stage {
    lab: Lab,
    old: Dump,
    new_commit: String,
    old_commit: String,
}

/// The state of a target, read from a copy of the file: whoever reads the file itself would clear its log away.
#[derive(Debug, Clone, PartialEq)]
struct Dump {
    /// Every object as it is stored, with its version.
    objects: BTreeMap<String, (Value, i64)>,
    inventory: BTreeSet<String>,
    commits: Vec<String>,
    applies: i64,
}

impl Dump {
    fn of(folder: &Path) -> Self {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(folder, copy.path());
        let conn = Connection::open(copy.path().join("control-plane.db")).unwrap();
        let check: String = conn.query_row("PRAGMA integrity_check", (), |r| r.get(0)).unwrap();
        assert_eq!(check, "ok");
        let texts = |sql: &str| -> Vec<String> {
            let mut statement = conn.prepare(sql).unwrap();
            statement.query_map((), |r| r.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let mut statement = conn
            .prepare("SELECT kind || '/' || namespace || '/' || name, body, version FROM resource JOIN body USING (key) WHERE uid IS NOT NULL")
            .unwrap();
        let objects = statement
            .query_map((), |r| Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?, r.get::<_, i64>(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .map(|(id, body, version)| (id, (serde_json::from_str(&body).unwrap(), version)))
            .collect();
        let records = texts("SELECT record FROM source");
        let commits = records
            .iter()
            .map(|record| serde_json::from_str::<Value>(record).unwrap()["commit"].as_str().unwrap().to_owned())
            .collect();
        let applies = conn.query_row("SELECT count(*) FROM entry WHERE operation = 'apply'", (), |r| r.get(0)).unwrap();
        Self { objects, inventory: texts("SELECT row FROM inventory").into_iter().collect(), commits, applies }
    }

    /// Without what differs between two applies of the same: IDs, times, versions.
    fn meaning(&self) -> BTreeMap<String, Value> {
        let plain = |(id, (object, _)): (&String, &(Value, i64))| {
            let mut object = object.clone();
            let metadata = object["metadata"].as_object_mut().unwrap();
            for key in ["uid", "creationTimestamp", "managedFields"] {
                metadata.remove(key);
            }
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                let mark = annotations.remove("holdfast.dev/owner");
                annotations.insert("owned".to_owned(), mark.is_some().into());
            }
            (id.clone(), object)
        };
        self.objects.iter().map(plain).collect()
    }
}

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub fn replace_folder(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    copy_folder(from, to);
}

impl Stage {
    fn new() -> Self {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        let old_commit = first(&repo);
        lab.configure(&[repo.source("shop", SPEC)]);
        lab.apply(&[]);
        let by_hand: Vec<String> = (0..OWNED)
            .map(|n| {
                let id = format!("ConfigMap/shop/owned-{:03}", n * 4 + 1);
                let mut object = lab.live(&id).unwrap();
                object["data"]["later"] = "yes".into();
                object["metadata"].as_object_mut().unwrap().remove("managedFields");
                let file = lab.path().join(format!("by-hand-{n}.json"));
                fs::write(&file, object.to_string()).unwrap();
                file.to_str().unwrap().to_owned()
            })
            .collect();
        let mut put = vec!["object", "put", "--as", "somebody"];
        put.extend(by_hand.iter().map(String::as_str));
        lab.run(&put).ok();
        copy_folder(&lab.path().join(".holdfast"), &lab.path().join("before/target"));
        copy_folder(&lab.path().join("cache"), &lab.path().join("before/cache"));
        let new_commit = second(&repo);
        let old = Dump::of(&lab.path().join(".holdfast"));
        Self { lab, old, new_commit, old_commit }
    }

    /// Puts target and mirror back to where they were before the second commit.
    fn reset(&self) {
        replace_folder(&self.lab.path().join("before/target"), &self.lab.path().join(".holdfast"));
        replace_folder(&self.lab.path().join("before/cache"), &self.lab.path().join("cache"));
    }

    fn apply(&self) -> Command {
        let mut command = self.lab.command(&["apply", "--yes", "-o", "json"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn dump(&self) -> Dump {
        Dump::of(&self.lab.path().join(".holdfast"))
    }

    /// The state after an uninterrupted apply, and how long that took.
    fn new_state(&self) -> (BTreeMap<String, Value>, Duration) {
        self.reset();
        let begun = Instant::now();
        self.lab.run(&["apply", "--yes", "-o", "json"]).ok();
        let took = begun.elapsed();
        let new = self.dump();
        assert_eq!(new.commits, std::slice::from_ref(&self.new_commit));
        assert_ne!(new.meaning(), self.old.meaning());
        (new.meaning(), took)
    }

    /// Whether all is new; fails where it is neither all new nor all old.
    #[track_caller]
    fn is_new(&self, new: &BTreeMap<String, Value>, when: &str) -> bool {
        let dump = self.dump();
        if dump.commits == [self.old_commit.clone()] {
            assert!(dump == self.old, "{when}: the commit is the old one and the rest is not");
            return false;
        }
        assert_eq!(dump.commits, std::slice::from_ref(&self.new_commit), "{when}");
        assert!(dump.meaning() == *new, "{when}: the commit is the new one and the objects are not");
        assert_eq!(dump.inventory.len(), dump.objects.len() - 4, "{when}: an inventory of something else");
        assert_eq!(dump.applies, self.old.applies + 1, "{when}: the log tells something else");
        true
    }

    /// The next apply, unaided, ends wholly new.
    #[track_caller]
    fn goes_on(&self, new: &BTreeMap<String, Value>, when: &str) {
        let said = self.lab.run(&["apply", "--yes", "-o", "json"]);
        assert_eq!(said.code, 0, "{when}: {said:?}");
        let dump = self.dump();
        assert_eq!(dump.commits, std::slice::from_ref(&self.new_commit), "{when}");
        assert!(dump.meaning() == *new, "{when}: the next apply made something else");
    }
}

fn first(repo: &Repo) -> String {
    repo.write("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    for n in 0..UPDATED {
        repo.write(&format!("updated/{n}.yaml"), manifest("updated", n, 1));
    }
    for n in 0..DELETED {
        repo.write(&format!("deleted/{n}.yaml"), manifest("deleted", n, 1));
    }
    for n in 0..SAME {
        repo.write(&format!("same/{n}.yaml"), manifest("same", n, 1));
    }
    for n in 0..OWNED {
        repo.write(&format!("owned/{n}.yaml"), manifest("owned", n * 4 + 1, 1));
    }
    repo.commit("first")
}

fn second(repo: &Repo) -> String {
    for n in 0..CREATED {
        repo.write(&format!("created/{n}.yaml"), manifest("created", n, 1));
    }
    for n in 0..UPDATED {
        repo.write(&format!("updated/{n}.yaml"), manifest("updated", n, 2));
    }
    for n in 0..DELETED {
        repo.remove(&format!("deleted/{n}.yaml"));
    }
    for n in 0..OWNED {
        let text = manifest("owned", n * 4 + 1, 1).replace("note: a text", "note: a text, later: \"yes\"");
        repo.write(&format!("owned/{n}.yaml"), text);
    }
    repo.commit("second")
}

pub fn failpoints(lab: &Lab) -> Vec<String> {
    let mut command = lab.command(&[]);
    let said = Said::of(command.env("HOLDFAST_FAILPOINT", "list").output().unwrap()).ok();
    said.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn an_apply_that_aborts_at_any_sync_point_leaves_all_old_or_all_new_and_the_next_one_works_unaided() {
    let stage = Stage::new();
    let plan = stage.lab.plan(&[]);
    let counts: Vec<u64> =
        ["create", "update", "delete", "own", "unchanged"].map(|a| plan["summary"][a].as_u64().unwrap()).to_vec();
    assert_eq!(counts, [100, 100, 50, 10, 41], "{}", plan["summary"]);
    let (new, _) = stage.new_state();

    let mut tried = 0;
    for point in failpoints(&stage.lab) {
        let nths: &[usize] = match point.as_str() {
            // Met only where a store is made: the next test.
            "store-made" | "store-placed" => continue,
            "after-object" => &[1, 105, 210],
            "after-delete" => &[1, 25, 50],
            _ => &[1],
        };
        for nth in nths {
            let when = format!("{point}:{nth}");
            stage.reset();
            let status = stage.apply().env("HOLDFAST_FAILPOINT", &when).status().unwrap();
            assert_eq!(status.code(), None, "{when} was never met");
            let is_new = stage.is_new(&new, &when);
            assert_eq!(is_new, point == "after-commit", "{when}");

            // The same by the command line, and the next run unaided.
            let list = stage.lab.run(&["source", "list", "-o", "json"]).ok();
            let (now, other) = match is_new {
                true => (&stage.new_commit, &stage.old_commit),
                false => (&stage.old_commit, &stage.new_commit),
            };
            assert!(list.stdout.contains(now.as_str()) && !list.stdout.contains(other.as_str()), "{when}: {list:?}");
            let again = stage.lab.plan(&[]);
            if is_new {
                assert_eq!(again["changes"].as_array().unwrap().len(), 0, "{when}");
            } else {
                assert_eq!(again["planId"], plan["planId"], "{when}: the old state is not quite the old one");
            }
            stage.goes_on(&new, &when);
            assert_eq!(stage.lab.plan(&[])["changes"].as_array().unwrap().len(), 0, "{when}");
            tried += 1;
        }
    }
    println!("crash: {tried} aborts at sync points");
    assert_eq!(tried, 13);
}

#[test]
fn a_store_whose_making_is_aborted_is_not_there_or_whole_and_the_next_apply_works_unaided() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    first(&repo);
    lab.configure(&[repo.source("shop", SPEC)]);
    for (point, made) in [("store-made", false), ("store-placed", true)] {
        let folder = lab.path().join(".holdfast");
        let _ = fs::remove_dir_all(&folder);
        let mut command = lab.command(&["apply", "--yes"]);
        let output = command.env("HOLDFAST_FAILPOINT", point).output().unwrap();
        assert_eq!(output.status.code(), None, "{point} was never met");
        assert_eq!(lab.database().exists(), made, "{point}");
        if made {
            assert_eq!(lab.dump()["items"].as_array().unwrap().len(), 0, "{point}");
        }
        lab.apply(&[]);
        let again = lab.plan(&[]);
        assert!(changes(&again, "create").is_empty(), "{point}");
        assert_eq!(again["summary"]["unchanged"], 201, "{point}");
    }
}

/// `SplitMix64`: any seed will do, and the same seed gives the same moments.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn between(&mut self, from: Duration, to: Duration) -> Duration {
        let span = u64::try_from(to.saturating_sub(from).as_micros()).unwrap().max(1);
        from + Duration::from_micros(self.next() % span)
    }
}

#[test]
fn an_apply_killed_at_any_of_a_hundred_random_moments_leaves_all_old_or_all_new() {
    let stage = Stage::new();
    let (new, took) = stage.new_state();
    // When the transaction begins and ends: half of the moments fall there, the others anywhere. On a busy machine the
    // least of some tries says most.
    let until = |point: &str| {
        let once = || {
            stage.reset();
            let begun = Instant::now();
            let _ = stage.apply().env("HOLDFAST_FAILPOINT", point).status().unwrap();
            begun.elapsed()
        };
        (0..5).map(|_| once()).min().unwrap()
    };
    let (begins, ends) = (until("before-begin"), until("after-commit"));
    let took = took.min(ends.mul_f64(1.1));
    let mut random = Random(SEED);
    println!("crash: seed {SEED:#x}, an apply takes {took:?}, its transaction lies within {begins:?} and {ends:?}");

    // How much slower the machine became since then: the moments follow, so that they fall on both sides of the commit.
    let mut slower = 1.0;
    let (mut old_left, mut new_left, mut done) = (0, 0, 0);
    for n in 0..100 {
        let moment = match n % 2 {
            0 => random.between(Duration::ZERO, took),
            _ => random.between(begins.mul_f64(0.95), ends),
        }
        .mul_f64(slower);
        stage.reset();
        let mut child = stage.apply().spawn().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < moment {
            thread::park_timeout(moment.saturating_sub(begun.elapsed()));
        }
        child.kill().unwrap();
        let status = child.wait().unwrap();
        let when = format!("kill {n} after {moment:?} (seed {SEED:#x})");
        match stage.is_new(&new, &when) {
            true => {
                new_left += 1;
                slower *= 0.94;
            }
            false => {
                assert!(!status.success(), "{when}: it said that it was done");
                old_left += 1;
                slower *= if n % 2 == 1 { 1.05 } else { 1.0 };
            }
        }
        if status.success() {
            // Faster than measured: an apply like any other.
            done += 1;
        } else {
            stage.goes_on(&new, &when);
        }
    }
    println!("crash: 100 kills left the old state {old_left} times, the new one {new_left} times ({done} were done)");
    assert!(old_left >= 10, "the kills came too late to tell anything");
}
