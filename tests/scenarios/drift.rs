//! What differs from the last applied commit is told with fields, who and since when; telling it never writes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::lab::{Lab, Repo, id};

pub const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";

pub const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: registry.example/web:1}
";

/// A Source `shop` that was applied: a Namespace, a Deployment, a ConfigMap and a Secret.
pub fn shop(spec: &str) -> (Lab, Repo, String) {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("deploy/namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    repo.write("deploy/web.yaml", WEB);
    repo.write("deploy/conf.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: '1', b: '2'}\n");
    repo.write("deploy/key.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {pass: hunter2}\n");
    let commit = repo.commit("first");
    lab.configure(&[repo.source("shop", &format!("  path: deploy\n{SPEC}\n{spec}"))]);
    lab.apply(&[]);
    (lab, repo, commit)
}

/// Changes one field of a live object by hand.
#[track_caller]
pub fn set(lab: &Lab, actor: &str, object: &str, pointer: &str, value: Value) {
    lab.by_hand(actor, object, |live| *live.pointer_mut(pointer).unwrap() = value);
}

#[track_caller]
pub fn drift(lab: &Lab) -> Value {
    let document = lab.run(&["drift", "-o", "json"]).ok().json();
    assert_eq!(document["formatVersion"], 1);
    document["sources"][0].clone()
}

#[track_caller]
pub fn status(lab: &Lab) -> Value {
    lab.run(&["status", "-o", "json"]).ok().json()["sources"][0].clone()
}

/// `path state` or `id state` of everything that drifted.
pub fn drifted(source: &Value) -> Vec<String> {
    let all = source["drifted"].as_array().unwrap().iter();
    all.flat_map(|object| {
        let of = id(&object["id"]);
        let fields = object["fields"].as_array().unwrap();
        if fields.is_empty() {
            return vec![format!("{of} {}", object["state"].as_str().unwrap())];
        }
        fields.iter().map(|field| format!("{of}{}", field["path"].as_str().unwrap())).collect()
    })
    .collect()
}

fn object<'s>(source: &'s Value, resource: &str) -> &'s Value {
    let all = source["objects"].as_array().unwrap();
    all.iter().find(|object| id(&object["id"]) == resource).unwrap()
}

#[test]
fn drift_names_field_values_who_since_when_and_the_applied_commit() {
    let (lab, _repo, commit) = shop("");
    assert_eq!(drifted(&drift(&lab)), Vec::<String>::new());
    lab.run(&["drift", "--exit-code"]).ok();
    lab.run(&["status", "--exit-code"]).ok();

    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    let found = drift(&lab);
    assert_eq!(drifted(&found), ["Deployment.apps/shop/web/spec/replicas"]);
    assert_eq!(found["appliedCommit"], commit.as_str());
    let field = &found["drifted"][0]["fields"][0];
    assert_eq!((&field["declared"], &field["live"]), (&json!(2), &json!(5)));
    assert_eq!(field["who"], json!({"name": "ada", "proven": false}), "--as is a claim");
    assert_eq!(field["origin"], "manual");
    assert_eq!(field["times"], 1);
    assert!(field["since"].as_str().unwrap().ends_with('Z'), "{field}");

    let table = lab.run(&["drift"]).ok().stdout;
    for text in ["Deployment.apps/shop/web", "/spec/replicas", "claims to be ada", "manual", &commit[..10]] {
        assert!(table.contains(text), "{text} is missing:\n{table}");
    }
    lab.run(&["drift", "--exit-code"]).exits(3);
    lab.run(&["status", "--exit-code"]).exits(3);
}

#[test]
fn who_writes_without_saying_so_is_proven_by_the_operation_log() {
    let (lab, _repo, _) = shop("");
    let mut live = lab.live("ConfigMap/shop/conf").unwrap();
    live["data"]["a"] = json!("9");
    let file = lab.path().join("by-hand.yaml");
    fs::write(&file, live.to_string()).unwrap();
    lab.run(&["object", "put", file.to_str().unwrap()]).ok();
    assert_eq!(drift(&lab)["drifted"][0]["fields"][0]["who"], json!({"name": "lab", "proven": true}));
}

#[test]
fn equal_in_meaning_is_no_drift_and_neither_is_what_nobody_declared() {
    let (lab, _repo, _) = shop("");
    lab.by_hand("ada", "Deployment.apps/shop/web", |live| {
        live["spec"]["paused"] = json!(false);
        live["metadata"]["labels"] = json!({"team": "x"});
        live["spec"]["template"]["spec"]["nodeSelector"] = json!({});
    });
    assert_eq!(drifted(&drift(&lab)), Vec::<String>::new());
}

#[test]
fn objects_deleted_made_again_unmarked_and_taken_over_are_told_apart() {
    let (lab, _repo, _) = shop("");
    lab.run(&["object", "delete", "ConfigMap/shop/conf", "--as", "bob"]).ok();
    let found = drift(&lab);
    assert_eq!(drifted(&found), ["ConfigMap/shop/conf missing"]);
    assert_eq!(found["drifted"][0]["who"]["name"], "bob");

    lab.put(
        "eve",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf, namespace: shop}\ndata: {a: '1', b: '2'}\n",
    );
    let found = drift(&lab);
    assert_eq!(drifted(&found), ["ConfigMap/shop/conf recreated"]);
    assert_eq!(found["drifted"][0]["who"]["name"], "eve");

    let mut live = lab.live("Deployment.apps/shop/web").unwrap();
    let annotations = live["metadata"]["annotations"].as_object_mut().unwrap();
    let mark = annotations.remove("holdfast.dev/owner").unwrap();
    lab.put("mallory", &live.to_string());
    let found = drift(&lab);
    assert_eq!(drifted(&found)[1..], ["Deployment.apps/shop/web mark-removed"]);
    assert_eq!(found["drifted"][1]["who"]["name"], "mallory");

    let other = mark.as_str().unwrap().split_once(' ').unwrap().1;
    live["metadata"]["annotations"] =
        json!({"holdfast.dev/owner": format!("11111111-1111-5111-8111-111111111111 {other}")});
    live["metadata"]["resourceVersion"] = Value::Null;
    lab.put("mallory", &live.to_string());
    assert_eq!(drifted(&drift(&lab))[1..], ["Deployment.apps/shop/web taken-over"]);

    let seen = status(&lab);
    assert_eq!(object(&seen, "Deployment.apps/shop/web")["synced"]["reason"], "TakenOver");
    assert_eq!(object(&seen, "ConfigMap/shop/conf")["synced"]["reason"], "Recreated");
}

#[test]
fn sensitive_values_are_in_no_drift_and_no_status() {
    let (lab, _repo, _) = shop("");
    set(&lab, "ada", "Secret/shop/key", "/data/pass", json!("Y29ycmVjdC1ob3JzZQ=="));
    assert_eq!(drifted(&drift(&lab)), ["Secret/shop/key/data/pass"]);
    for args in [
        &["drift"][..],
        &["drift", "-o", "json"],
        &["drift", "-o", "yaml"],
        &["status", "-v"],
        &["status", "-o", "json"],
    ] {
        let said = lab.run(args).ok().all();
        for text in ["hunter2", "aHVudGVyMg", "Y29ycmVjdC1ob3JzZQ", "correct-horse"] {
            assert!(!said.contains(text), "{args:?} shows {text}:\n{said}");
        }
    }
}

#[test]
fn additions_in_pod_templates_and_access_rights_are_reported_apart_and_are_no_drift() {
    let (lab, _repo, _) = shop("");
    lab.by_hand("injector", "Deployment.apps/shop/web", |live| {
        live["spec"]["template"]["spec"]["containers"]
            .as_array_mut()
            .unwrap()
            .push(json!({"name": "proxy", "image": "registry.example/proxy:1"}));
        live["metadata"]["labels"] = json!({"seen": "yes"});
    });
    let found = drift(&lab);
    assert_eq!(drifted(&found), Vec::<String>::new());
    let added = found["added"].as_array().unwrap();
    assert_eq!(added.len(), 1, "labels of the object itself don't matter: {added:?}");
    assert_eq!(added[0]["path"], "/spec/template/spec/containers/1");
    assert_eq!(added[0]["who"]["name"], "injector");
    assert!(lab.run(&["drift"]).ok().stdout.contains("no drift, not reverted"));
    lab.run(&["drift", "--exit-code"]).ok();
    assert_eq!(lab.run(&["repair", "--yes", "-o", "json"]).ok().json()["writes"], 0);
}

#[test]
fn what_ignore_drift_names_is_left_alone_by_pointer_and_by_manager() {
    let by_pointer = "  ignoreDrift: [{kind: Deployment.apps, name: we*, pointers: [/spec/replicas]}]";
    let (lab, _repo, _) = shop(by_pointer);
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    assert_eq!(drifted(&drift(&lab)), Vec::<String>::new());

    let by_manager = "  ignoreDrift: [{kind: Deployment.apps, pointers: [/spec/replicas], manager: scaler}]";
    let (lab, _repo, _) = shop(by_manager);
    set(&lab, "scaler", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    assert_eq!(drifted(&drift(&lab)), Vec::<String>::new());
    assert_eq!(status(&lab)["synced"]["status"], "True");
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(6));
    assert_eq!(drifted(&drift(&lab)), ["Deployment.apps/shop/web/spec/replicas"], "another hand is drift");
}

#[test]
fn a_field_repaired_three_times_in_ten_minutes_is_contested_and_says_by_whom() {
    let (lab, _repo, _) = shop("");
    for replicas in [3, 4, 5] {
        set(&lab, "scaler", "Deployment.apps/shop/web", "/spec/replicas", json!(replicas));
        assert_eq!(drift(&lab)["drifted"][0]["fields"][0]["contested"], Value::Null);
        lab.run(&["repair", "--yes"]).ok();
    }
    set(&lab, "scaler", "Deployment.apps/shop/web", "/spec/replicas", json!(6));
    let field = &drift(&lab)["drifted"][0]["fields"][0];
    assert_eq!(field["contested"]["by"], json!(["scaler"]));
    assert_eq!(field["times"], 4);
    assert_eq!(field["recurring"], true, "so often, git is probably wrong");
    assert_eq!(status(&lab)["synced"]["reason"], "Contested");
    let table = lab.run(&["drift"]).ok().stdout;
    assert!(table.contains("Contested by scaler") && table.contains("drifted 4 times: git may be wrong"), "{table}");
}

#[test]
fn while_the_applied_commit_cannot_be_read_synced_is_unknown_and_never_yes() {
    let (lab, repo, _) = shop("");
    fs::remove_dir_all(lab.path().join("cache")).unwrap();
    fs::rename(&repo.folder, lab.path().join("away")).unwrap();
    let seen = status(&lab);
    assert_eq!(seen["synced"]["status"], "Unknown", "{seen:#}");
    assert_eq!(seen["synced"]["reason"], "CommitUnreadable");
    assert_eq!(object(&seen, "ConfigMap/shop/conf")["synced"]["status"], "Unknown");
    assert_eq!(object(&seen, "ConfigMap/shop/conf")["healthy"]["status"], "True", "health needs no commit");
    lab.run(&["drift", "--exit-code"]).exits(3);
    assert!(drift(&lab)["error"]["text"].is_string());
}

#[test]
fn status_and_drift_work_while_the_git_host_is_down() {
    let (lab, repo, commit) = shop("");
    fs::rename(&repo.folder, lab.path().join("away")).unwrap();
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    assert_eq!(drifted(&drift(&lab)), ["Deployment.apps/shop/web/spec/replicas"]);
    let seen = status(&lab);
    assert_eq!((&seen["appliedCommit"], &seen["seenCommit"]), (&json!(commit), &json!(commit)));
    assert_eq!(seen["synced"]["reason"], "Drifted");
    let receipt = lab.run(&["repair", "shop", "--yes", "-o", "json"]).ok().json();
    assert_eq!(receipt["writes"], 1, "the way back needs no git host either");
    assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 2);
}

#[test]
fn drift_and_status_leave_every_byte_of_a_writable_target_too() {
    let (lab, _repo, _) = shop("");
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    let before = fs::read(lab.database()).unwrap();
    lab.run(&["drift"]).ok();
    lab.run(&["status"]).ok();
    assert_eq!(fs::read(lab.database()).unwrap(), before);
    let mut permissions = fs::metadata(lab.database()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(lab.database(), permissions).unwrap();
    lab.run(&["drift", "--exit-code"]).exits(3);
    lab.run(&["status", "--exit-code"]).exits(3);
    assert_eq!(fs::read(lab.database()).unwrap(), before);
}

#[test]
fn todays_stricter_rules_hide_no_drift() {
    let (lab, repo, _) = shop("");
    let strict = "  path: deploy\n  namespaces: [shop]\n  kinds: {deny: [Deployment.apps]}\n  policies: [{rule: image-digest, effect: deny}]";
    lab.configure(&[repo.source("shop", strict)]);
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    assert_eq!(drifted(&drift(&lab)), ["Deployment.apps/shop/web/spec/replicas"]);
}

#[test]
fn a_new_commit_and_a_source_never_applied_are_not_synced() {
    let (lab, repo, first) = shop("");
    repo.write("deploy/conf.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: '3'}\n");
    let second = repo.commit("second");
    assert_eq!(status(&lab)["seenCommit"], first.as_str(), "status fetches nothing");
    lab.plan(&[]);
    let seen = status(&lab);
    assert_eq!((&seen["seenCommit"], &seen["appliedCommit"]), (&json!(second), &json!(first)));
    assert_eq!((&seen["synced"]["status"], &seen["synced"]["reason"]), (&json!("False"), &json!("NewCommit")));
    assert_eq!(drifted(&drift(&lab)), Vec::<String>::new(), "a commit that isn't applied is no drift");

    let spec = format!("  path: deploy\n{SPEC}");
    lab.configure(&[repo.source("shop", &spec), repo.source("late", &spec)]);
    let late = lab.run(&["status", "late", "-o", "json"]).ok().json()["sources"][0].clone();
    assert_eq!(late["synced"]["reason"], "NeverApplied");
    lab.run(&["repair", "late", "--yes"]).exits(1);
}

#[test]
fn sources_and_ids_choose_what_is_shown() {
    let (lab, _repo, _) = shop("");
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    set(&lab, "ada", "ConfigMap/shop/conf", "/data/a", json!("5"));
    let only = lab.run(&["drift", "ConfigMap/shop/conf", "-o", "json"]).ok().json();
    assert_eq!(drifted(&only["sources"][0]), ["ConfigMap/shop/conf/data/a"]);
    lab.run(&["drift", "Secret/shop/key", "--exit-code"]).ok();
    lab.run(&["status", "Secret/shop/key", "--exit-code"]).ok();
    lab.run(&["status", "ConfigMap/shop/conf", "--exit-code"]).exits(3);
    assert!(lab.run(&["drift", "ConfigMap/shop/nothing"]).exits(1).stderr.contains("ConfigMap/shop/nothing"));
    assert!(lab.run(&["drift", "nobody"]).exits(1).stderr.contains("nobody"));
    let all = lab.run(&["drift", "shop", "-o", "json"]).ok().json();
    assert_eq!(drifted(&all["sources"][0]).len(), 2);
}

#[test]
fn watch_shows_again_after_a_change_and_ends_on_a_signal() {
    let (lab, _repo, _) = shop("");
    let mut command = lab.command(&["drift", "--watch", "--interval", "20ms", "-o", "json", "--exit-code"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["sources"][0].clone();
    assert_eq!(drifted(&next()), Vec::<String>::new());
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    assert_eq!(drifted(&next()), ["Deployment.apps/shop/web/spec/replicas"]);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(3), "what was shown last was drift");
}
