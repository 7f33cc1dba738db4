//! The operation log: who wrote what and when. No value of an object is in it, but for what a receipt was given.

use rusqlite::{OptionalExtension as _, params};
use serde_json::Value;

use super::view::{View, namespace};
use crate::base::clock::Moment;
use crate::base::ids::{ObjectUid, PlanId};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::target::{History, HistoryEntry, LogLine, Operation, TargetError};

/// What the column says of every entry whose plan was applied: an apply, and the removal or rebuilding of a Source.
const APPLIED: &str = "apply";

/// Whether an entry is of a plan that was applied, and not of a hand.
fn is_apply(operation: &str) -> bool {
    [Operation::Apply, Operation::Remove, Operation::Rebuild].iter().any(|known| known.as_str() == operation)
}

impl View {
    /// Whether a plan was applied.
    pub(super) fn plan_was_applied(&self, plan: &PlanId) -> Result<bool, TargetError> {
        let ask = "SELECT 1 FROM entry WHERE operation = 'apply' AND plan = ?1 LIMIT 1";
        let found = self.conn.query_row(ask, [plan.as_str()], |_| Ok(())).optional();
        Ok(found.map_err(|e| self.name.reading(e))?.is_some())
    }

    /// Whether the log has an entry of this ID and time.
    pub(super) fn has_entry(&self, id: &str, at: Moment) -> Result<bool, TargetError> {
        let found = self.conn.query_row("SELECT entry FROM entry WHERE id = ?1", [id], |row| row.get::<_, String>(0));
        match found.optional().map_err(|e| self.name.reading(e))? {
            Some(text) => Ok(self.entry(&text)?.at == at),
            None => Ok(false),
        }
    }

    /// The number that the next entry has.
    pub(super) fn next_entry(&self) -> Result<i64, TargetError> {
        let ask = "SELECT coalesce(max(key), 0) + 1 FROM entry";
        self.conn.query_row(ask, (), |row| row.get(0)).map_err(|e| self.name.reading(e))
    }

    /// Writes an entry; its ID. One without an ID gets its number as one.
    pub(super) fn put_entry(&self, key: i64, mut entry: HistoryEntry, details: &str) -> Result<String, TargetError> {
        if entry.id.is_empty() {
            entry.id = key.to_string();
        }
        let put = "INSERT INTO entry (key, id, operation, plan, entry, details) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let plan = entry.plan.as_ref().map(PlanId::as_str);
        let text = self.written(&entry)?;
        let operation = if is_apply(&entry.operation) { APPLIED } else { &entry.operation };
        let row = params![key, entry.id, operation, plan, text, details];
        self.conn.execute(put, row).map_err(|e| self.name.writing(e))?;
        Ok(entry.id)
    }

    fn entry(&self, text: &str) -> Result<HistoryEntry, TargetError> {
        self.read("an entry of the operation log", text)
    }

    /// The entries, newest first.
    pub(super) fn entries(&self, ask: &History) -> Result<Vec<HistoryEntry>, TargetError> {
        let select = "SELECT entry FROM entry ORDER BY key DESC LIMIT ?1";
        let limit = i64::try_from(ask.limit).unwrap_or(i64::MAX);
        let mut statement = self.conn.prepare_cached(select).map_err(|e| self.name.reading(e))?;
        let rows = statement.query_map([limit], |row| row.get::<_, String>(0)).map_err(|e| self.name.reading(e))?;
        rows.map(|text| self.entry(&text.map_err(|e| self.name.reading(e))?)).collect()
    }

    /// The entry that has this ID, else the only one whose ID begins with it.
    pub(super) fn details(&self, asked: &str) -> Result<Option<(HistoryEntry, Value)>, TargetError> {
        let select = "SELECT id, entry, details FROM entry WHERE id = ?1 OR substr(id, 1, length(?1)) = ?1
             ORDER BY id <> ?1 LIMIT 100";
        let mut statement = self.conn.prepare_cached(select).map_err(|e| self.name.reading(e))?;
        let found: Vec<(String, String, String)> = statement
            .query_map([asked], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .and_then(Iterator::collect)
            .map_err(|e| self.name.reading(e))?;
        let one = match found.as_slice() {
            [] => return Ok(None),
            [one] => one,
            [exact, ..] if exact.0 == asked => exact,
            several => return Err(TargetError::Ambiguous { asked: asked.to_owned(), count: several.len() }),
        };
        let details = self.read("a receipt", &one.2)?;
        Ok(Some((self.entry(&one.1)?, details)))
    }

    /// The lines of a resource, newest first.
    pub(super) fn lines(&self, id: &ResourceId) -> Result<Vec<LogLine>, TargetError> {
        let select = "SELECT e.entry, l.operation, l.uid, l.version, l.fields
             FROM resource r JOIN line l ON l.resource = r.key JOIN entry e ON e.key = l.entry
             WHERE r.grp = ?1 AND r.kind = ?2 AND r.namespace = ?3 AND r.name = ?4 ORDER BY l.entry DESC";
        let mut statement = self.conn.prepare_cached(select).map_err(|e| self.name.reading(e))?;
        let mut rows =
            statement.query(params![id.group, id.kind, namespace(id), id.name]).map_err(|e| self.name.reading(e))?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next().map_err(|e| self.name.reading(e))? {
            let read = || -> rusqlite::Result<(String, String, String, i64, Option<String>)> {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            };
            let (entry, operation, uid, version, fields) = read().map_err(|e| self.name.reading(e))?;
            let what = "a line of the operation log";
            let entry = self.entry(&entry)?;
            let fields: Vec<Pointer> = fields.map_or(Ok(Vec::new()), |text| self.read(what, &text))?;
            lines.push(LogLine {
                entry: entry.id,
                at: entry.at,
                until: entry.at,
                actor: entry.actor,
                claimed: entry.claimed,
                applied: is_apply(&entry.operation),
                operation,
                uid: ObjectUid::parse(&uid).map_err(|_| self.name.damaged(format!("{what} can't be read")))?,
                version: version.to_string(),
                fields,
            });
        }
        Ok(lines)
    }
}
