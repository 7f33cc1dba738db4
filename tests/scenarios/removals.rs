//! Sources that are removed: with their objects or without, through a plan, though the repository is gone.

use std::fs;

use serde_json::{Value, json};

use crate::lab::{Lab, Repo, change, changes, id};

const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";

fn config(name: &str, annotations: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop{annotations}}}\ndata: {{v: \"1\"}}\n"
    )
}

/// `web` owns a Namespace and two ConfigMaps; the lab's configuration is `sources`.
fn lab() -> (Lab, Repo) {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    repo.write("one.yaml", config("one", ""));
    repo.write("two.yaml", config("two", ""));
    repo.commit("first");
    lab.configure(&[repo.source("web", SPEC)]);
    lab.apply(&[]);
    (lab, repo)
}

fn vanish(lab: &Lab, repo: &Repo) {
    fs::rename(&repo.folder, lab.path().join("elsewhere")).unwrap();
    fs::remove_dir_all(lab.path().join("cache")).unwrap();
}

fn source(lab: &Lab, name: &str) -> Value {
    let list = lab.run(&["source", "list", "-o", "json"]).ok().json();
    let mut found = list["sources"].as_array().unwrap().iter().filter(|s| s["name"] == name).cloned();
    found.next().unwrap()
}

/// The live objects without what an unmark moves.
fn bodies(lab: &Lab) -> Vec<(String, Value)> {
    let dump = lab.dump();
    let items = dump["items"].as_array().unwrap();
    items
        .iter()
        .map(|o| (format!("{}/{}", o["kind"], o["metadata"]["name"]), json!([o["metadata"]["uid"], o["data"]])))
        .collect()
}

fn marks(lab: &Lab) -> usize {
    let dump = lab.dump();
    let marked = |o: &&Value| o["metadata"]["annotations"].get("holdfast.dev/owner").is_some();
    dump["items"].as_array().unwrap().iter().filter(marked).count()
}

#[test]
fn orphaned_objects_stay_unmarked_and_listed_though_the_repository_is_gone() {
    let (lab, repo) = lab();
    let (before, web) = (bodies(&lab), source(&lab, "web"));
    vanish(&lab, &repo);
    let out = lab.path().join("web.plan.json");
    let out = out.to_str().unwrap();
    let said = lab.run(&["source", "remove", "web", "--orphan", "--out", out]).ok();
    assert!(
        said.stdout.contains("to be removed: its objects stay") && said.stdout.contains("Plan: 3 to release"),
        "{said:?}"
    );
    assert_eq!((bodies(&lab), marks(&lab)), (before.clone(), 3), "a saved plan wrote something");
    lab.run(&["show", out]).ok();
    lab.run(&["verify", out]).ok();
    let receipt = lab.run(&["apply", out, "-o", "json"]).ok().json();
    assert_eq!((&receipt["deletes"], &receipt["summary"]["release"]), (&0.into(), &3.into()));
    assert_eq!((bodies(&lab), marks(&lab)), (before, 0));
    let after = source(&lab, "web");
    assert_eq!((&after["id"], &after["objects"], after["removedAt"].is_null()), (&web["id"], &0.into(), false));
    // A plan is applied once; the Source is gone.
    lab.run(&["apply", out]).exits(4);
    let refused = lab.run(&["source", "remove", "web", "--orphan", "--yes", "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"][0]["rule"], "unknown-source");
    // The history names every object that is nobody's now.
    let history = lab.run(&["history", "-o", "json"]).ok().json();
    let entry = history["entries"].as_array().unwrap().iter().find(|e| e["operation"] == "remove").unwrap().clone();
    let details = lab.run(&["history", "show", entry["id"].as_str().unwrap(), "-o", "json"]).ok().json();
    let released: Vec<String> =
        details["details"]["changes"].as_array().unwrap().iter().map(|c| id(&c["id"])).collect();
    assert_eq!(released, ["ConfigMap/shop/one", "ConfigMap/shop/two", "Namespace/shop"]);
    // One of the same name is another Source; what was let go it has by its predecessor's name.
    fs::rename(lab.path().join("elsewhere"), &repo.folder).unwrap();
    lab.run(&["plan", "-o", "json"]).exits(1);
    let plan = lab.plan(&["--adopt-from", "web"]);
    assert_eq!(changes(&plan, "adopt").len(), 3);
    assert_ne!(plan["sources"][0]["id"], web["id"]);
}

#[test]
fn pruned_objects_go_all_or_none_and_only_as_many_as_was_said() {
    let (lab, repo) = lab();
    let before = bodies(&lab);
    vanish(&lab, &repo);
    lab.run(&["source", "remove", "web", "--yes"]).exits(2);
    lab.run(&["source", "remove", "web", "--orphan", "--prune", "--yes"]).exits(2);
    lab.run(&["source", "remove", "web", "--prune"]).exits(1);
    let refused = lab.run(&["source", "remove", "web", "--prune", "--yes", "--allow-deletes", "2", "-o", "json"]);
    assert_eq!(refused.exits(1).json()["refusals"][0]["rule"], "delete-budget");
    let out = lab.path().join("web.plan.json");
    let out = out.to_str().unwrap();
    let plan = lab.run(&["source", "remove", "web", "--prune", "--out", out, "-o", "json"]).ok().json();
    assert_eq!((&plan["allowances"]["deletes"], &plan["sources"][0]["purpose"]), (&3.into(), &"prune".into()));
    // The file is a claim: that it deletes counts only if it is said again.
    let refused = lab.run(&["apply", out, "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"][0]["rule"], "permission-not-given");
    lab.run(&["source", "remove", "web", "--prune", "--expect", &"0".repeat(64)]).exits(4);
    assert_eq!(bodies(&lab), before);
    let receipt = lab.run(&["apply", out, "--allow-deletes", "3", "-o", "json"]).ok().json();
    assert_eq!((&receipt["deletes"], bodies(&lab).len()), (&3.into(), 0));
    assert!(!source(&lab, "web")["removedAt"].is_null());
}

#[test]
fn a_removal_with_its_objects_is_refused_while_one_of_them_would_be_kept() {
    let lab = Lab::new();
    let (repo, other) = (lab.repo("repo"), lab.repo("other"));
    repo.write("ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    repo.write("kept.yaml", config("kept", ", annotations: {holdfast.dev/prune: keep}"));
    repo.write("again.yaml", config("again", ""));
    repo.write("wanted.yaml", config("wanted", ""));
    repo.commit("first");
    other.write("own.yaml", config("theirs", ""));
    other.commit("first");
    lab.configure(&[repo.source("web", SPEC), other.source("other", SPEC)]);
    lab.apply(&["web"]);
    lab.apply(&["other"]);
    other.write("wanted.yaml", config("wanted", ""));
    other.commit("wants");
    lab.run(&["object", "delete", "ConfigMap/shop/again", "--as", "hand"]).ok();
    lab.put("hand", &config("again", ""));
    let before = lab.dump();
    let args = ["source", "remove", "web", "--prune", "--yes", "--allow-deletes", "9", "-o", "json"];
    let refused = lab.run(&args).exits(1).json();
    let found: Vec<String> = refused["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| format!("{} {}", r["rule"].as_str().unwrap(), id(&r["id"])))
        .collect();
    let expected = [
        "protected-delete Namespace/shop",
        "prune-keep ConfigMap/shop/kept",
        "uid-mismatch ConfigMap/shop/again",
        "wanted-by-other ConfigMap/shop/wanted",
    ];
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    assert_eq!(lab.dump(), before);
    // While the other can't be read, it may want everything.
    fs::rename(&other.folder, lab.path().join("elsewhere")).unwrap();
    let refused = lab.run(&args).exits(1).json();
    assert!(refused["refusals"].as_array().unwrap().iter().any(|r| r["rule"] == "others-unknown"), "{refused:#}");
    assert_eq!(lab.dump(), before);
    fs::rename(lab.path().join("elsewhere"), &other.folder).unwrap();
    // What stays is let go by name, each of them; the rest goes.
    let mut args = args.to_vec();
    for id in ["ConfigMap/shop/kept", "Namespace/shop", "ConfigMap/shop/again", "ConfigMap/shop/wanted"] {
        args.extend(["--release", id]);
    }
    let receipt = lab.run(&args).ok().json();
    assert_eq!((&receipt["deletes"], &receipt["summary"]["release"]), (&0.into(), &3.into()));
    assert_eq!(lab.dump()["items"].as_array().unwrap().len(), 5);
    assert_eq!(lab.live("ConfigMap/shop/kept").unwrap()["metadata"].get("annotations"), None);
}

#[test]
fn a_plan_of_a_removal_is_made_anew_and_refused_where_something_moved_or_it_was_forged() {
    let (lab, repo) = lab();
    let out = lab.path().join("web.plan.json");
    let path = out.to_str().unwrap();
    lab.run(&["source", "remove", "web", "--orphan", "--out", path]).ok();
    let text = fs::read_to_string(&out).unwrap();
    // Another purpose, or none, is another plan; its digests say so.
    fs::write(&out, text.replace("\"orphan\"", "\"prune\"")).unwrap();
    let refused = lab.run(&["apply", path, "--allow-deletes", "3", "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"][0]["rule"], "plan-digest");
    fs::write(&out, &text).unwrap();
    // Somebody wrote an object since.
    lab.by_hand("hand", "ConfigMap/shop/one", |object| object["data"]["v"] = "2".into());
    let refused = lab.run(&["apply", path, "-o", "json"]).exits(4).json();
    assert_eq!(refused["refusals"][0]["rule"], "stale-plan");
    // The inventory moved on.
    repo.write("three.yaml", config("three", ""));
    repo.commit("second");
    lab.apply(&[]);
    lab.run(&["apply", path]).exits(4);
    assert_eq!(marks(&lab), 4);
}

#[test]
fn what_bears_the_mark_of_a_removed_source_and_stands_in_no_inventory_is_said() {
    let (lab, _) = lab();
    let conn = rusqlite::Connection::open(lab.database()).unwrap();
    assert_eq!(conn.execute("DELETE FROM inventory WHERE row LIKE '%\"name\":\"two\"%'", ()).unwrap(), 1);
    drop(conn);
    let said = lab.run(&["source", "remove", "web", "--orphan", "--yes"]).ok();
    assert!(said.stdout.contains("stands in no inventory: it stays, and keeps the mark"), "{said:?}");
    assert_eq!(marks(&lab), 1);
    // It is nobody's to take unasked: whoever plans it is told whose it was.
    let refused = lab.run(&["plan", "--adopt", "ConfigMap/shop/two", "-o", "json"]).exits(1).json();
    let found = refused["refusals"].as_array().unwrap().iter().find(|r| r["id"]["name"] == "two").unwrap();
    assert_eq!((&found["rule"], &found["owner"]), (&"owned-by-other".into(), &"web".into()));
}

#[test]
fn what_a_narrowed_scope_no_longer_reaches_is_kept_and_listed_and_goes_with_its_source_alone() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: lab}\n");
    repo.write("one.yaml", config("one", ""));
    repo.write("far.yaml", config("far", "").replace("namespace: shop", "namespace: lab"));
    repo.write("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\n");
    repo.commit("first");
    lab.configure(&[repo.source("web", "  namespaces: [shop, lab]\n  clusterKinds: [Namespace]\n  prune: true")]);
    lab.apply(&[]);
    for file in ["ns.yaml", "far.yaml", "secret.yaml"] {
        repo.remove(file);
    }
    repo.commit("second");
    let kinds =
        "  namespaces: [shop]\n  kinds: {deny: [Secret]}\n  prune: true\n  pruneBudget: {objects: 9, percent: 100}";
    lab.configure(&[repo.source("web", kinds)]);
    let plan = lab.plan(&[]);
    let kept = ["ConfigMap/lab/far", "Namespace/lab", "Namespace/shop", "Secret/shop/s"];
    assert_eq!((changes(&plan, "keep"), changes(&plan, "delete")), (kept.map(str::to_owned).to_vec(), vec![]));
    assert!(kept.iter().all(|id| change(&plan, id)["rule"] == "out-of-scope"));
    lab.apply(&[]);
    assert_eq!(changes(&lab.plan(&[]), "keep"), kept, "they are listed at every plan");
    // A Source whose Target is another one now is without configuration here, and keeps everything.
    let elsewhere = repo.source("web", &format!("{kinds}\n  target: elsewhere"));
    let target = "apiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: elsewhere\nspec:\n  embedded: {path: .holdfast/other.db}\n";
    let rest = lab.repo("rest");
    rest.write("rest.yaml", config("rest", ""));
    rest.commit("first");
    lab.configure(&[elsewhere, target.to_owned(), rest.source("rest", "  namespaces: [shop]\n  target: local")]);
    let said = lab.run(&["plan", "--target", "local"]).ok();
    assert!(said.stderr.contains("Source web is without configuration here and owns 5 objects"), "{said:?}");
    let list = lab.run(&["source", "list", "--target", "local", "-o", "json"]).ok().json();
    assert_eq!((&list["sources"][0]["configured"], &list["sources"][0]["objects"]), (&false.into(), &5.into()));
    // Removed, it lets go of all of them, in scope or not.
    let args = ["source", "remove", "web", "--orphan", "--yes", "--target", "local", "-o", "json"];
    assert_eq!(lab.run(&args).ok().json()["summary"]["release"], 5);
}
