//! One resource once, over all files and API versions.

use std::collections::HashMap;

use crate::base::fault::{At, Fault, RuleId};
use crate::base::resource::ResourceId;

/// A resource that is declared twice.
const DUPLICATE: RuleId = RuleId::new("duplicate-object");

/// Faults for every declaration of a resource but its first, each with the first one's place. `declared` is in the order
/// of files and documents.
pub(in crate::admission) fn judge<'a>(declared: impl Iterator<Item = (&'a ResourceId, At)>) -> Vec<Fault> {
    let mut first: HashMap<&ResourceId, At> = HashMap::new();
    let mut faults = Vec::new();
    for (id, at) in declared {
        let Some(earlier) = first.get(id) else {
            first.insert(id, at);
            continue;
        };
        let text = format!("{id} is declared already in {}, line {}", earlier.file, earlier.line);
        let fault = Fault::new(DUPLICATE, text).at(at).id(id.clone()).also(earlier.clone());
        faults.push(fault.hint("keep one of the two"));
    }
    faults
}
