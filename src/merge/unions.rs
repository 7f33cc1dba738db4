//! Fields that only stand beside one value of another: what the target filled in for the old value is in the way.

use serde_json::{Map, Value};

use super::fieldset::FieldSet;
use crate::base::pointer::Pointer;
use crate::schema::KindSchema;

/// A struct whose `type` says which of its fields may be there.
struct Union {
    group: &'static str,
    kind: &'static str,
    /// The struct, below `spec`.
    of: &'static str,
    /// The value of `type` that goes with `field`.
    value: &'static str,
    field: &'static str,
}

/// From the validation of apps/v1 in Kubernetes 1.36. Only what the API server fills in by itself can be in the way.
const UNIONS: &[Union] = &[
    Union { group: "apps", kind: "Deployment", of: "strategy", value: "RollingUpdate", field: "rollingUpdate" },
    Union { group: "apps", kind: "DaemonSet", of: "updateStrategy", value: "RollingUpdate", field: "rollingUpdate" },
    Union { group: "apps", kind: "StatefulSet", of: "updateStrategy", value: "RollingUpdate", field: "rollingUpdate" },
];

/// The struct of a kind and what it takes, if the declared `type` excludes a field that is there and that nobody holds.
pub(super) fn in_the_way(schema: &KindSchema, merged: &Value, declared: &Value, held: &FieldSet) -> Option<Pointer> {
    let union = UNIONS.iter().find(|u| u.group == schema.gvk.group && u.kind == schema.gvk.kind)?;
    let chosen = declared.get("spec")?.get(union.of)?.get("type")?.as_str()?;
    let is_there = merged.get("spec")?.get(union.of)?.get(union.field).is_some();
    let holds = held.field("spec").and_then(|s| s.field(union.of)).and_then(|s| s.field(union.field)).is_some();
    (chosen != union.value && is_there && !holds).then(|| Pointer::of(["spec", union.of, union.field]))
}

/// Takes a field out.
pub(super) fn take_out(value: &mut Value, at: &Pointer) {
    let segments: Vec<String> = at.segments().collect();
    let Some((last, parents)) = segments.split_last() else { return };
    let parent = parents.iter().try_fold(value, |value, key| match value {
        Value::Object(map) => map.get_mut(key.as_str()),
        Value::Array(list) => key.parse::<usize>().ok().and_then(|at| list.get_mut(at)),
        _ => None,
    });
    match parent {
        Some(Value::Object(map)) => drop::<Option<Value>>(Map::remove(map, last.as_str())),
        Some(Value::Array(list)) => {
            if let Some(at) = last.parse::<usize>().ok().filter(|at| *at < list.len()) {
                list.remove(at);
            }
        }
        _ => {}
    }
}
