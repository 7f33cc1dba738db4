//! How a Change could be undone, where a target applies one by one.

use serde_json::Value;

use super::document::Undo;
use super::kinds;
use crate::admission::Checked;
use crate::base::resource::ResourceId;

/// Of an update: most go back by field, some can't.
pub(super) fn of_update(checked: &Checked, live: &Value, after: &Value) -> Undo {
    let id = checked.id();
    let newly = |pointer: &str| live.pointer(pointer) != after.pointer(pointer);
    let irreversible = (id.is_definition() && newly("/spec/versions") && storage_version(live) != storage_version(after))
        || ((id.is("", "ConfigMap") || id.is("", "Secret")) && newly("/immutable"))
        // A claim can grow and never shrink.
        || (kinds::is_claim(id) && newly("/spec/resources/requests/storage"))
        || (id.is("batch", "Job") && newly("/spec/suspend"));
    if irreversible { Undo::None } else { Undo::Exact }
}

/// Of a create: an object that starts work can't take back what it did.
pub(super) fn of_create(checked: &Checked) -> Undo {
    if checked.id().is("batch", "Job") { Undo::None } else { Undo::Exact }
}

/// Of an object that is deleted and made anew: the old one can be made again, but what it did or held is gone.
pub(super) fn of_replace(id: &ResourceId) -> Undo {
    if loses(id) { Undo::None } else { Undo::NewUid }
}

/// Of a delete: `takes_others` if objects go along that nobody could make again.
pub(super) fn of_delete(id: &ResourceId, takes_others: bool) -> Undo {
    if takes_others || loses(id) { Undo::None } else { Undo::NewUid }
}

/// Whether making an object again doesn't bring back what it was: a Job would run once more, data is gone.
fn loses(id: &ResourceId) -> bool {
    id.is("batch", "Job") || id.is("", "PersistentVolume") || kinds::is_claim(id)
}

fn storage_version(definition: &Value) -> Option<&str> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let stored = versions.iter().find(|v| v.get("storage").and_then(Value::as_bool) == Some(true))?;
    stored.get("name")?.as_str()
}
