//! The pods that an object asks for, and what they need.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::base::resource::ResourceId;
use crate::schema::quantity::Quantity;

/// Amounts by resource.
pub(super) type Amounts = BTreeMap<String, Quantity>;

/// What pods request and what they are limited to.
#[derive(Debug, Clone, Default)]
pub(super) struct Needs {
    pub(super) requests: Amounts,
    pub(super) limits: Amounts,
}

/// What a namespace's LimitRanges fill in for containers.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    requests: Map<String, Value>,
    limits: Map<String, Value>,
}

impl Defaults {
    /// Adds what a LimitRange fills in.
    pub(super) fn add(&mut self, range: &Value) {
        for item in range.pointer("/spec/limits").and_then(Value::as_array).into_iter().flatten() {
            if item.get("type").and_then(Value::as_str) != Some("Container") {
                continue;
            }
            for (key, into) in [("defaultRequest", &mut self.requests), ("default", &mut self.limits)] {
                for (name, value) in item.get(key).and_then(Value::as_object).into_iter().flatten() {
                    into.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
    }

    /// What a container needs: what it says, then the limits for missing requests, then the defaults.
    pub(super) fn of_container(&self, container: &Value) -> Needs {
        let part = |key: &str| container.get("resources").and_then(|r| r.get(key)).and_then(Value::as_object);
        let read = |map: Option<&Map<String, Value>>| -> Amounts {
            map.into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), Quantity::of_value(v).ok()?))).collect()
        };
        let mut limits = read(part("limits"));
        let mut requests = read(part("requests"));
        for (name, amount) in &limits {
            requests.entry(name.clone()).or_insert(*amount);
        }
        for (name, amount) in read(Some(&self.requests)) {
            requests.entry(name).or_insert(amount);
        }
        for (name, amount) in read(Some(&self.limits)) {
            limits.entry(name.clone()).or_insert(amount);
            requests.entry(name).or_insert(amount);
        }
        Needs { requests, limits }
    }

    /// What a pod needs (`PodRequests` and `PodLimits` of `k8s.io/component-helpers`): the sum of the containers and
    /// the init containers that go on running, or the largest moment of the start if that is more, and the overhead;
    /// what the pod says as a whole comes before that.
    pub(super) fn of_pod(&self, spec: &Value) -> Needs {
        let list = |key: &str| spec.get(key).and_then(Value::as_array).into_iter().flatten();
        let mut sum = Needs::default();
        for container in list("containers") {
            let needs = self.of_container(container);
            add(&mut sum.requests, &needs.requests);
            add(&mut sum.limits, &needs.limits);
        }
        let mut sidecars = Needs::default();
        let mut start = Needs::default();
        for container in list("initContainers") {
            let needs = self.of_container(container);
            let stays = container.get("restartPolicy").and_then(Value::as_str) == Some("Always");
            let mut now = needs.clone();
            add(&mut now.requests, &sidecars.requests);
            add(&mut now.limits, &sidecars.limits);
            if stays {
                sidecars = now.clone();
            }
            most(&mut start.requests, &now.requests);
            most(&mut start.limits, &now.limits);
        }
        add(&mut sum.requests, &sidecars.requests);
        add(&mut sum.limits, &sidecars.limits);
        most(&mut sum.requests, &start.requests);
        most(&mut sum.limits, &start.limits);

        let whole = Self::default().of_container(spec);
        sum.requests.extend(whole.requests);
        sum.limits.extend(whole.limits);
        for (name, amount) in spec.get("overhead").and_then(Value::as_object).into_iter().flatten() {
            let Ok(amount) = Quantity::of_value(amount) else { continue };
            plus(sum.requests.entry(name.clone()).or_insert(Quantity::ZERO), amount);
            if let Some(limit) = sum.limits.get_mut(name) {
                plus(limit, amount);
            }
        }
        sum
    }
}

/// Adds, and stays at the largest amount there is.
pub(super) fn plus(sum: &mut Quantity, amount: Quantity) {
    *sum = sum.checked_add(amount).unwrap_or(if *sum > amount { *sum } else { amount });
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        plus(sum.entry(name.clone()).or_insert(Quantity::ZERO), *amount);
    }
}

fn most(sum: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let known = sum.entry(name.clone()).or_insert(*amount);
        if *amount > *known {
            *known = *amount;
        }
    }
}

/// The pod specification of an object, with its pointer, if it runs pods.
pub(super) fn template<'v>(id: &ResourceId, object: &'v Value) -> Option<(&'static str, &'v Value)> {
    let path = match (id.group.as_str(), id.kind.as_str()) {
        ("", "Pod") => "/spec",
        ("", "ReplicationController")
        | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job") => "/spec/template/spec",
        _ => return None,
    };
    object.pointer(path).map(|spec| (path, spec))
}

/// How many pods an object asks for.
pub(super) fn count(id: &ResourceId, object: &Value) -> i64 {
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
    match id.kind.as_str() {
        "Pod" | "DaemonSet" => 1,
        "Job" => {
            let done = object.pointer("/status/completionTime").is_some()
                || object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten().any(|c| {
                    matches!(c.get("type").and_then(Value::as_str), Some("Complete" | "Failed"))
                        && c.get("status").and_then(Value::as_str) == Some("True")
                });
            if done || object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
                return 0;
            }
            let parallel = number("/spec/parallelism").unwrap_or(1);
            number("/spec/completions").map_or(parallel, |completions| completions.min(parallel))
        }
        _ => number("/spec/replicas").unwrap_or(1),
    }
}

/// Whether a pod has ended; it needs nothing any more.
pub(super) fn has_ended(object: &Value) -> bool {
    matches!(object.pointer("/status/phase").and_then(Value::as_str), Some("Succeeded" | "Failed"))
}

/// Whether a quota of this resource refuses pods that don't say it (`podEvaluator.Constraints`).
pub(super) fn must_be_said(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory" | "requests.cpu" | "requests.memory" | "limits.cpu" | "limits.memory")
}
