//! Synced and Healthy answer two questions, and none of the two says anything about the other.

use serde_json::{Value, json};

use crate::drift::{set, shop, status};
use crate::lab::{Lab, id};

/// What a controller would write of a Deployment with two replicas.
fn deployment_status(ready: i64) -> Value {
    let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": ready,
           "availableReplicas": ready, "conditions": [condition("Available", "MinimumReplicasAvailable"),
           condition("Progressing", "NewReplicaSetAvailable")]})
}

fn report(lab: &Lab, value: Value) {
    let mut live = lab.live("Deployment.apps/shop/web").unwrap();
    live["status"] = value;
    if let Some(generation) = live["metadata"]["generation"].as_i64() {
        live["status"]["observedGeneration"] = json!(generation);
    }
    lab.put("deployment-controller", &live.to_string());
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
