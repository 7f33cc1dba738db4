//! One resource once, over all files and API versions.

use std::collections::hash_map::Entry;

use crate::base::fault::{At, Fault, RuleId};
use crate::base::map::HashMap;
use crate::base::resource::ResourceId;

/// A resource that is declared twice.
const DUPLICATE: RuleId = RuleId::new("duplicate-object");

/// Faults for every declaration of a resource but its first, each with the first one's place. `declared` is in the order
/// of files and documents; `place` tells where each of them is.
pub(in crate::admission) fn judge<'a, D: Copy>(
    declared: impl Iterator<Item = (&'a ResourceId, D)>,
    place: impl Fn(D) -> At,
) -> Vec<Fault> {
    let mut first: HashMap<&ResourceId, D> = HashMap::default();
    let mut faults = Vec::new();
    for (id, one) in declared {
        let earlier = match first.entry(id) {
            Entry::Vacant(free) => {
                free.insert(one);
                continue;
            }
            Entry::Occupied(taken) => place(*taken.get()),
        };
        let at = place(one);
        let text = format!("{id} is declared already in {}, line {}", earlier.file, earlier.line);
        let fault = Fault::new(DUPLICATE, text).at(at).id(id.clone()).also(earlier);
        faults.push(fault.hint("keep one of the two"));
    }
    faults
}
