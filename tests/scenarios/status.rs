//! Synced and Healthy answer two questions, and none of the two says anything about the other.

use serde_json::{Value, json};

use crate::drift::{drift, set, shop, status};
use crate::lab::{Lab, id};

/// What a controller would write of a Deployment with two replicas.
fn deployment_status(ready: i64) -> Value {
    let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": ready,
           "availableReplicas": ready, "conditions": [condition("Available", "MinimumReplicasAvailable"),
           condition("Progressing", "NewReplicaSetAvailable")]})
}

fn report(lab: &Lab, value: Value) {
    lab.by_hand("deployment-controller", "Deployment.apps/shop/web", |live| {
        live["status"] = value;
        if let Some(generation) = live["metadata"]["generation"].as_i64() {
            live["status"]["observedGeneration"] = json!(generation);
        }
    });
}

fn answers(source: &Value) -> (String, String) {
    let of = |key: &str| source[key]["status"].as_str().unwrap().to_owned();
    (of("synced"), of("healthy"))
}

fn is(source: &Value, synced: &str, healthy: &str) {
    assert_eq!(answers(source), (synced.to_owned(), healthy.to_owned()), "{source:#}");
}

#[test]
fn synced_and_healthy_come_in_all_four_combinations() {
    let (lab, _repo, commit) = shop("");
    report(&lab, deployment_status(2));
    let seen = status(&lab);
    is(&seen, "True", "True");
    assert_eq!((&seen["seenCommit"], &seen["appliedCommit"]), (&json!(commit), &json!(commit)));
    let target = lab.run(&["status", "-o", "json"]).ok().json()["target"].clone();
    assert!(target["version"].is_string() && target["identity"].is_string(), "{target}");

    let mut late = deployment_status(0);
    late["conditions"][1]["reason"] = json!("ProgressDeadlineExceeded");
    report(&lab, late.clone());
    let seen = status(&lab);
    is(&seen, "True", "False");
    assert_eq!(seen["healthy"]["reason"], "ProgressDeadlineExceeded");
    assert_eq!(seen["healthy"]["since"], "2026-01-01T00:00:00Z");

    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/template/spec/containers/0/image", json!("web:hot"));
    report(&lab, late);
    is(&status(&lab), "False", "False");

    report(&lab, deployment_status(2));
    let seen = status(&lab);
    is(&seen, "False", "True");
    assert_eq!(seen["synced"]["reason"], "Drifted");
    let web = seen["objects"].as_array().unwrap().iter().find(|o| id(&o["id"]) == "Deployment.apps/shop/web").unwrap();
    assert_eq!(answers(web), ("False".to_owned(), "True".to_owned()));
    assert!(web["version"].is_string() && web["uid"].is_string() && web["commit"] == commit.as_str(), "{web}");
}

#[test]
fn a_rollout_is_progressing_and_a_workload_without_status_is_unknown() {
    let (lab, _repo, _) = shop("");
    let seen = status(&lab);
    is(&seen, "True", "Unknown");
    assert_eq!(seen["healthy"]["reason"], "NoStatus", "the embedded control plane runs no controllers");
    report(&lab, deployment_status(1));
    let seen = status(&lab);
    is(&seen, "True", "Unknown");
    assert_eq!(seen["healthy"]["reason"], "Progressing");
    assert!(seen["healthy"]["message"].as_str().unwrap().contains("available: 1/2"), "{seen}");
    let table = lab.run(&["status"]).ok().stdout;
    assert!(
        table.contains("Unknown (Progressing)") && table.contains("3 objects are both Synced and Healthy"),
        "{table}"
    );
}

#[test]
fn a_status_written_by_a_controller_is_no_drift() {
    let (lab, _repo, _) = shop("");
    report(&lab, deployment_status(2));
    let said = lab.run(&["drift", "--exit-code"]).ok();
    assert!(said.stdout.contains("no drift"), "{said:?}");
}

#[test]
fn drift_is_seen_while_paused_and_what_was_written_then_is_an_emergency_that_waits_for_a_person() {
    let (lab, _repo, _) = shop("");
    set(&lab, "ada", "ConfigMap/shop/conf", "/data/a", json!("before"));
    lab.run(&["source", "pause", "shop", "--reason", "incident 7", "--as", "carol"]).ok();
    set(&lab, "bob", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    lab.run(&["object", "delete", "Secret/shop/key", "--as", "bob"]).ok();
    let origins = || -> Vec<(String, String)> {
        let found = drift(&lab);
        let all = found["drifted"].as_array().unwrap().iter();
        all.map(|d| (id(&d["id"]), d["origin"].as_str().unwrap().to_owned())).collect()
    };
    let expected = [
        ("ConfigMap/shop/conf".to_owned(), "manual".to_owned()),
        ("Secret/shop/key".to_owned(), "emergency".to_owned()),
        ("Deployment.apps/shop/web".to_owned(), "emergency".to_owned()),
    ];
    assert_eq!(origins(), expected);
    let seen = status(&lab);
    assert_eq!(seen["paused"]["by"], json!({"proven": "lab", "claimed": "carol"}));
    assert_eq!(seen["synced"]["reason"], "EmergencyPending");
    assert!(lab.run(&["status"]).ok().stdout.contains("incident 7"));

    lab.run(&["source", "resume", "shop"]).ok();
    assert_eq!(origins(), expected, "the end of a pause changes nothing");
    let seen = status(&lab);
    assert_eq!((&seen["paused"], &seen["synced"]["reason"]), (&Value::Null, &json!("EmergencyPending")));
    lab.run(&["repair", "--yes"]).ok();
    assert_eq!(lab.live("ConfigMap/shop/conf").unwrap()["data"]["a"], "1", "the manual change is reverted");
    assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 5, "the emergency change isn't");
    assert_eq!(lab.live("Secret/shop/key"), None);
    assert_eq!(origins(), expected[1..]);

    lab.run(&["source", "resume", "shop", "--revert"]).ok();
    assert_eq!(status(&lab)["synced"]["reason"], "Drifted");
    lab.run(&["repair", "--yes"]).ok();
    assert_eq!(status(&lab)["synced"]["status"], "True");
}

#[test]
fn a_pinned_source_is_synced_with_its_pin_and_not_with_the_newest_commit() {
    let (lab, repo, first) = shop("");
    lab.run(&["source", "pin", "shop", "--reason", "until the fix is in"]).ok();
    repo.write("deploy/conf.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: '3'}\n");
    let second = repo.commit("second");
    lab.plan(&["--ref", "main"]);
    let seen = status(&lab);
    assert_eq!((&seen["seenCommit"], &seen["pinned"]["commit"]), (&json!(second), &json!(first)));
    assert_eq!(seen["synced"]["status"], "True", "{seen:#}");
    assert!(seen["synced"]["message"].as_str().unwrap().contains("pinned"));
    lab.run(&["source", "unpin", "shop"]).ok();
    assert_eq!(status(&lab)["synced"]["reason"], "NewCommit");
}

#[test]
fn a_new_commit_that_was_refused_is_named_with_its_rule() {
    let (lab, repo, first) = shop("");
    repo.write("deploy/conf.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndatta: {a: '3'}\n");
    let second = repo.commit("second");
    lab.run(&["apply", "--yes"]).exits(1);
    let seen = status(&lab);
    assert_eq!((&seen["appliedCommit"], &seen["refused"]["commit"]), (&json!(first), &json!(second)));
    assert_eq!((&seen["synced"]["status"], &seen["synced"]["reason"]), (&json!("False"), &json!("Refused")));
    assert!(seen["synced"]["message"].as_str().unwrap().contains("unknown-field"), "{seen:#}");
}
