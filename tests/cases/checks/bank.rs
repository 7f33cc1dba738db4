//! The bank itself: every file is read in full, every repository can be made.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::expected::Case;
use crate::lab::{self, Folder, Lab};
use crate::repository::Templates;
use crate::steps::Step;

fn bank() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases-data")
}

fn folders() -> Vec<Folder> {
    lab::folders(&bank()).unwrap()
}

#[test]
fn every_expected_json_is_read_in_full() {
    let folders = folders();
    assert_eq!(folders.len(), 52);
    for folder in folders {
        assert!(folder.expected.is_ok(), "{}: {:?}", folder.name, folder.expected.err());
    }
}

/// Objects whose keys are data: values by pointer, and the values that a race may leave.
fn is_data(key: &str) -> bool {
    key.starts_with('/')
}

/// The pointers of all objects in which a key has a meaning.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.push(at.to_owned());
            for (key, item) in map.iter().filter(|(key, _)| !is_data(key)) {
                objects(item, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                objects(item, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn an_unknown_key_at_any_level_is_refused() {
    let mut tried = 0;
    for folder in folders() {
        let text = std::fs::read_to_string(folder.path.join("expected.json")).unwrap();
        let sound: Value = serde_json::from_str(&text).unwrap();
        let mut places = Vec::new();
        objects(&sound, "", &mut places);
        for place in places {
            let mut changed = sound.clone();
            let object = changed.pointer_mut(&place).unwrap().as_object_mut().unwrap();
            object.insert("x-unknown".to_owned(), json!(true));
            let read = Case::read(&folder.name, &changed.to_string());
            assert!(read.is_err(), "{}: a key too much at {place:?} was read", folder.name);
            tried += 1;
        }
    }
    assert!(tried > 700, "only {tried} places were tried");
}

#[test]
fn a_wrong_word_is_refused() {
    let text = |step: Value| {
        json!({
            "case": "x01-x", "needs": [], "namespaces": [], "sources": {"s": {"namespaces": ["s"], "prune": true}},
            "steps": [step],
        })
        .to_string()
    };
    let plan = |more: Value| {
        let mut step = json!({"action": "plan", "source": "s", "commit": "commit-1", "outcome": "refused"});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Case::read("x01-x", &text(step))
    };
    assert!(plan(json!({})).is_ok());
    for more in [
        json!({"outcome": "maybe"}),
        json!({"outcome": []}),
        json!({"source": "other"}),
        json!({"sources": ["s"]}),
        json!({"commit": "main"}),
        json!({"create": ["ConfigMap/a"]}),
        json!({"refusals": [{"reason": "because"}]}),
        json!({"refusals": [{"reason": "quota", "path": "spec"}]}),
        json!({"values": {"core/ConfigMap/s/a": {"data": 1}}}),
        json!({"counts": {"creates": 1}}),
        json!({"fault": "disk-full"}),
        json!({"allow": ["core/ConfigMap/s/a=many"]}),
    ] {
        assert!(plan(more.clone()).is_err(), "{more} was read");
    }
    let crash = |point: &str| {
        Case::read("x01-x", &text(json!({"action": "crash", "plan": "P", "points": [point], "states": []})))
    };
    assert!(crash("after-write-9").is_ok());
    assert!(crash("after-write-10").is_err());
    assert!(Case::read("x02-y", &text(json!({"action": "race", "one_of": ["P"], "reason": "locked"}))).is_err());
    assert!(Case::read("x01-x", &text(json!({"action": "dance"}))).is_err());
}

#[test]
fn mkrepo_makes_the_repositories_of_every_case() {
    let lab = Lab::new(PathBuf::from("true"), bank().join("mkrepo.sh"), 0, None).unwrap();
    for folder in folders() {
        let case = folder.expected.as_ref().unwrap();
        let of: Vec<String> =
            case.sources.values().filter_map(|spec| spec.repository.clone()).chain([String::new()]).collect();
        let templates = Templates::make(&lab, &folder.path, &of).unwrap();
        let world = lab.folder("copy").unwrap();
        let copies = templates.copy(world.path()).unwrap();
        for step in case.courses().iter().flat_map(|run| &run.steps) {
            let (source, commit) = match step {
                Step::Plan(plan) => (plan.planned().remove(0), &plan.commit),
                Step::Converge(converge) => (converge.planned().remove(0), &converge.commit),
                _ => continue,
            };
            let repository = &copies[&case.sources[&source].repository.clone().unwrap_or_default()];
            repository.checkout(commit).unwrap_or_else(|why| panic!("{}: {commit}: {why}", folder.name));
            let head = repository.git(&["rev-parse", "HEAD"]).unwrap();
            assert_eq!(head.trim(), repository.commit(commit).unwrap(), "{}: {commit}", folder.name);
        }
    }
}

#[test]
fn a_script_of_a_case_rewrites_the_copy_and_not_the_template() {
    let lab = Lab::new(PathBuf::from("true"), bank().join("mkrepo.sh"), 0, None).unwrap();
    let case = bank().join("r04-source-force-pushed");
    let templates = Templates::make(&lab, &case, &[String::new()]).unwrap();
    for args in [vec![], vec!["gone".to_owned()]] {
        let world = lab.folder("copy").unwrap();
        let copies = templates.copy(world.path()).unwrap();
        let repository = &copies[""];
        repository.checkout("commit-2").unwrap();
        repository.script(&case.join("steps.sh"), &case, &args).unwrap();
        let head = repository.git(&["rev-parse", "main"]).unwrap();
        assert_ne!(head.trim(), repository.commit("commit-2").unwrap());
        let kept = repository.git(&["cat-file", "-e", repository.commit("commit-2").unwrap()]).is_ok();
        assert_eq!(kept, args.is_empty());
    }
}

#[test]
fn a_repository_taken_away_comes_back() {
    let lab = Lab::new(PathBuf::from("true"), bank().join("mkrepo.sh"), 0, None).unwrap();
    let world = lab.folder("away").unwrap();
    let repository = crate::repository::Repository::init(world.path()).unwrap();
    repository.commit_file("a/b.yaml", "a: 1\n").unwrap();
    repository.take_away().unwrap();
    assert!(!repository.path().exists());
    repository.bring_back().unwrap();
    assert_eq!(repository.git(&["ls-files"]).unwrap(), "a/b.yaml\n");
}
