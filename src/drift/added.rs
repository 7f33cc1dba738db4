//! What others put beside what is declared, where it matters who did: pod templates, security contexts, access rights.
//!
//! It is no drift and is not reverted: what a Source doesn't declare belongs to others. But a container, a capability or a
//! right that nobody reviewed should be seen.

use serde_json::Value;

use super::blame::Who;
use crate::base::clock::Moment;
use crate::base::ids::Manager;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::merge::{FieldSet, ManagedFields, MergeError};
use crate::plan::FIELD_MANAGER;

/// A field that somebody added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The field, the topmost of what was added.
    pub path: Pointer,
    /// Who holds it.
    pub who: Who,
    /// When that one last wrote the object.
    pub at: Option<Moment>,
}

/// Whether additions to objects of this kind can matter, wherever in them.
pub fn is_watched(id: &ResourceId, object: &Value) -> bool {
    id.group == "rbac.authorization.k8s.io"
        || id.is("", "Pod")
        || template(id).is_some()
        || has_security_context(object, 0)
}

/// The fields in watched places that are not declared and that a manager holds whom nobody named.
///
/// # Errors
/// If the live object's `managedFields` can't be read: who added what is not known then.
pub fn added(id: &ResourceId, live: &Value, declared: &FieldSet, named: &[&Manager]) -> Result<Vec<Added>, MergeError> {
    let ours = Manager::new(FIELD_MANAGER);
    let managers = ManagedFields::of(live)?;
    let declared = managers.applied_by(&ours).map_or_else(|| declared.clone(), |entry| declared.union(&entry.fields));
    let mut found: Vec<Added> = Vec::new();
    for entry in &managers.entries {
        if entry.is_apply_of(&ours) || entry.subresource == "status" || named.contains(&&entry.manager) {
            continue;
        }
        let mut places = entry.fields.difference(&declared).pointers(live);
        places.retain(|place| is_watched_place(id, place));
        places.sort();
        let mut topmost: Option<Pointer> = None;
        for place in places {
            if topmost.as_ref().is_some_and(|top| place.is_within(top)) || live.pointer(place.as_str()).is_none() {
                continue;
            }
            topmost = Some(place.clone());
            let who = Who { name: entry.manager.to_string(), proven: false };
            found.push(Added { path: place, who, at: entry.time });
        }
    }
    found.sort_by(|a, b| (&a.path, &a.who).cmp(&(&b.path, &b.who)));
    found.dedup_by(|a, b| a.path == b.path && a.who == b.who);
    Ok(found)
}

/// Where a workload keeps its pod template.
fn template(id: &ResourceId) -> Option<&'static str> {
    match (id.group.as_str(), id.kind.as_str()) {
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("", "ReplicationController")
        | ("batch", "Job") => Some("/spec/template"),
        ("batch", "CronJob") => Some("/spec/jobTemplate"),
        ("", "PodTemplate") => Some("/template"),
        _ => None,
    }
}

fn is_watched_place(id: &ResourceId, place: &Pointer) -> bool {
    let text = place.as_str();
    let below = |top: &str| text.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let of_rights = id.group == "rbac.authorization.k8s.io"
        && (["/rules", "/aggregationRule", "/subjects", "/roleRef"].into_iter().any(below)
            || text.starts_with("/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-"));
    of_rights
        || (id.is("", "Pod") && below("/spec"))
        || template(id).is_some_and(below)
        || text.split('/').any(|segment| segment == "securityContext")
}

fn has_security_context(value: &Value, depth: usize) -> bool {
    match value {
        _ if depth > 64 => false,
        Value::Object(map) => map.iter().any(|(key, below)| {
            key == "securityContext" || (key != "metadata" && has_security_context(below, depth + 1))
        }),
        Value::Array(list) => list.iter().any(|below| has_security_context(below, depth + 1)),
        _ => false,
    }
}
