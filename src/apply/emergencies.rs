//! Emergency changes of a Source, read of a target.

use std::collections::BTreeMap;

use crate::base::resource::ResourceId;
use crate::inventory::{Controls, Emergency, Inventory, Row, emergency};
use crate::target::{Reader, TargetError};

/// Every object that a Source owns and that was written in one of its pauses, with what of it.
///
/// The log is read only of objects that somebody wrote since their last apply, or of which something was left alone then.
///
/// # Errors
/// If any of it can't be read: an emergency change that isn't seen would be reverted.
pub fn emergencies(
    reader: &dyn Reader,
    controls: &Controls,
    inventory: &Inventory,
) -> Result<BTreeMap<ResourceId, Emergency>, TargetError> {
    let mut found = BTreeMap::new();
    if controls.had_no_pause() {
        return Ok(found);
    }
    let ids: Vec<&ResourceId> = inventory.rows.keys().collect();
    let heads = reader.heads(&ids)?;
    let is_written = |row: &&Row| row.left_alone || heads.get(&row.id).is_none_or(|head| head.version != row.version);
    let rows: Vec<&Row> = inventory.rows.values().map(AsRef::as_ref).filter(is_written).collect();
    let live = reader.objects(&rows.iter().map(|row| &row.id).collect::<Vec<_>>())?;
    for row in rows {
        let lines = reader.log(&row.id)?;
        let changes = emergency(controls, row, live.get(&row.id).map(|live| &live.object), &lines);
        if !changes.is_empty() {
            found.insert(row.id.clone(), changes);
        }
    }
    Ok(found)
}
