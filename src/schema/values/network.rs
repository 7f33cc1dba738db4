//! Services and Ingresses.

use serde_json::{Map, Value};

use super::{given, structs, text};
use crate::schema::fault::rule;
use crate::schema::path::{Out, Path};

/// ValidateService.
pub(super) fn service(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let kind = text(map, "type").unwrap_or("ClusterIP");
    let is_headless = text(map, "clusterIP") == Some("None");
    let count = map.get("ports").and_then(Value::as_array).map_or(0, Vec::len);
    if count == 0 && kind != "ExternalName" && !is_headless {
        out.add(rule::MISSING_FIELD, path, "ports needs at least one entry, unless clusterIP is None");
    }
    if kind == "ExternalName" && text(map, "externalName").is_none_or(str::is_empty) {
        out.add(rule::MISSING_FIELD, path, "externalName is required with the type ExternalName");
    }
    let at = path.key("ports");
    for (index, port) in structs(map, "ports") {
        let entry = at.index(index);
        let name = text(port, "name").filter(|name| !name.is_empty());
        if count > 1 && name.is_none() {
            out.add(rule::MISSING_FIELD, &entry, "name is required where there are several ports");
        }
        if name.is_some_and(|n| structs(map, "ports").take(index).any(|(_, p)| text(p, "name") == Some(n))) {
            out.add(rule::DUPLICATE_LIST_KEY, &entry.key("name"), "another port has this name");
        }
        let node_port = port.get("nodePort").and_then(Value::as_i64).unwrap_or(0);
        if node_port != 0 && matches!(kind, "ClusterIP" | "ExternalName") {
            let text = format!("nodePort has no meaning with the type {kind}");
            out.add(rule::CONFLICTING_FIELDS, &entry.key("nodePort"), text);
        }
    }
}

/// ValidateIngressSpec.
pub(super) fn ingress(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let has_rules = given(map, "rules").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if !has_rules && given(map, "defaultBackend").is_none() {
        out.add(rule::MISSING_FIELD, path, "defaultBackend or rules is required");
    }
}

/// validateIngressBackend.
pub(super) fn backend(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    match (given(map, "service").is_some(), given(map, "resource").is_some()) {
        (true, true) => {
            out.add(rule::CONFLICTING_FIELDS, &path.key("resource"), "a backend has service or resource, not both");
        }
        (false, false) => out.add(rule::MISSING_FIELD, path, "a backend needs service or resource"),
        _ => {}
    }
}

/// validateIngressBackend, the port.
pub(super) fn backend_port(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let has_number = map.get("number").and_then(Value::as_i64).is_some_and(|n| n != 0);
    let has_name = text(map, "name").is_some_and(|name| !name.is_empty());
    match (has_number, has_name) {
        (true, true) => {
            out.add(rule::CONFLICTING_FIELDS, &path.key("name"), "a port has a name or a number, not both");
        }
        (false, false) => out.add(rule::MISSING_FIELD, path, "a port needs a name or a number"),
        _ => {}
    }
}

/// validateHTTPIngressPath.
pub(super) fn ingress_path(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let kind = text(map, "pathType");
    let is_rooted = text(map, "path").is_some_and(|p| p.starts_with('/'));
    if matches!(kind, Some("Exact" | "Prefix")) && !is_rooted {
        let text = format!("path must begin with / for the pathType {}", kind.unwrap_or_default());
        out.add(rule::OUT_OF_RANGE, &path.key("path"), text);
    }
}
