//! How a Change could be undone, where a target applies one by one.

use serde_json::Value;

use super::document::Undo;
use super::kinds;
use crate::admission::Checked;

/// Of an update: most go back by field, some can't.
pub(crate) fn of_update(checked: &Checked, live: &Value, after: &Value) -> Undo {
    let id = checked.id();
    let newly = |pointer: &str| live.pointer(pointer) != after.pointer(pointer);
    let irreversible = (kinds::is_definition(id) && newly("/spec/versions") && storage_version(live) != storage_version(after))
        || ((id.is("", "ConfigMap") || id.is("", "Secret")) && newly("/immutable"))
        // A claim can grow and never shrink.
        || (kinds::is_claim(id) && newly("/spec/resources/requests/storage"))
        || (id.is("batch", "Job") && newly("/spec/suspend"));
    if irreversible { Undo::None } else { Undo::Exact }
}

/// Of a create: an object that starts work can't take back what it did.
pub(crate) fn of_create(checked: &Checked) -> Undo {
    if checked.id().is("batch", "Job") { Undo::None } else { Undo::Exact }
}

fn storage_version(definition: &Value) -> Option<&str> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let stored = versions.iter().find(|v| v.get("storage").and_then(Value::as_bool) == Some(true))?;
    stored.get("name")?.as_str()
}
