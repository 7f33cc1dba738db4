use serde_json::{Value, json};

use super::*;

fn judged(object: Value) -> (State, String) {
    let found = health(&object);
    (found.state, found.reason)
}

fn of(kind: &str, spec: Value, status: Value) -> (State, String) {
    let group = match kind {
        "Job" => "batch/v1",
        "Pod" | "Service" | "PersistentVolumeClaim" => "v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        _ => "apps/v1",
    };
    judged(json!({"apiVersion": group, "kind": kind, "spec": spec, "status": status, "metadata": {"generation": 2}}))
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

#[track_caller]
fn is(found: (State, String), state: State, reason: &str) {
    assert_eq!(found, (state, reason.to_owned()));
}

#[test]
fn an_object_that_nobody_writes_a_status_of_is_current() {
    is(judged(json!({"apiVersion": "v1", "kind": "ConfigMap"})), State::Current, "Current");
    is(
        judged(json!({"apiVersion": "x.io/v1", "kind": "Thing", "status": {"phase": "odd"}})),
        State::Current,
        "Current",
    );
}

#[test]
fn what_holds_for_every_kind_comes_first() {
    let with = |metadata: Value, status: Value| {
        judged(json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": metadata, "status": status}))
    };
    is(with(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), json!({})), State::Terminating, "Terminating");
    let older = json!({"observedGeneration": 1, "conditions": [condition("Ready", "True", "")]});
    is(with(json!({"generation": 2}), older), State::InProgress, "LatestGenerationNotObserved");
    let conditions = |list: Value| json!({ "conditions": list });
    let reconciling = conditions(json!([condition("Reconciling", "True", "Rolling"), condition("Ready", "True", "")]));
    is(with(json!({}), reconciling), State::InProgress, "Rolling");
    is(with(json!({}), conditions(json!([condition("Stalled", "True", "")]))), State::Failed, "Stalled");
    is(with(json!({}), conditions(json!([condition("Ready", "False", "Waits")]))), State::InProgress, "Waits");
    is(with(json!({}), conditions(json!([condition("Ready", "True", "")]))), State::Current, "Current");
}

#[test]
fn a_condition_says_since_when() {
    let object =
        json!({"apiVersion": "x.io/v1", "kind": "T", "status": {"conditions": [condition("Ready", "True", "")]}});
    assert_eq!(health(&object).since.unwrap().rfc3339(), "2026-01-01T00:00:00Z");
}

#[test]
fn a_deployment_is_current_when_all_of_it_is_updated_ready_and_available() {
    let status = |replicas: i64, updated: i64, ready: i64, available: i64, conditions: Value| {
        let status = json!({"observedGeneration": 2, "replicas": replicas, "updatedReplicas": updated,
            "readyReplicas": ready, "availableReplicas": available, "conditions": conditions});
        of("Deployment", json!({"replicas": 2}), status)
    };
    let good =
        || json!([condition("Progressing", "True", "NewReplicaSetAvailable"), condition("Available", "True", "")]);
    is(status(2, 2, 2, 2, good()), State::Current, "Current");
    is(status(1, 1, 1, 1, good()), State::InProgress, "LessReplicas");
    is(status(2, 1, 2, 2, good()), State::InProgress, "LessUpdated");
    is(status(3, 2, 2, 2, good()), State::InProgress, "ExtraPods");
    is(status(2, 2, 2, 1, good()), State::InProgress, "LessAvailable");
    is(status(2, 2, 1, 2, good()), State::InProgress, "LessReady");
    let rolling = json!([condition("Progressing", "True", "ReplicaSetUpdated"), condition("Available", "True", "")]);
    is(status(2, 2, 2, 2, rolling), State::InProgress, "ReplicaSetNotAvailable");
    let unavailable = json!([condition("Progressing", "True", "NewReplicaSetAvailable")]);
    is(status(2, 2, 2, 2, unavailable), State::InProgress, "DeploymentNotAvailable");
    let late = json!([condition("Progressing", "False", "ProgressDeadlineExceeded")]);
    is(status(2, 1, 1, 1, late), State::Failed, "ProgressDeadlineExceeded");
    let no_deadline = json!({"replicas": 0, "progressDeadlineSeconds": i32::MAX});
    is(
        of("Deployment", no_deadline, json!({"conditions": [condition("Available", "True", "")]})),
        State::Current,
        "Current",
    );
}

#[test]
fn a_stateful_set_follows_its_strategy() {
    let status = json!({"replicas": 3, "readyReplicas": 3, "currentReplicas": 3, "updatedReplicas": 1,
        "currentRevision": "a", "updateRevision": "a"});
    is(of("StatefulSet", json!({"replicas": 3}), status.clone()), State::Current, "Current");
    is(of("StatefulSet", json!({"replicas": 4}), status.clone()), State::InProgress, "LessReplicas");
    is(of("StatefulSet", json!({"replicas": 2}), status.clone()), State::InProgress, "ExtraPods");
    let partition = |n: i64| json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": n}}});
    is(of("StatefulSet", partition(2), status.clone()), State::Current, "Current");
    is(of("StatefulSet", partition(1), status.clone()), State::InProgress, "PartitionRollout");
    let mut rolling = status;
    rolling["updateRevision"] = json!("b");
    is(of("StatefulSet", json!({"replicas": 3}), rolling), State::InProgress, "RollingUpdate");
    is(of("StatefulSet", json!({"updateStrategy": {"type": "OnDelete"}}), json!({})), State::Current, "Current");
}

#[test]
fn replica_sets_and_daemon_sets_count_their_pods() {
    let good = json!({"replicas": 1, "fullyLabeledReplicas": 1, "availableReplicas": 1, "readyReplicas": 1});
    is(of("ReplicaSet", json!({}), good.clone()), State::Current, "Current");
    is(of("ReplicaSet", json!({"replicas": 2}), good), State::InProgress, "LessLabelled");
    let failure = json!({"conditions": [condition("ReplicaFailure", "True", "FailedCreate")]});
    is(of("ReplicaSet", json!({}), failure), State::InProgress, "ReplicaFailure");
    is(of("DaemonSet", json!({}), json!({})), State::InProgress, "NoDesiredNumber");
    let daemons = |ready: i64| {
        json!({"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "updatedNumberScheduled": 2,
               "numberAvailable": 2, "numberReady": ready})
    };
    is(of("DaemonSet", json!({}), daemons(1)), State::InProgress, "LessReady");
    is(of("DaemonSet", json!({}), daemons(2)), State::Current, "Current");
}

#[test]
fn a_job_that_runs_is_current_and_one_that_failed_is_not() {
    is(of("Job", json!({}), json!({})), State::InProgress, "JobNotStarted");
    is(of("Job", json!({}), json!({"startTime": "x", "active": 1})), State::Current, "Current");
    is(of("Job", json!({}), json!({"conditions": [condition("Complete", "True", "")]})), State::Current, "Current");
    is(
        of("Job", json!({}), json!({"conditions": [condition("Failed", "True", "Backoff")]})),
        State::Failed,
        "JobFailed",
    );
}

#[test]
fn pods_claims_services_and_definitions_have_rules_of_their_own() {
    is(
        of("Pod", json!({}), json!({"phase": "Running", "conditions": [condition("Ready", "True", "")]})),
        State::Current,
        "Current",
    );
    is(of("Pod", json!({}), json!({"phase": "Running"})), State::InProgress, "PodRunningNotReady");
    let crash = json!({"phase": "Running", "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]});
    is(of("Pod", json!({}), crash), State::Failed, "ContainerCrashLooping");
    let full = json!({"phase": "Pending", "conditions": [condition("PodScheduled", "False", "Unschedulable")]});
    is(of("Pod", json!({}), full), State::Failed, "PodUnschedulable");
    is(of("PersistentVolumeClaim", json!({}), json!({"phase": "Bound"})), State::Current, "Current");
    is(of("PersistentVolumeClaim", json!({}), json!({})), State::InProgress, "NotBound");
    is(of("Service", json!({}), json!({})), State::Current, "Current");
    is(of("Service", json!({"type": "LoadBalancer"}), json!({})), State::InProgress, "NoAddress");
    let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
    is(of("Service", json!({"type": "LoadBalancer"}), address), State::Current, "Current");
    let crd = |list: Value| of("CustomResourceDefinition", json!({}), json!({ "conditions": list }));
    is(crd(json!([condition("Established", "True", "")])), State::Current, "Current");
    is(crd(json!([condition("Established", "False", "Installing")])), State::InProgress, "Installing");
    is(crd(json!([condition("NamesAccepted", "False", "Conflict")])), State::Failed, "Conflict");
    is(crd(json!([])), State::InProgress, "Installing");
}
