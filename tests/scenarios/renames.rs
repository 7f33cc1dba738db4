//! A Source gets another name: its ID and every object stay.

use serde_json::Value;

use crate::lab::{Lab, Repo, changes};

const SPEC: &str = "  namespaces: [shop]\n  prune: true";

fn lab() -> (Lab, Repo) {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    for name in ["one", "two"] {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: \"1\"}}\n");
        repo.write(&format!("{name}.yaml"), text);
    }
    repo.commit("first");
    lab.configure(&[repo.source("web", SPEC)]);
    lab.put("bank", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    lab.apply(&[]);
    (lab, repo)
}

fn listed(lab: &Lab) -> Value {
    lab.run(&["source", "list", "-o", "json"]).ok().json()["sources"].clone()
}

#[test]
fn a_rename_keeps_the_id_and_every_object_as_it_is() {
    let (lab, repo) = lab();
    let (objects, before) = (lab.dump(), listed(&lab));
    let said = lab.run(&["source", "rename", "web", "web-v2"]).ok();
    assert!(said.stdout.contains("web is web-v2 now"), "{said:?}");
    assert!(said.stderr.contains("metadata.name from web to web-v2"), "{said:?}");
    assert_eq!(lab.dump(), objects);
    let after = listed(&lab);
    assert_eq!((&after[0]["id"], &after[0]["name"]), (&before[0]["id"], &"web-v2".into()));

    // A configuration that still says the old name is told so, and takes and deletes nothing.
    repo.remove("two.yaml");
    repo.commit("second");
    let refused = lab.run(&["plan", "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"].as_array().unwrap().len(), 1, "{refused:#}");
    let fault = &refused["refusals"][0];
    assert_eq!((&fault["rule"], &fault["owner"]), (&"owned-by-other".into(), &"web-v2".into()));
    assert!(fault["hint"].as_str().unwrap().contains("was renamed to web-v2"), "{fault:#}");
    assert_eq!(lab.dump(), objects);

    lab.configure(&[repo.source("web-v2", SPEC)]);
    assert_eq!(changes(&lab.plan(&[]), "delete"), ["ConfigMap/shop/two"]);
    lab.apply(&[]);
    // The binding went along: another repository under the new name is refused.
    let other = lab.repo("other");
    other.write("z.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\n");
    other.commit("first");
    lab.configure(&[other.source("web-v2", SPEC)]);
    let refused = lab.run(&["plan", "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"][0]["rule"], "source-binding");
    // And another Source of the old name is another Source.
    lab.configure(&[other.source("web", SPEC)]);
    lab.apply(&[]);
    let sources = listed(&lab);
    assert_eq!(sources.as_array().unwrap().len(), 2);
    assert_ne!(sources[0]["id"], sources[1]["id"]);

    let history = lab.run(&["history", "-o", "json"]).ok().json();
    let renamed = history["entries"].as_array().unwrap().iter().find(|e| e["operation"] == "rename").unwrap();
    assert_eq!((&renamed["sources"][0], &renamed["actor"]), (&"web-v2".into(), &"lab".into()));
    let details = lab.run(&["history", "show", renamed["id"].as_str().unwrap(), "-o", "json"]).ok().json();
    assert_eq!(details["details"]["sources"][0]["formerName"], "web");
}

#[test]
fn a_rename_that_would_mix_up_sources_or_names_nothing_is_refused() {
    let (lab, _) = lab();
    let repo = lab.repo("more");
    repo.write("z.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\n");
    repo.commit("first");
    lab.configure(&[repo.source("other", SPEC)]);
    lab.apply(&[]);
    let before = listed(&lab);
    for (old, new, rule) in [
        ("web", "other", "source-name-taken"),
        ("wbe", "web-v2", "unknown-source"),
        ("other", "web", "source-name-taken"),
    ] {
        let refused = lab.run(&["source", "rename", old, new, "-o", "json"]).exits(1).json();
        assert_eq!(refused["refusals"][0]["rule"], rule, "{old} {new}");
    }
    lab.run(&["source", "rename", "web", "web"]).exits(2);
    lab.run(&["source", "rename", "web", "Not A Name"]).exits(2);
    assert_eq!(listed(&lab), before);
    // There and back: the first name is free again, and is the same Source's.
    lab.run(&["source", "rename", "web", "w2"]).ok();
    let gone = lab.run(&["source", "rename", "web", "w3", "-o", "json"]).exits(1).json();
    assert!(gone["refusals"][0]["hint"].as_str().unwrap().contains("its name is w2 now"), "{gone:#}");
    lab.run(&["source", "rename", "w2", "web"]).ok();
    let after = listed(&lab);
    assert_eq!((&after[1]["id"], &after[1]["name"]), (&before[1]["id"], &"web".into()));
    assert_eq!(after[1]["formerNames"], serde_json::json!(["web", "w2"]));
}

#[test]
fn a_plan_that_was_saved_before_a_rename_is_refused_after_it() {
    let (lab, repo) = lab();
    repo.remove("two.yaml");
    repo.commit("second");
    let out = lab.path().join("p.json");
    lab.run(&["plan", "--out", out.to_str().unwrap()]).ok();
    lab.run(&["source", "rename", "web", "web-v2"]).ok();
    let objects = lab.dump();
    lab.run(&["apply", out.to_str().unwrap()]).exits(1);
    lab.configure(&[repo.source("web-v2", SPEC)]);
    lab.run(&["apply", out.to_str().unwrap()]).exits(1);
    assert_eq!(lab.dump(), objects);
}
