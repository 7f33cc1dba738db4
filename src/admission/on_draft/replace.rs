//! What is lost when an object is deleted and made anew.

use serde_json::Value;

use super::{Considered, RULE_PROTECTED, RULE_REPLACE};
use crate::base::fault::{Fault, Warning};
use crate::plan::document::Action;

/// Refuses the replace of what would take others along, whoever allows it.
pub fn judge(considered: &Considered<'_>) -> Option<Fault> {
    if considered.action != Action::Replace {
        return None;
    }
    let (id, checked) = (considered.id, considered.checked?);
    let holds = match (id.group.as_str(), id.kind.as_str()) {
        ("", "Namespace") => "everything in it",
        ("apiextensions.k8s.io", "CustomResourceDefinition") => "every object of its kind",
        _ => return None,
    };
    let text = format!("{id} can't be made anew: that would delete {holds}");
    Some(Fault::new(RULE_PROTECTED, text).at(checked.at().clone()).id(id.clone()).hint("give the new one another name"))
}

/// Says what a replace costs; nothing for any other Change.
pub fn warning(considered: &Considered<'_>) -> Option<Warning> {
    if considered.action != Action::Replace {
        return None;
    }
    let id = considered.id;
    let loss = match (id.group.as_str(), id.kind.as_str()) {
        ("batch", "Job") => "the Job runs again from the start, and its pods and their logs go",
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => {
            "its pods are all stopped before the new ones start"
        }
        ("", "Pod") => "the pod is stopped before the new one starts",
        ("", "PersistentVolumeClaim") => "the claim's data can be lost with its volume",
        ("", "PersistentVolume") => "what is on the volume can be lost",
        ("", "Service") => "its address changes, and connections break",
        _ => "it is absent for a moment, and gets a new UID",
    };
    let last = if is_immutable(considered.live) { "; it was made immutable" } else { "" };
    let text = format!("{id} is deleted and made anew: {loss}{last}");
    let warning = Warning::new(RULE_REPLACE, text).id(id.clone());
    Some(match considered.checked {
        Some(checked) => warning.at(checked.at().clone()),
        None => warning,
    })
}

fn is_immutable(live: Option<&Value>) -> bool {
    live.and_then(|live| live.get("immutable")) == Some(&Value::Bool(true))
}
