//! Fields that an apply and somebody else contend for: a repair leaves them alone.

use std::collections::BTreeMap;

use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::drift::contest;
use crate::inventory::{Emergency, EmergencyChange};
use crate::plan::document::{Action, PlanDocument};
use crate::target::{Reader, TargetError};

/// What of a repair is contested, by the target's own log.
pub(super) fn contested(
    reader: &dyn Reader,
    plan: &PlanDocument,
) -> Result<BTreeMap<ResourceId, Emergency>, TargetError> {
    let mut found = BTreeMap::new();
    for change in plan.changes.iter().filter(|change| matches!(change.action, Action::Update | Action::Create)) {
        let lines = reader.log(&change.id)?;
        let left = |path: &Pointer| {
            let contest = contest(&lines, path)?;
            let (actor, at) = (contest.by.join(", "), contest.since);
            Some(EmergencyChange { path: path.clone(), actor, at, contested: true })
        };
        let left = match change.action {
            Action::Create => Emergency { deleted: left(&Pointer::root()), fields: Vec::new() },
            _ => Emergency {
                fields: change.fields.iter().filter_map(|field| left(&field.path)).collect(),
                deleted: None,
            },
        };
        if !left.is_empty() {
            found.insert(change.id.clone(), left);
        }
    }
    Ok(found)
}
