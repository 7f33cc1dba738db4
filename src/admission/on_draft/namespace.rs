//! A Namespace that neither exists nor is planned.

use std::collections::BTreeSet;

use super::{Considered, Facts, NamespaceState, RULE_MISSING_NAMESPACE, RULE_TERMINATING, placed};
use crate::base::fault::{Class, Fault};
use crate::base::pointer::Pointer;
use crate::plan::document::Action;

/// Judges all Changes together; one fault for each object, whose Namespace is not there to take it.
///
/// A Namespace that the plan deletes is not there either: what is written into it would go with it.
pub fn judge(considered: &[Considered<'_>], facts: &Facts<'_>) -> Vec<Fault> {
    let of_plan = |wanted: fn(&Considered<'_>) -> bool| -> BTreeSet<&str> {
        let namespaces = considered.iter().filter(|c| c.id.is_namespace() && wanted(c));
        namespaces.map(|c| c.id.name.as_str()).collect()
    };
    let planned = of_plan(|c| c.is_written());
    let deleted = of_plan(|c| c.action == Action::Delete);
    considered
        .iter()
        .filter(|c| c.is_written())
        .filter_map(|c| {
            let (checked, namespace) = (c.checked?, c.id.namespace.as_deref()?);
            let state = facts.namespaces.get(namespace);
            let fault = match state {
                _ if deleted.contains(namespace) => {
                    let text = format!("namespace {namespace} is deleted by this plan, and {} would go with it", c.id);
                    Fault::new(RULE_MISSING_NAMESPACE, text).hint("keep the Namespace, or move the object")
                }
                Some(NamespaceState::Terminating) => {
                    let text = format!("namespace {namespace} is being deleted and takes no new objects");
                    Fault::new(RULE_TERMINATING, text)
                        .class(Class::Target)
                        .hint("wait until it is gone, then plan again")
                }
                Some(NamespaceState::Active) => return None,
                None if planned.contains(namespace) => return None,
                None => {
                    let text = format!("namespace {namespace} neither exists nor is in this commit");
                    Fault::new(RULE_MISSING_NAMESPACE, text)
                        .hint(format!("add a manifest of kind Namespace named {namespace}, or make it first"))
                }
            };
            Some(placed(fault, checked, &Pointer::of(["metadata", "namespace"])))
        })
        .collect()
}
