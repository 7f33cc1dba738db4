//! Health of a live object, by the rules of kstatus (cli-utils): one answer from whatever status an object has.
//!
//! First what holds for every kind: a deletion that waits, a generation that nobody observed yet, the conditions
//! `Reconciling` and `Stalled`. Then the kind's own rule, else the condition `Ready`. An object that has nothing of this is
//! as it should be: where no status is written, none is waited for.

mod others;
mod pods;
#[cfg(test)]
mod tests;
mod workloads;

use serde_json::Value;

use crate::base::clock::Moment;

/// What an object comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It is as it should be.
    Current,
    /// It is on its way.
    InProgress,
    /// It is being deleted.
    Terminating,
    /// It will not get there by itself.
    Failed,
}

/// The health of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What it comes to.
    pub state: State,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence; outside text may stand in it.
    pub message: String,
    /// Since when, where a condition says so.
    pub since: Option<Moment>,
}

impl Health {
    fn new(state: State, reason: &str, message: impl Into<String>) -> Self {
        Self { state, reason: reason.to_owned(), message: message.into(), since: None }
    }

    fn current(message: impl Into<String>) -> Self {
        Self::new(State::Current, "Current", message)
    }

    fn progress(reason: &str, message: impl Into<String>) -> Self {
        Self::new(State::InProgress, reason, message)
    }

    fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self::new(State::Failed, reason, message)
    }

    fn by(mut self, condition: &Condition<'_>) -> Self {
        self.since = condition.since;
        self
    }
}

/// Judges a live object.
pub fn health(object: &Value) -> Health {
    general(object).unwrap_or_else(|| {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        match (group, text("kind")) {
            ("apps", "Deployment") => workloads::deployment(object),
            ("apps", "StatefulSet") => workloads::stateful_set(object),
            ("apps", "DaemonSet") => workloads::daemon_set(object),
            ("apps", "ReplicaSet") | ("", "ReplicationController") => workloads::replica_set(object),
            ("batch", "Job") => workloads::job(object),
            ("", "Pod") => pods::pod(object),
            ("", "PersistentVolumeClaim") => others::claim(object),
            ("", "Service") => others::service(object),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => others::definition(object),
            _ => ready(object),
        }
    })
}

/// What holds for every kind.
fn general(object: &Value) -> Option<Health> {
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return Some(Health::new(State::Terminating, "Terminating", "it is being deleted"));
    }
    let observed = number(object, "/status/observedGeneration");
    if let (Some(observed), Some(generation)) = (observed, number(object, "/metadata/generation"))
        && observed != generation
    {
        let text = format!("generation {generation} is not observed yet, the last one is {observed}");
        return Some(Health::progress("LatestGenerationNotObserved", text));
    }
    let all = conditions(object);
    if let Some(found) = all.iter().find(|c| c.kind == "Reconciling" && c.status == "True") {
        return Some(Health::progress(found.reason_or("Reconciling"), found.message).by(found));
    }
    let stalled = all.iter().find(|c| c.kind == "Stalled" && c.status == "True")?;
    Some(Health::failed(stalled.reason_or("Stalled"), stalled.message).by(stalled))
}

/// The rule for kinds without one of their own.
fn ready(object: &Value) -> Health {
    let all = conditions(object);
    let Some(ready) = all.iter().find(|condition| condition.kind == "Ready") else {
        return Health::current("it is there");
    };
    match ready.status {
        "True" => Health::current("it is ready").by(ready),
        _ => Health::progress(ready.reason_or("NotReady"), ready.message).by(ready),
    }
}

/// One entry of `status.conditions`.
struct Condition<'a> {
    kind: &'a str,
    status: &'a str,
    reason: &'a str,
    message: &'a str,
    since: Option<Moment>,
}

impl Condition<'_> {
    fn reason_or<'s>(&'s self, other: &'s str) -> &'s str {
        if self.reason.is_empty() { other } else { self.reason }
    }
}

fn conditions(object: &Value) -> Vec<Condition<'_>> {
    let list = object.pointer("/status/conditions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter()
        .map(|entry| Condition {
            kind: text(entry, "type"),
            status: text(entry, "status"),
            reason: text(entry, "reason"),
            message: text(entry, "message"),
            since: Moment::parse(text(entry, "lastTransitionTime")),
        })
        .collect()
}

fn text<'e>(entry: &'e Value, key: &str) -> &'e str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}
