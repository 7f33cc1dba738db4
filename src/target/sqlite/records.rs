//! Sources, their inventory rows, and rows that were let go.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::remembered::Reading;
use super::view::View;
use crate::base::ids::{ObjectUid, SourceId};
use crate::inventory::{Inventory, Released, Row, SourceRecord};
use crate::target::TargetError;

/// How far a Source's key stands above a resource's in the key of an inventory row.
const SHIFT: u32 = 40;

/// The key of an inventory row.
pub(super) fn row_key(source: i64, resource: i64) -> i64 {
    (source << SHIFT) | resource
}

impl View {
    /// Reads what is stored; `what` names it where it can't be.
    pub(super) fn read<T: DeserializeOwned>(&self, what: &str, text: &str) -> Result<T, TargetError> {
        crate::base::json::read(text.as_bytes()).map_err(|_| self.name.damaged(format!("{what} can't be read")))
    }

    /// The text of a record that is stored.
    pub(super) fn written<T: Serialize>(&self, value: &T) -> Result<String, TargetError> {
        serde_json::to_string(value).map_err(|e| self.name.write_failed(e.to_string()))
    }

    /// All Sources, sorted by ID.
    pub(super) fn source_records(&self) -> Result<Vec<SourceRecord>, TargetError> {
        let ask = "SELECT record FROM source ORDER BY id";
        let mut statement = self.conn.prepare_cached(ask).map_err(|e| self.name.reading(e))?;
        let rows = statement.query_map((), |row| row.get::<_, String>(0)).map_err(|e| self.name.reading(e))?;
        rows.map(|text| self.read("a Source's record", &text.map_err(|e| self.name.reading(e))?)).collect()
    }

    /// A Source's key and record.
    pub(super) fn source_record(&self, id: &SourceId) -> Result<Option<(i64, SourceRecord)>, TargetError> {
        let ask = "SELECT key, record FROM source WHERE id = ?1";
        let mut statement = self.conn.prepare_cached(ask).map_err(|e| self.name.reading(e))?;
        let found = statement
            .query_row([id.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .optional()
            .map_err(|e| self.name.reading(e))?;
        found.map(|(key, text)| Ok((key, self.read("a Source's record", &text)?))).transpose()
    }

    /// What a Source owns.
    pub(super) fn source_inventory(&self, id: &SourceId) -> Result<Arc<Inventory>, TargetError> {
        let sql = |e| self.name.reading(e);
        let Some((key, record)) = self.source_record(id)? else { return Ok(Arc::new(Inventory::empty(id.clone()))) };
        let known = self.remembered.as_ref().and_then(|remembered| remembered.of(id));
        let mut reading = Reading::beside(known.as_deref());
        let ask = "SELECT key, row FROM inventory WHERE key >= ?1 AND key < ?2 ORDER BY key";
        let mut statement = self.conn.prepare_cached(ask).map_err(sql)?;
        let mut rows = statement.query([row_key(key, 0), row_key(key + 1, 0)]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let text = row.get_ref(1).and_then(|text| text.as_str().map_err(Into::into)).map_err(sql)?;
            reading.take(row.get(0).map_err(sql)?, text);
        }
        let inventory = reading.finish(id, record.serial, self.remembered.as_deref());
        inventory.ok_or_else(|| self.name.damaged("an inventory row can't be read"))
    }

    /// What a Source let go, newest first.
    pub(super) fn source_released(&self, id: &SourceId) -> Result<Vec<Released>, TargetError> {
        let Some((key, _)) = self.source_record(id)? else { return Ok(Vec::new()) };
        let ask = "SELECT row FROM released WHERE source = ?1 ORDER BY key DESC";
        let mut statement = self.conn.prepare_cached(ask).map_err(|e| self.name.reading(e))?;
        let rows = statement.query_map([key], |row| row.get::<_, String>(0)).map_err(|e| self.name.reading(e))?;
        rows.map(|text| self.read("a released row", &text.map_err(|e| self.name.reading(e))?)).collect()
    }

    /// Writes a Source's record; its key.
    pub(super) fn put_source(&self, record: &SourceRecord) -> Result<i64, TargetError> {
        let text = self.written(record)?;
        let put = "INSERT INTO source (id, record) VALUES (?1, ?2)
             ON CONFLICT (id) DO UPDATE SET record = excluded.record RETURNING key";
        let mut statement = self.conn.prepare_cached(put).map_err(|e| self.name.writing(e))?;
        statement.query_row((record.id.as_str(), text), |row| row.get(0)).map_err(|e| self.name.writing(e))
    }

    /// Ends an inventory row; whether there was one.
    pub(super) fn end_row(&self, source: i64, resource: i64) -> Result<bool, TargetError> {
        let end = "DELETE FROM inventory WHERE key = ?1";
        let mut statement = self.conn.prepare_cached(end).map_err(|e| self.name.writing(e))?;
        Ok(statement.execute([row_key(source, resource)]).map_err(|e| self.name.writing(e))? == 1)
    }

    /// Notes a row that was let go.
    pub(super) fn put_released(&self, source: i64, released: &Released) -> Result<(), TargetError> {
        let text = self.written(released)?;
        let put = "INSERT INTO released (source, row) VALUES (?1, ?2)";
        let mut statement = self.conn.prepare_cached(put).map_err(|e| self.name.writing(e))?;
        statement.execute(params![source, text]).map_err(|e| self.name.writing(e))?;
        Ok(())
    }

    /// Whether a Source has a row of this very object.
    pub(super) fn has_row(&self, source: &SourceId, resource: i64, uid: &ObjectUid) -> Result<bool, TargetError> {
        let ask = "SELECT i.row FROM source s JOIN inventory i ON i.key = ((s.key << ?1) | ?2) WHERE s.id = ?3";
        let mut statement = self.conn.prepare_cached(ask).map_err(|e| self.name.reading(e))?;
        let row = statement
            .query_row(params![SHIFT, resource, source.as_str()], |row| row.get::<_, String>(0))
            .optional()
            .map_err(|e| self.name.reading(e))?;
        let row: Option<Row> = row.map(|row| self.read("an inventory row", &row)).transpose()?;
        Ok(row.is_some_and(|row| row.uid == *uid))
    }
}
