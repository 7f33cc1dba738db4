//! What people and the loop tell about a Source: under its lease, so that no apply is at work meanwhile.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::apply::{give_back, take};
use super::connection::Connection;
use super::state::{Head, Kind, LABEL, Store, Told, source_name, told_name};
use super::view;
use crate::base::ids::SourceId;
use crate::target::{ControlWrite, HistoryEntry, LoopWrite, TargetError};

/// How long an apply of the Source is waited for.
const WAIT: Duration = Duration::from_secs(60);

/// Writes what people told; false if something else is there than it was made on.
pub(super) async fn control(on: &Connection, write: ControlWrite) -> Result<bool, TargetError> {
    let ControlWrite { source, was, becomes, entry, details } = write;
    let change = |told: &mut Told| {
        let same = told.controls == was;
        told.controls = becomes;
        same
    };
    locked(on, &source, change, Some((entry, details))).await
}

/// Writes what the loop remembers, in the same way.
pub(super) async fn note_loop(on: &Connection, write: LoopWrite) -> Result<bool, TargetError> {
    let LoopWrite { source, was, becomes, entry } = write;
    let change = |told: &mut Told| {
        let same = told.loop_record == was;
        told.loop_record = becomes;
        same
    };
    locked(on, &source, change, entry).await
}

async fn locked(
    on: &Connection,
    source: &SourceId,
    change: impl FnOnce(&mut Told) -> bool,
    entry: Option<(HistoryEntry, Value)>,
) -> Result<bool, TargetError> {
    view::make_state_namespace(on).await?;
    let locks = take(on, std::slice::from_ref(source), WAIT).await?;
    let written = swapped(on, source, change, entry).await;
    give_back(locks).await;
    written
}

async fn swapped(
    on: &Connection,
    source: &SourceId,
    change: impl FnOnce(&mut Told) -> bool,
    entry: Option<(HistoryEntry, Value)>,
) -> Result<bool, TargetError> {
    let store = Store { on };
    let name = source_name(source);
    if let Some(head) = store.get(Kind::ConfigMap, &name).await? {
        let head: Head = store.decode(&head, "head", &name)?;
        // Somebody removed it meanwhile: nobody would heed what is told.
        if head.record.removed_at.is_some() {
            return Ok(false);
        }
    }
    let (mut told, object) = match store.told(source).await? {
        Some((told, object)) => (told, Some(object)),
        None => (Told::default(), None),
    };
    if !change(&mut told) {
        return Ok(false);
    }
    // The line of the log comes first: a change that nobody can read about would be worse than a line too many.
    if let Some((entry, details)) = entry {
        store.write_entry(entry, &json!({ "receipt": details })).await?;
    }
    let text = serde_json::to_string(&told).map_err(|e| on.write_failed(e.to_string()))?;
    let data = Map::from_iter([("told".to_owned(), Value::String(text))]);
    let result = match object {
        None => {
            let metadata = json!({"name": told_name(source), "labels": {LABEL: "told"}});
            store.make(Kind::ConfigMap, &metadata, &data, false).await
        }
        Some(mut object) => {
            object["data"] = Value::Object(data);
            store.swap(Kind::ConfigMap, &object).await
        }
    };
    match result {
        Ok(_) => Ok(true),
        Err(failed) if failed.code() == Some(409) => Ok(false),
        Err(failed) => Err(on.write_failed(format!("what was told can't be written: {}", failed.text()))),
    }
}
