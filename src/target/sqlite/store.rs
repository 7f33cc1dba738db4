//! Writes of single objects, inside a transaction.

use rusqlite::{CachedStatement, Connection, ErrorCode, OptionalExtension as _, params};
use serde_json::Value;

use super::failure::Name;
use super::object::Columns;
use super::records;
use super::view::{View, namespace};
use crate::base::resource::ResourceId;
use crate::target::TargetError;

/// An object ready to be stored.
pub(super) struct Formed {
    pub(super) uid: String,
    pub(super) version: i64,
    pub(super) columns: Columns,
    /// The object without its resourceVersion.
    pub(super) body: String,
}

impl Formed {
    /// Takes an object that has everything but its resourceVersion.
    pub(super) fn new(object: &mut Value, uid: &str, version: i64) -> Self {
        if let Some(metadata) = super::object::metadata(object) {
            metadata.remove("resourceVersion");
        }
        Self { uid: uid.to_owned(), version, columns: Columns::of(object), body: object.to_string() }
    }
}

impl View {
    /// The counter that the last write got.
    pub(super) fn counter(&self) -> Result<i64, TargetError> {
        let ask = "SELECT revision FROM meta";
        self.conn.query_row(ask, (), |row| row.get(0)).map_err(|e| self.name.reading(e))
    }

    /// What differs after every commit: the log's length moves with notes, the counter with objects, both with an apply.
    pub(super) fn revision_text(&self) -> Result<String, TargetError> {
        Ok(format!("{}.{}", self.counter()?, self.next_entry()?))
    }

    /// Sets the counter.
    pub(super) fn set_counter(&self, revision: i64) -> Result<(), TargetError> {
        self.conn.execute("UPDATE meta SET revision = ?1", [revision]).map_err(|e| self.name.writing(e))?;
        Ok(())
    }

    /// The key of a resource that is known, whether it exists or not.
    pub(super) fn key(&self, id: &ResourceId) -> Result<Option<i64>, TargetError> {
        let ask = "SELECT key FROM resource WHERE grp = ?1 AND kind = ?2 AND namespace = ?3 AND name = ?4";
        let mut statement = self.conn.prepare_cached(ask).map_err(|e| self.name.reading(e))?;
        let row = params![id.group, id.kind, namespace(id), id.name];
        statement.query_row(row, |row| row.get(0)).optional().map_err(|e| self.name.reading(e))
    }

    /// Stores an object over the one that has this key, UID and version; whether there was one.
    pub(super) fn replace(&self, key: i64, uid: &str, version: i64, formed: &Formed) -> Result<bool, TargetError> {
        let put = "UPDATE resource SET uid = ?4, version = ?5, mark = ?6, owners = ?7
             WHERE key = ?1 AND uid = ?2 AND version = ?3";
        let mut statement = self.conn.prepare_cached(put).map_err(|e| self.name.writing(e))?;
        let Columns { mark, owners } = &formed.columns;
        let row = params![key, uid, version, formed.uid, formed.version, mark, owners];
        if statement.execute(row).map_err(|e| self.name.writing(e))? != 1 {
            return Ok(false);
        }
        let put = "UPDATE body SET body = ?2 WHERE key = ?1";
        let mut statement = self.conn.prepare_cached(put).map_err(|e| self.name.writing(e))?;
        statement.execute(params![key, formed.body]).map_err(|e| self.name.writing(e))?;
        Ok(true)
    }

    /// Deletes an object. Its resource stays known: the log names it.
    pub(super) fn remove(&self, key: i64) -> Result<(), TargetError> {
        let end = "UPDATE resource SET uid = NULL, version = 0, mark = NULL, owners = NULL, system = 0 WHERE key = ?1";
        let mut statement = self.conn.prepare_cached(end).map_err(|e| self.name.writing(e))?;
        statement.execute([key]).map_err(|e| self.name.writing(e))?;
        let mut statement =
            self.conn.prepare_cached("DELETE FROM body WHERE key = ?1").map_err(|e| self.name.writing(e))?;
        statement.execute([key]).map_err(|e| self.name.writing(e))?;
        Ok(())
    }
}

/// The statements that an apply runs for every object, prepared once.
pub(super) struct Puts<'c> {
    name: &'c Name,
    conn: &'c Connection,
    resource: CachedStatement<'c>,
    body: CachedStatement<'c>,
    line: CachedStatement<'c>,
    row: CachedStatement<'c>,
}

impl View {
    /// Prepares what is run for every object.
    pub(super) fn puts(&self) -> Result<Puts<'_>, TargetError> {
        let prepare = |sql| self.conn.prepare_cached(sql).map_err(|e| self.name.writing(e));
        Ok(Puts {
            name: &self.name,
            conn: &self.conn,
            resource: prepare(
                "INSERT INTO resource (grp, kind, namespace, name, uid, version, mark, owners)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?,
            body: prepare("INSERT INTO body VALUES (?1, ?2)")?,
            line: prepare(
                "INSERT INTO line (resource, entry, operation, uid, version, fields) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            row: prepare("INSERT INTO inventory VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET row = excluded.row")?,
        })
    }
}

impl Puts<'_> {
    /// Stores a new object; its key, or `None` if one of that name exists. `known` is the key of a resource that was there
    /// before.
    pub(super) fn object(
        &mut self,
        id: &ResourceId,
        known: Option<i64>,
        formed: &Formed,
    ) -> Result<Option<i64>, TargetError> {
        let Columns { mark, owners } = &formed.columns;
        let key = if let Some(key) = known {
            let put = "UPDATE resource SET uid = ?2, version = ?3, mark = ?4, owners = ?5, system = 0
                 WHERE key = ?1 AND uid IS NULL";
            let mut statement = self.conn.prepare_cached(put).map_err(|e| self.name.writing(e))?;
            let row = params![key, formed.uid, formed.version, mark, owners];
            if statement.execute(row).map_err(|e| self.name.writing(e))? != 1 {
                return Ok(None);
            }
            key
        } else {
            let row = params![id.group, id.kind, namespace(id), id.name, formed.uid, formed.version, mark, owners];
            match self.resource.insert(row) {
                Ok(key) => key,
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => return Ok(None),
                Err(error) => return Err(self.name.writing(error)),
            }
        };
        self.body.execute(params![key, formed.body]).map_err(|e| self.name.writing(e))?;
        Ok(Some(key))
    }

    /// Writes the log's line of one object.
    pub(super) fn line(
        &mut self,
        resource: i64,
        entry: i64,
        (operation, uid, version): (&str, &str, i64),
        fields: Option<&str>,
    ) -> Result<(), TargetError> {
        let row = params![resource, entry, operation, uid, version, fields];
        self.line.execute(row).map_err(|e| self.name.writing(e))?;
        Ok(())
    }

    /// Writes an inventory row from its text.
    pub(super) fn row(&mut self, source: i64, resource: i64, text: &str) -> Result<(), TargetError> {
        self.row.execute(params![records::row_key(source, resource), text]).map_err(|e| self.name.writing(e))?;
        Ok(())
    }
}
