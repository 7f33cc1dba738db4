//! The lab of the chapter that Holdfast grew out of, with real commits: what went wrong there must not happen here.

use crate::lab::{Lab, change, changes};

const SPEC: &str = "  namespaces: [atlas]\n  clusterKinds: [Namespace]\n  prune: true";

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: atlas}\n";

fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: api, image: registry.example/atlas:1}}]
"
    )
}

const UNRELATED: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unrelated, namespace: atlas}\ndata: {made: by-hand}\n";

#[test]
fn a_valid_first_file_and_an_invalid_second_write_nothing_and_every_fault_is_in_one_report() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("namespace.yaml", NAMESPACE);
    repo.write("atlas-a.yaml", deployment("a", 1));
    repo.write("atlas-b.yaml", deployment("b", 1).replace("replicas", "replicaz"));
    repo.write("atlas-c.yaml", deployment("c", 1).replace("  replicas: 1", "  replicas: many"));
    repo.commit("two faults");
    lab.configure(&[repo.source("atlas", SPEC)]);
    lab.run(&["object", "list"]).ok();
    let before = lab.dump();

    let said = lab.run(&["apply", "--yes", "-o", "json"]).exits(1);
    let report = said.json();
    let mut rules: Vec<(&str, &str, u64)> = report["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["file"].as_str().unwrap(), r["rule"].as_str().unwrap(), r["line"].as_u64().unwrap()))
        .collect();
    rules.sort_unstable();
    assert_eq!(rules, [("atlas-b.yaml", "unknown-field", 5), ("atlas-c.yaml", "type-mismatch", 5)]);
    assert_eq!(lab.dump(), before, "a refused commit left something on the target");

    let text = lab.run(&["plan"]).exits(1);
    assert!(text.all().contains("atlas-b.yaml:5:"), "{text:?}");
    assert!(text.all().contains("atlas-c.yaml:5:"), "{text:?}");
    assert!(text.all().to_lowercase().contains("nothing was written"), "{text:?}");
}

#[test]
fn replicas_zero_is_applied_and_the_commit_stands_in_receipt_and_history() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("namespace.yaml", NAMESPACE);
    repo.write("atlas.yaml", deployment("atlas", 0));
    let commit = repo.commit("atlas at zero");
    lab.configure(&[repo.source("atlas", SPEC)]);

    let receipt = lab.apply(&[]);
    assert_eq!(receipt["sources"][0]["commit"], commit.as_str());
    assert_eq!(receipt["writes"], 2);
    let live = lab.live("Deployment.apps/atlas/atlas").unwrap();
    assert_eq!(live["spec"]["replicas"], 0);

    let history = lab.run(&["history", "-o", "json"]).ok();
    assert!(history.stdout.contains(&commit), "{history:?}");
    let again = lab.plan(&[]);
    assert_eq!(again["changes"].as_array().unwrap().len(), 0, "{again:#}");
    assert_eq!(again["summary"]["unchanged"], 2);
}

#[test]
fn a_removed_manifest_prunes_its_object_and_an_object_of_somebody_else_is_never_touched() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("namespace.yaml", NAMESPACE);
    repo.write("atlas.yaml", deployment("atlas", 0));
    repo.commit("atlas");
    lab.configure(&[repo.source("atlas", SPEC)]);
    lab.apply(&[]);
    lab.put("somebody", UNRELATED);
    let unrelated = lab.live("ConfigMap/atlas/unrelated").unwrap();

    repo.remove("atlas.yaml");
    let removal = repo.commit("atlas is gone");
    let plan = lab.plan(&[]);
    assert_eq!(changes(&plan, "delete"), ["Deployment.apps/atlas/atlas"]);
    let receipt = lab.apply(&[]);
    assert_eq!(receipt["deletes"], 1);
    assert_eq!(receipt["sources"][0]["commit"], removal.as_str());
    assert_eq!(lab.live("Deployment.apps/atlas/atlas"), None);
    assert_eq!(lab.live("ConfigMap/atlas/unrelated").unwrap(), unrelated);
}

#[test]
fn a_name_that_was_made_again_by_hand_is_kept_with_a_reason() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("namespace.yaml", NAMESPACE);
    repo.write("atlas.yaml", deployment("atlas", 0));
    repo.commit("atlas");
    lab.configure(&[repo.source("atlas", SPEC)]);
    lab.apply(&[]);
    lab.run(&["object", "delete", "Deployment.apps/atlas/atlas", "--as", "somebody"]).ok();
    lab.put("somebody", &deployment("atlas", 5).replace("name: atlas}\nspec", "name: atlas, namespace: atlas}\nspec"));
    let theirs = lab.live("Deployment.apps/atlas/atlas").unwrap();

    repo.remove("atlas.yaml");
    repo.commit("atlas is gone");
    let plan = lab.plan(&[]);
    let kept = change(&plan, "Deployment.apps/atlas/atlas");
    assert_eq!(kept["action"], "keep");
    assert_eq!(kept["rule"], "uid-mismatch");
    assert!(!kept["reason"].as_str().unwrap().is_empty());
    lab.apply(&[]);
    assert_eq!(lab.live("Deployment.apps/atlas/atlas").unwrap(), theirs);
    // The row was let go: there is nothing more to say about it.
    assert_eq!(lab.plan(&[])["changes"].as_array().unwrap().len(), 0);
}

#[test]
fn a_name_that_another_source_took_over_is_kept_with_a_reason() {
    let lab = Lab::new();
    let (one, two) = (lab.repo("one"), lab.repo("two"));
    one.write("namespace.yaml", NAMESPACE);
    one.write("atlas.yaml", deployment("atlas", 0));
    one.commit("atlas");
    two.write("other.yaml", UNRELATED.replace("unrelated", "other"));
    two.commit("other");
    lab.configure(&[one.source("one", SPEC), two.source("two", "  namespaces: [atlas]\n  prune: true")]);
    lab.apply(&["one"]);
    lab.apply(&["two"]);

    // The object moves from one to the other, planned together: the same UID, no delete.
    let uid = lab.live("Deployment.apps/atlas/atlas").unwrap()["metadata"]["uid"].clone();
    one.remove("atlas.yaml");
    one.commit("gives atlas away");
    two.write("atlas.yaml", deployment("atlas", 0));
    two.commit("takes atlas");
    let alone = lab.plan(&["one"]);
    let kept = change(&alone, "Deployment.apps/atlas/atlas");
    assert_eq!((kept["action"].as_str(), kept["rule"].as_str()), (Some("keep"), Some("wanted-by-other")));
    assert!(kept["reason"].as_str().unwrap().contains("two"));
    let together = lab.plan(&[]);
    assert_eq!(changes(&together, "transfer"), ["Deployment.apps/atlas/atlas"]);
    assert_eq!(changes(&together, "delete"), [""; 0]);
    lab.apply(&[]);
    assert_eq!(lab.live("Deployment.apps/atlas/atlas").unwrap()["metadata"]["uid"], uid);
    let after = lab.plan(&["one"]);
    assert_eq!(after["changes"].as_array().unwrap().len(), 0, "{after:#}");
}

#[test]
fn a_second_configuration_with_the_same_source_name_and_another_repository_is_refused_and_prunes_nothing() {
    let lab = Lab::new();
    let (one, two) = (lab.repo("one"), lab.repo("two"));
    one.write("namespace.yaml", NAMESPACE);
    one.write("atlas.yaml", deployment("atlas", 0));
    one.commit("atlas");
    two.write("other.yaml", UNRELATED);
    two.commit("an unrelated history");
    lab.configure(&[one.source("atlas", SPEC)]);
    lab.apply(&[]);
    let before = lab.dump();

    lab.configure(&[two.source("atlas", SPEC)]);
    let said = lab.run(&["apply", "--yes", "-o", "json"]).exits(1);
    assert_eq!(said.json()["refusals"][0]["rule"], "source-binding");
    assert_eq!(lab.dump(), before);

    // Even when it is allowed, nothing is deleted by that alone.
    let said = lab.run(&["plan", "-o", "json", "--allow", "source/atlas"]).exits(1);
    assert_eq!(said.json()["refusals"][0]["rule"], "delete-budget");
    assert_eq!(lab.dump(), before);
}
