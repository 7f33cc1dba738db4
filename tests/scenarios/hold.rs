//! Pauses and pins: who, why, until when; nothing of it needs the git host.

use serde_json::{Value, json};

use crate::lab::{Lab, Repo};

const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";

fn config(value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop}}\n---\napiVersion: v1\nkind: ConfigMap\n\
         metadata: {{name: a}}\ndata: {{v: \"{value}\"}}\n"
    )
}

fn shop() -> (Lab, Repo, String) {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("all.yaml", config("1"));
    let commit = repo.commit("first");
    lab.configure(&[repo.source("shop", SPEC)]);
    lab.apply(&[]);
    (lab, repo, commit)
}

fn newest(lab: &Lab) -> Value {
    lab.run(&["history", "--limit", "1", "-o", "json"]).ok().json()["entries"][0].clone()
}

#[test]
fn a_pause_says_who_why_and_until_when_and_so_does_the_history() {
    let (lab, _, _) = shop();
    let pause = ["source", "pause", "shop", "--reason", "incident 7", "--until", "2h", "--as", "ada", "-o", "json"];
    let said = lab.run(&pause).ok().json();
    assert_eq!(said["paused"]["by"], json!({"proven": "lab", "claimed": "ada"}));
    assert_eq!(said["paused"]["reason"], "incident 7");
    assert!(said["paused"]["until"].as_str().unwrap() > said["paused"]["at"].as_str().unwrap());
    let entry = newest(&lab);
    assert_eq!((&entry["operation"], &entry["actor"]), (&json!("pause"), &json!("lab (claims to be ada)")));
    assert_eq!(entry["sources"], json!(["shop"]));
    let details = lab.run(&["history", "show", entry["id"].as_str().unwrap(), "-o", "json"]).ok().json();
    assert_eq!(details["details"]["reason"], "incident 7");
    let said = lab.run(&["source", "resume", "shop", "-o", "json"]).ok().json();
    assert_eq!(said["paused"], Value::Null);
    assert_eq!(newest(&lab)["operation"], "resume");
    let again = lab.run(&["source", "resume", "shop"]).ok();
    assert!(again.stdout.contains("not paused"), "{again:?}");
}

#[test]
fn a_reason_is_asked_for_and_a_time_must_be_one() {
    let (lab, _, _) = shop();
    for wrong in [
        &["source", "pause", "shop"][..],
        &["source", "pause", "shop", "--reason", " "],
        &["source", "pause", "shop", "--reason", "x", "--until", "tomorrow"],
        &["source", "pause", "shop", "--reason", "x", "--until", "2001-01-01T00:00:00Z"],
        &["source", "pause", "shop", "--reason", "x", "--as", " "],
        &["source", "pause", "shop", "--reason", "x", "--as", &"x".repeat(257)],
        &["source", "pin", "shop"],
        &["source", "pin", "shop", "--reason", "x", "main"],
    ] {
        lab.run(wrong).exits(2);
    }
    lab.run(&["source", "pause", "shopp", "--reason", "x"]).exits(1);
    assert_eq!(newest(&lab)["operation"], "apply", "nothing of it was written");
}

#[test]
fn pauses_and_pins_need_no_git_host() {
    let (lab, repo, commit) = shop();
    repo.write("all.yaml", config("2"));
    let second = repo.commit("second");
    std::fs::rename(&repo.folder, lab.path().join("away")).unwrap();
    lab.run(&["source", "pause", "shop", "--reason", "the git host is down"]).ok();
    let said = lab.run(&["source", "pin", "shop", "--reason", "the same", "-o", "json"]).ok().json();
    assert_eq!(said["pinned"]["commit"], json!(commit));
    lab.run(&["source", "pin", "shop", &commit, "--reason", "the same"]).ok();
    let unknown = lab.run(&["source", "pin", "shop", &second, "--reason", "nobody has seen it"]).exits(1);
    assert!(unknown.stderr.contains("repository"), "{unknown:?}");
    lab.run(&["source", "unpin", "shop"]).ok();
    lab.run(&["source", "resume", "shop"]).ok();
    let operations: Vec<Value> = lab.run(&["history", "-o", "json"]).ok().json()["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["operation"].clone())
        .collect();
    assert_eq!(operations[..5], [json!("resume"), json!("unpin"), json!("pin"), json!("pin"), json!("pause")]);
}
