//! Objects that a controller made and owns.

use serde_json::Value;

use super::{Finding, Findings};
use crate::base::fault::RuleId;
use crate::base::json;
use crate::base::pointer::Pointer;

/// An object with a controller: it would be written against, or deleted with its owner.
pub(crate) const CONTROLLED: RuleId = RuleId::new("controlled-object");

/// Refuses objects with a controller. Other owner references warn: a UID in git names an object of one target alone, and
/// whose deletion takes this one along.
pub(in crate::admission) fn judge(object: &Value, findings: &mut Findings) {
    let Some(owners) = json::below(object, &["metadata", "ownerReferences"]).and_then(Value::as_array) else { return };
    if owners.is_empty() {
        return;
    }
    let path = Pointer::of(["metadata", "ownerReferences"]);
    if owners.iter().any(|owner| owner.get("controller") == Some(&Value::Bool(true))) {
        let text = "a controller made this object and keeps it as it wants it: it can't be declared";
        let hint = "declare what the controller reads (the owner) instead of what it made";
        findings.fault(Finding::new(CONTROLLED, path, text).hint(hint));
    } else {
        let text = "the object is deleted with its owner, whose UID another target doesn't have";
        findings.warn(Finding::new(CONTROLLED, path, text));
    }
}
