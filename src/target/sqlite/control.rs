//! What people told about Sources, and what the loop remembers of them: each write in one transaction with its log entry.

use rusqlite::{OptionalExtension as _, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::view::View;
use super::{Embedded, writer};
use crate::base::failpoint;
use crate::base::ids::SourceId;
use crate::inventory::{Controls, LoopRecord};
use crate::target::{ControlWrite, HistoryEntry, LoopWrite, TargetError};

/// Which table, and its column.
#[derive(Clone, Copy)]
enum Kept {
    Control,
    Loop,
}

impl Kept {
    fn select(self) -> &'static str {
        match self {
            Self::Control => "SELECT controls FROM control WHERE source = ?1",
            Self::Loop => "SELECT record FROM looped WHERE source = ?1",
        }
    }

    fn put(self) -> &'static str {
        match self {
            Self::Control => "INSERT OR REPLACE INTO control (source, controls) VALUES (?1, ?2)",
            Self::Loop => "INSERT OR REPLACE INTO looped (source, record) VALUES (?1, ?2)",
        }
    }
}

impl View {
    pub(super) fn source_controls(&self, source: &SourceId) -> Result<Controls, TargetError> {
        self.kept(Kept::Control, source)
    }

    pub(super) fn source_loop(&self, source: &SourceId) -> Result<LoopRecord, TargetError> {
        self.kept(Kept::Loop, source)
    }

    fn kept<T: DeserializeOwned + Default>(&self, kept: Kept, source: &SourceId) -> Result<T, TargetError> {
        let mut statement = self.conn.prepare_cached(kept.select()).map_err(|e| self.name.reading(e))?;
        let text = statement.query_row([source.as_str()], |row| row.get::<_, String>(0)).optional();
        match text.map_err(|e| self.name.reading(e))? {
            None => Ok(T::default()),
            Some(text) => self.read("what is kept of a Source", &text),
        }
    }

    fn is_removed(&self, source: &SourceId) -> Result<bool, TargetError> {
        Ok(self.source_record(source)?.is_some_and(|(_, record)| record.removed_at.is_some()))
    }

    fn keep<T: Serialize>(&self, kept: Kept, source: &SourceId, value: &T) -> Result<(), TargetError> {
        let text = self.written(value)?;
        let mut statement = self.conn.prepare_cached(kept.put()).map_err(|e| self.name.writing(e))?;
        statement.execute(params![source.as_str(), text]).map_err(|e| self.name.writing(e))?;
        Ok(())
    }
}

pub(super) fn control(target: &Embedded, write: ControlWrite) -> Result<bool, TargetError> {
    let ControlWrite { source, was, becomes, entry, details } = write;
    swap(target, Kept::Control, &source, [was, becomes], Some((entry, details)))
}

pub(super) fn note_loop(target: &Embedded, write: LoopWrite) -> Result<bool, TargetError> {
    let LoopWrite { source, was, becomes, entry } = write;
    swap(target, Kept::Loop, &source, [was, becomes], entry)
}

/// Writes what a Source's becomes where it still is what it was; whether it was. A Source that was removed meanwhile is not.
fn swap<T: Serialize + DeserializeOwned + Default + PartialEq>(
    target: &Embedded,
    kept: Kept,
    source: &SourceId,
    [was, becomes]: [T; 2],
    entry: Option<(HistoryEntry, Value)>,
) -> Result<bool, TargetError> {
    failpoint::hit(failpoint::BEFORE_BEGIN);
    let view = target.begin(target.wait)?;
    failpoint::hit(failpoint::AFTER_BEGIN);
    if view.is_removed(source)? || view.kept::<T>(kept, source)? != was {
        return Ok(false);
    }
    failpoint::hit(failpoint::AFTER_CHECKS);
    view.keep(kept, source, &becomes)?;
    failpoint::hit(failpoint::AFTER_INVENTORY);
    match entry {
        Some((entry, details)) => {
            let at = entry.at;
            let id = view.put_entry(view.next_entry()?, entry, &details.to_string())?;
            failpoint::hit(failpoint::AFTER_LOG);
            failpoint::hit(failpoint::BEFORE_COMMIT);
            writer::finish(target, view, &id, at)?;
        }
        None => {
            failpoint::hit(failpoint::BEFORE_COMMIT);
            let View { conn, name, .. } = view;
            writer::commit(&conn).map_err(|e| name.writing(e))?;
        }
    }
    failpoint::hit(failpoint::AFTER_COMMIT);
    Ok(true)
}
