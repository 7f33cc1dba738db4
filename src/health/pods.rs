//! Pods.

use serde_json::Value;

use super::{Health, conditions};

/// Judges a Pod.
pub(super) fn pod(object: &Value) -> Health {
    let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
    let all = conditions(object);
    let reason_of = |key: &str| all.iter().find(|c| c.kind == key);
    match phase {
        "Succeeded" => Health::current("the Pod has succeeded"),
        "Failed" => Health::failed("PodFailed", "the Pod has failed"),
        "Running" => match reason_of("Ready") {
            Some(ready) if ready.status == "True" => Health::current("the Pod is ready").by(ready),
            _ => crash(object).unwrap_or_else(|| Health::progress("PodRunningNotReady", "it runs and is not ready")),
        },
        "Pending" => {
            let unschedulable =
                reason_of("PodScheduled").filter(|c| c.status == "False" && c.reason == "Unschedulable");
            match unschedulable {
                Some(scheduled) => Health::failed("PodUnschedulable", "no node can take the Pod").by(scheduled),
                None => crash(object).unwrap_or_else(|| Health::progress("PodPending", "the Pod is pending")),
            }
        }
        "" => Health::progress("PodNotObserved", "its phase is not known"),
        other => Health::progress("PodUnknownPhase", format!("it is in phase {other}")),
    }
}

/// Containers that crash again and again.
fn crash(object: &Value) -> Option<Health> {
    let of = |key: &str| object.pointer(&format!("/status/{key}")).and_then(Value::as_array).into_iter().flatten();
    let containers = of("containerStatuses").chain(of("initContainerStatuses"));
    let looping = containers.filter(|container| {
        container.pointer("/state/waiting/reason").and_then(Value::as_str) == Some("CrashLoopBackOff")
    });
    let names: Vec<&str> = looping.filter_map(|container| container.get("name").and_then(Value::as_str)).collect();
    (!names.is_empty()).then(|| {
        Health::failed("ContainerCrashLooping", format!("containers crash again and again: {}", names.join(", ")))
    })
}
