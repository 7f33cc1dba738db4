//! After a restore gave new UIDs, or the inventory lost rows: a Source takes back what bears its mark, and deletes nothing.

use rusqlite::Connection;
use serde_json::Value;

use crate::lab::{Lab, Repo, changes, id};

const SPEC: &str = "  namespaces: [shop]\n  prune: true\n  pruneBudget: {objects: 9, percent: 100}";

fn config(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: \"1\"}}\n")
}

fn lab() -> (Lab, Repo) {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    for name in ["one", "two", "three", "four"] {
        repo.write(&format!("{name}.yaml"), config(name));
    }
    repo.commit("first");
    lab.configure(&[repo.source("web", SPEC)]);
    lab.put("bank", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    lab.apply(&[]);
    (lab, repo)
}

/// What a restore does: the same object, mark included, with a new UID.
pub fn restore(lab: &Lab, name: &str, value: &str) {
    let id = format!("ConfigMap/shop/{name}");
    let mut object = lab.live(&id).unwrap();
    for key in ["uid", "resourceVersion", "managedFields", "creationTimestamp"] {
        object["metadata"].as_object_mut().unwrap().remove(key);
    }
    object["data"]["v"] = value.into();
    lab.run(&["object", "delete", &id, "--as", "restore"]).ok();
    lab.put("restore", &object.to_string());
}

fn lose_row(lab: &Lab, name: &str) {
    let conn = Connection::open(lab.database()).unwrap();
    let sql = "DELETE FROM inventory WHERE row LIKE ?1";
    assert_eq!(conn.execute(sql, [format!("%\"name\":\"{name}\"%")]).unwrap(), 1);
}

fn uids(lab: &Lab) -> Vec<Value> {
    let dump = lab.dump();
    dump["items"].as_array().unwrap().iter().map(|o| o["metadata"]["uid"].clone()).collect()
}

#[test]
fn a_rebuild_takes_back_what_bears_the_mark_and_writes_no_object() {
    let (lab, repo) = lab();
    restore(&lab, "one", "1");
    restore(&lab, "two", "changed");
    lose_row(&lab, "three");
    // Without its mark, and bearing another's, nothing is taken back.
    lab.by_hand("hand", "ConfigMap/shop/four", |object| {
        object["metadata"].as_object_mut().unwrap().remove("annotations");
    });
    let refused = lab.run(&["plan", "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"].as_array().unwrap().len(), 4, "{refused:#}");

    let (before, live) = (lab.dump(), uids(&lab));
    let out = lab.path().join("web.plan.json");
    let path = out.to_str().unwrap();
    let plan = lab.run(&["source", "rebuild", "web", "--out", path, "-o", "json"]).ok().json();
    let taken: Vec<String> = plan["changes"].as_array().unwrap().iter().map(|c| id(&c["id"])).collect();
    let back = ["ConfigMap/shop/one", "ConfigMap/shop/three", "ConfigMap/shop/two"];
    assert_eq!((taken, changes(&plan, "adopt")), (back.map(str::to_owned).to_vec(), back.map(str::to_owned).to_vec()));
    assert_eq!((&plan["sources"][0]["purpose"], &plan["summary"]["delete"]), (&"rebuild".into(), &0.into()));
    let warned = plan["warnings"].as_array().unwrap().iter().find(|w| w["rule"] == "owner-mismatch").unwrap();
    assert_eq!(id(&warned["id"]), "ConfigMap/shop/four");
    let receipt = lab.run(&["apply", path, "-o", "json"]).ok().json();
    assert_eq!((&receipt["writes"], &receipt["deletes"]), (&0.into(), &0.into()));
    assert_eq!((lab.dump(), uids(&lab)), (before, live));

    // They are its own again: what was changed is an update like any other, and what leaves is deleted.
    repo.remove("one.yaml");
    repo.remove("four.yaml");
    repo.commit("second");
    let plan = lab.plan(&[]);
    assert_eq!(
        (changes(&plan, "update"), changes(&plan, "delete")),
        (vec!["ConfigMap/shop/two".to_owned()], vec!["ConfigMap/shop/one".to_owned()])
    );
    lab.apply(&[]);
    assert_eq!(lab.plan(&[])["changes"], serde_json::json!([]));
    let again = lab.run(&["source", "rebuild", "web", "--yes", "-o", "json"]).ok().json();
    assert_eq!((&again["changes"], &again["writes"]), (&serde_json::json!([]), &0.into()));
}

#[test]
fn a_saved_rebuild_is_of_the_applied_commit_alone() {
    let (lab, repo) = lab();
    restore(&lab, "one", "1");
    let out = lab.path().join("web.plan.json");
    let path = out.to_str().unwrap();
    lab.run(&["source", "rebuild", "web", "--out", path]).ok();
    // Another commit is applied meanwhile, though it changes no row.
    lab.run(&["source", "rebuild", "web", "--yes"]).ok();
    repo.commit("nothing");
    lab.apply(&[]);
    let before = lab.run(&["source", "list", "-o", "json"]).ok().stdout;
    let refused = lab.run(&["apply", path, "-o", "json"]).exits(4).json();
    assert!(refused["refusals"].as_array().unwrap().iter().any(|r| r["rule"] == "stale-plan"), "{refused:#}");
    assert_eq!(lab.run(&["source", "list", "-o", "json"]).ok().stdout, before);
    // Nor is it taken by a plan at another commit, asked for by --ref or not.
    lab.run(&["source", "rebuild", "web", "--yes", "--ref", "main"]).ok();
    assert_eq!(lab.run(&["source", "list", "-o", "json"]).ok().json()["sources"][0]["objects"], 4);
}

#[test]
fn a_rebuild_takes_back_what_left_git_too_and_all_of_a_source_that_the_target_forgot() {
    let (lab, repo) = lab();
    restore(&lab, "one", "1");
    lab.run(&["source", "rebuild", "web", "--yes"]).ok();
    // Of the applied commit, whatever came since.
    restore(&lab, "two", "1");
    repo.remove("two.yaml");
    repo.commit("second");
    let receipt = lab.run(&["source", "rebuild", "web", "--yes", "-o", "json"]).ok().json();
    assert_eq!(receipt["changes"].as_array().unwrap().len(), 1);
    assert_eq!(changes(&lab.plan(&[]), "delete"), ["ConfigMap/shop/two"]);
    lab.apply(&[]);
    let conn = Connection::open(lab.database()).unwrap();
    conn.execute_batch("DELETE FROM inventory; DELETE FROM source").unwrap();
    drop(conn);
    let refused = lab.run(&["plan", "-o", "json"]).exits(1).json();
    assert!(refused["refusals"].as_array().unwrap().iter().all(|r| r["rule"] == "exists-unowned"), "{refused:#}");
    let receipt = lab.run(&["source", "rebuild", "web", "--yes", "-o", "json"]).ok().json();
    assert_eq!(receipt["changes"].as_array().unwrap().len(), 3);
    assert_eq!(lab.plan(&[])["changes"], serde_json::json!([]));
    // A Source of which the target has neither record nor mark is not made out of nothing.
    lab.run(&["source", "rename", "web", "w2"]).ok();
    let refused = lab.run(&["source", "rebuild", "web", "--yes", "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"][0]["rule"], "unknown-source");
    lab.run(&["source", "rename", "w2", "web"]).ok();
    // What bears the mark and stands nowhere else is named, and stays.
    repo.remove("one.yaml");
    repo.commit("third");
    lose_row(&lab, "one");
    lab.apply(&[]);
    let said = lab.run(&["source", "rebuild", "web", "--yes"]).ok();
    assert!(said.stdout.contains("neither commit nor inventory has it"), "{said:?}");
    assert!(lab.live("ConfigMap/shop/one").is_some());
}

#[test]
fn no_wave_namespace_or_dependency_orders_what_is_taken_back() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    let annotated =
        |name: &str, what: &str| config(name).replace("}\ndata", &format!(", annotations: {{{what}}}}}\ndata"));
    repo.write("a.yaml", annotated("a", "config.kubernetes.io/depends-on: /namespaces/shop/ConfigMap/b"));
    repo.write("b.yaml", config("b"));
    repo.write("c.yaml", annotated("c", "holdfast.dev/wave: \"-1\""));
    repo.commit("first");
    lab.configure(&[repo.source("web", &format!("{SPEC}\n  clusterKinds: [Namespace]"))]);
    lab.apply(&[]);
    Connection::open(lab.database()).unwrap().execute_batch("DELETE FROM inventory").unwrap();
    let receipt = lab.run(&["source", "rebuild", "web", "--yes", "-o", "json"]).ok().json();
    assert_eq!(receipt["changes"].as_array().unwrap().len(), 4);
    assert_eq!(lab.plan(&[])["changes"], serde_json::json!([]));
}
