//! Pods: containers, volumes, probes.

use serde_json::{Map, Value};

use super::{given, structs, text};
use crate::schema::fault::rule;
use crate::schema::path::{Out, Path};
use crate::schema::quantity::Quantity;

/// ValidateContainerResourceRequirements: no negative amounts, no request over its limit.
pub(super) fn container(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let Some(resources) = map.get("resources").and_then(Value::as_object) else { return };
    let at = path.key("resources");
    let amounts = |key: &str| resources.get(key).and_then(Value::as_object);
    for key in ["requests", "limits"] {
        for (name, value) in amounts(key).into_iter().flatten() {
            if Quantity::of_value(value).is_ok_and(Quantity::is_negative) {
                out.add(rule::OUT_OF_RANGE, &at.key(key).key(name), format!("{name} is below zero"));
            }
        }
    }
    let (Some(requests), Some(limits)) = (amounts("requests"), amounts("limits")) else { return };
    for (name, asked) in requests {
        let (Ok(asked), Some(Ok(limit))) = (Quantity::of_value(asked), limits.get(name).map(Quantity::of_value)) else {
            continue;
        };
        if asked > limit {
            let text = format!("the request of {name} ({asked}) is over its limit ({limit})");
            out.add(rule::CONFLICTING_FIELDS, &at.key("requests").key(name), text);
        }
    }
}

/// ValidatePodSpec: at least one container, and no name twice over all of them.
pub(super) fn pod_spec(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    if map.get("containers").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        out.add(rule::MISSING_FIELD, &path.key("containers"), "containers needs at least one entry");
    }
    for (index, init) in structs(map, "initContainers") {
        let Some(name) = text(init, "name") else { continue };
        if structs(map, "containers").any(|(_, c)| text(c, "name") == Some(name)) {
            let said = format!("a container is named {name} too");
            out.add(rule::DUPLICATE_LIST_KEY, &path.key("initContainers").index(index).key("name"), said);
        }
    }
}

/// Every mounted volume is one of the Pod's or of `others`.
pub(super) fn mounts(pod: &Map<String, Value>, others: &[&str], path: &Path<'_>, out: &mut Out) {
    let has = |name: &str| {
        others.contains(&name) || structs(pod, "volumes").any(|(_, volume)| text(volume, "name") == Some(name))
    };
    for key in ["containers", "initContainers"] {
        for (index, container) in structs(pod, key) {
            for (mount_index, mount) in structs(container, "volumeMounts") {
                let Some(name) = text(mount, "name").filter(|name| !has(name)) else { continue };
                let list = path.key(key);
                let entry = list.index(index);
                let mounts = entry.key("volumeMounts");
                let mount = mounts.index(mount_index);
                let said = format!("there is no volume {name}");
                out.add(rule::CONFLICTING_FIELDS, &mount.key("name"), said);
            }
        }
    }
}

/// ValidateEnv: a value, or where it comes from.
pub(super) fn env_var(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    if given(map, "valueFrom").is_some() && text(map, "value").is_some_and(|v| !v.is_empty()) {
        out.add(rule::CONFLICTING_FIELDS, &path.key("valueFrom"), "a variable has value or valueFrom, not both");
    }
}

fn only_one(map: &Map<String, Value>, kinds: &[&str], what: &str, path: &Path<'_>, out: &mut Out) -> usize {
    let mut count = 0;
    for kind in kinds.iter().filter(|kind| given(map, kind).is_some()) {
        count += 1;
        if count == 2 {
            out.add(rule::CONFLICTING_FIELDS, &path.key(kind), format!("{what} has only one of its kinds"));
        }
    }
    count
}

/// validateVolumeSource: one source at most (none is an emptyDir).
pub(super) fn volume(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let sources: Vec<&str> = map.keys().map(String::as_str).filter(|key| *key != "name").collect();
    only_one(map, &sources, "a volume", path, out);
}

/// validateHandler: one way to probe.
pub(super) fn probe(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    if only_one(map, &["exec", "grpc", "httpGet", "tcpSocket"], "a probe", path, out) == 0 {
        out.add(rule::MISSING_FIELD, path, "a probe needs one of exec, grpc, httpGet, tcpSocket");
    }
}

/// validateLifecycle.
pub(super) fn lifecycle(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    if only_one(map, &["exec", "httpGet", "sleep", "tcpSocket"], "a handler", path, out) == 0 {
        out.add(rule::MISSING_FIELD, path, "a handler needs one of exec, httpGet, sleep, tcpSocket");
    }
}
