//! Deployments, StatefulSets, DaemonSets, ReplicaSets and Jobs.

use serde_json::Value;

use super::{Health, conditions, number};

/// Judges a Deployment.
pub(super) fn deployment(object: &Value) -> Health {
    let all = conditions(object);
    let progressing = all.iter().find(|c| c.kind == "Progressing");
    if let Some(late) = progressing.filter(|c| c.reason == "ProgressDeadlineExceeded") {
        return Health::failed(late.reason, "the progress deadline is exceeded").by(late);
    }
    let wanted = number(object, "/spec/replicas").unwrap_or(1);
    let of = |key: &str| number(object, &format!("/status/{key}")).unwrap_or(0);
    let (there, updated, ready, available) =
        (of("replicas"), of("updatedReplicas"), of("readyReplicas"), of("availableReplicas"));
    if wanted > there {
        return Health::progress("LessReplicas", format!("replicas: {there}/{wanted}"));
    }
    if wanted > updated {
        return Health::progress("LessUpdated", format!("updated: {updated}/{wanted}"));
    }
    if there > updated {
        return Health::progress("ExtraPods", format!("{} of an older revision still to end", there - updated));
    }
    if updated > available {
        return Health::progress("LessAvailable", format!("available: {available}/{updated}"));
    }
    if wanted > ready {
        return Health::progress("LessReady", format!("ready: {ready}/{wanted}"));
    }
    // Without a deadline the controller says nothing of progress.
    let has_deadline = number(object, "/spec/progressDeadlineSeconds") != Some(i64::from(i32::MAX));
    let rolled_out = |c: &&super::Condition<'_>| c.status == "True" && c.reason == "NewReplicaSetAvailable";
    if has_deadline && progressing.filter(rolled_out).is_none() {
        return Health::progress("ReplicaSetNotAvailable", "the new ReplicaSet is not available");
    }
    match all.iter().find(|c| c.kind == "Available" && c.status == "True") {
        Some(available) => Health::current(format!("available, replicas: {there}")).by(available),
        None => Health::progress("DeploymentNotAvailable", "it is not available"),
    }
}

/// Judges a StatefulSet.
pub(super) fn stateful_set(object: &Value) -> Health {
    let strategy = object.pointer("/spec/updateStrategy/type").and_then(Value::as_str);
    if strategy == Some("OnDelete") {
        return Health::current("its pods are updated when they are deleted (OnDelete)");
    }
    let wanted = number(object, "/spec/replicas").unwrap_or(1);
    let of = |key: &str| number(object, &format!("/status/{key}")).unwrap_or(0);
    let (there, ready, current, updated) =
        (of("replicas"), of("readyReplicas"), of("currentReplicas"), of("updatedReplicas"));
    if wanted > there {
        return Health::progress("LessReplicas", format!("replicas: {there}/{wanted}"));
    }
    if wanted > ready {
        return Health::progress("LessReady", format!("ready: {ready}/{wanted}"));
    }
    if there > wanted {
        return Health::progress("ExtraPods", format!("{} still to end", there - wanted));
    }
    let partition = number(object, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0);
    if partition > 0 {
        return if updated < wanted - partition {
            let text = format!("updated: {updated}/{} of the partition", wanted - partition);
            Health::progress("PartitionRollout", text)
        } else {
            Health::current(format!("the partition is rolled out, updated: {updated}"))
        };
    }
    if wanted > current {
        return Health::progress("LessCurrent", format!("current: {current}/{wanted}"));
    }
    let revision = |key: &str| object.pointer(&format!("/status/{key}")).and_then(Value::as_str);
    if revision("currentRevision") != revision("updateRevision") {
        return Health::progress("RollingUpdate", "pods of an older revision are still to be replaced");
    }
    Health::current(format!("all replicas are ready: {there}"))
}

/// Judges a ReplicaSet or ReplicationController.
pub(super) fn replica_set(object: &Value) -> Health {
    if let Some(failure) = conditions(object).iter().find(|c| c.kind == "ReplicaFailure" && c.status == "True") {
        return Health::progress("ReplicaFailure", failure.message).by(failure);
    }
    let wanted = number(object, "/spec/replicas").unwrap_or(1);
    let of = |key: &str| number(object, &format!("/status/{key}")).unwrap_or(0);
    let (there, labelled, available, ready) =
        (of("replicas"), of("fullyLabeledReplicas"), of("availableReplicas"), of("readyReplicas"));
    if wanted > labelled {
        return Health::progress("LessLabelled", format!("labelled: {labelled}/{wanted}"));
    }
    if wanted > available {
        return Health::progress("LessAvailable", format!("available: {available}/{wanted}"));
    }
    if wanted > ready {
        return Health::progress("LessReady", format!("ready: {ready}/{wanted}"));
    }
    if there > wanted {
        return Health::progress("ExtraPods", format!("{} still to end", there - wanted));
    }
    Health::current(format!("all replicas are ready: {there}"))
}

/// Judges a DaemonSet.
pub(super) fn daemon_set(object: &Value) -> Health {
    let of = |key: &str| number(object, &format!("/status/{key}"));
    let Some(wanted) = of("desiredNumberScheduled") else {
        return Health::progress("NoDesiredNumber", "on how many nodes it has to run is not known yet");
    };
    let steps = [
        ("LessCurrent", "currentNumberScheduled"),
        ("LessUpdated", "updatedNumberScheduled"),
        ("LessAvailable", "numberAvailable"),
        ("LessReady", "numberReady"),
    ];
    for (reason, key) in steps {
        let found = of(key).unwrap_or(0);
        if wanted > found {
            return Health::progress(reason, format!("{key}: {found}/{wanted}"));
        }
    }
    Health::current(format!("all replicas are ready: {wanted}"))
}

/// Judges a Job. One that runs is as it should be.
pub(super) fn job(object: &Value) -> Health {
    let all = conditions(object);
    if let Some(failed) = all.iter().find(|c| c.kind == "Failed" && c.status == "True") {
        let why = if failed.message.is_empty() { failed.reason } else { failed.message };
        return Health::failed("JobFailed", format!("the Job failed: {why}")).by(failed);
    }
    let of = |key: &str| number(object, &format!("/status/{key}")).unwrap_or(0);
    if let Some(complete) = all.iter().find(|c| c.kind == "Complete" && c.status == "True") {
        return Health::current(format!("the Job is complete, succeeded: {}", of("succeeded"))).by(complete);
    }
    if object.pointer("/status/startTime").is_none() {
        return Health::progress("JobNotStarted", "the Job has not started");
    }
    let (succeeded, active, failed) = (of("succeeded"), of("active"), of("failed"));
    Health::current(format!("the Job runs, succeeded: {succeeded}, active: {active}, failed: {failed}"))
}
