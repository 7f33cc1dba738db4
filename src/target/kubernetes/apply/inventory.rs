//! What the commit point makes true: inventories and receipt, with what only the writes could say.

use std::collections::BTreeMap;

use serde_json::Value;

use super::check::moved;
use super::journal::{Act, Body, Done, Outcome, SourceAfter, Step, uid, version};
use super::writer::{Session, fill, gone};
use crate::base::ids::{Manager, ObjectUid};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::base::sensitive;
use crate::inventory::{Answer, Row, seen_digest};
use crate::merge;
use crate::schema::KindSchema;
use crate::target::kubernetes::request::MANAGER;
use crate::target::kubernetes::state::{self, Blob, Kind};
use crate::target::{Batch, SourceCommit, TargetError, paths};

/// Fields of one object that the server answers otherwise, and are remembered.
const MOST_ANSWERS: usize = 100;
/// Longest such answer, in bytes of JSON.
const LONGEST_ANSWER: usize = 4096;
/// Rows that were let go and are remembered for each Source.
const MOST_RELEASED: usize = 1000;

impl Session<'_> {
    /// Works out inventories and receipt, and writes the inventories: no head names them yet.
    pub(super) async fn outcome(
        &self,
        batch: Batch,
        body: &Body,
        written: &[Option<Value>],
        before: Vec<(Option<state::Head>, Vec<Row>)>,
    ) -> Result<Outcome, TargetError> {
        let objects: BTreeMap<&ResourceId, (&Step, &Value)> = body
            .steps
            .iter()
            .zip(written)
            .filter_map(|(step, object)| Some((&step.id, (step, object.as_ref()?))))
            .collect();
        let deleted: Vec<&ResourceId> =
            body.steps.iter().filter(|step| step.act == Act::Delete).map(|step| &step.id).collect();
        let done = self.done(body, written, &batch)?;
        let mut sources = Vec::with_capacity(batch.sources.len());
        for (commit, (head, rows)) in batch.sources.into_iter().zip(before) {
            let mut rows: BTreeMap<ResourceId, Row> = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
            let SourceCommit { record, serial_before, upserts, removed, mut released } = commit;
            let mut gone_rows = Vec::new();
            for id in &removed {
                let row = rows.remove(id).ok_or_else(|| gone(id))?;
                if deleted.contains(&id) {
                    gone_rows.push(row);
                }
            }
            for one in &released {
                rows.remove(&one.id);
            }
            for row in upserts {
                let row = match objects.get(&row.id) {
                    Some((step, object)) => self.filled(row, step, object)?,
                    None => row,
                };
                rows.insert(row.id.clone(), row);
            }
            let stem = format!("inventory.{}.{}.{}", record.id, record.serial, body.apply);
            let inventory = self.write_inventory(&stem, rows.values()).await?;
            released.extend(head.map(|head| head.released).unwrap_or_default());
            released.truncate(MOST_RELEASED);
            sources.push(SourceAfter { record, serial_before, inventory, released, deleted: gone_rows });
        }
        let mut outcome = Outcome { sources, done, receipt: batch.receipt };
        let mut receipt = std::mem::take(&mut outcome.receipt);
        fill(&mut receipt, &outcome);
        outcome.receipt = receipt;
        Ok(outcome)
    }

    /// Writes rows in parts; none for none.
    pub(super) async fn write_inventory(
        &self,
        stem: &str,
        rows: impl Iterator<Item = &Row>,
    ) -> Result<Option<Blob>, TargetError> {
        let mut text = Vec::new();
        for row in rows {
            serde_json::to_writer(&mut text, row).map_err(|e| self.on.write_failed(e.to_string()))?;
            text.push(b'\n');
        }
        if text.is_empty() {
            return Ok(None);
        }
        self.may_write()?;
        self.store().write_blob(Kind::ConfigMap, "inventory", stem, &text, None).await.map(Some)
    }

    /// The row with what only the write can say.
    fn filled(&self, mut row: Row, step: &Step, object: &Value) -> Result<Row, TargetError> {
        let uid = ObjectUid::parse(uid(object).unwrap_or_default());
        row.uid = uid.map_err(|e| moved(&row.id, e.to_string()))?;
        row.version = version(object).to_owned();
        let schema = self.schema(object);
        row.seen = seen_digest(schema.as_deref(), object, &row.fields, &row.sensitive);
        row.answers = match (schema, &step.declared) {
            (Some(schema), Some(declared)) => answers(&schema, declared, object, &row.sensitive),
            _ => Vec::new(),
        };
        Ok(row)
    }

    fn done(&self, body: &Body, written: &[Option<Value>], batch: &Batch) -> Result<Vec<Done>, TargetError> {
        let rows: BTreeMap<&ResourceId, &Row> =
            batch.sources.iter().flat_map(|s| &s.upserts).map(|row| (&row.id, row)).collect();
        let mut all = Vec::with_capacity(written.len());
        for (step, object) in body.steps.iter().zip(written) {
            let operation = match step.act {
                Act::Create => "created",
                Act::Apply => "updated",
                Act::Replace => "replaced",
                Act::Unmark => "released",
                Act::Delete => "deleted",
            };
            let Some(object) = object.as_ref().or(step.before.as_ref()) else { continue };
            let fields = match (&step.before, step.act) {
                (Some(before), Act::Apply | Act::Unmark) => {
                    // Below a sensitive place the log names nothing: keys can be telling too.
                    let extra = rows.get(&step.id).map(|row| row.sensitive.as_slice()).unwrap_or_default();
                    let cut: Vec<_> = [before, object].iter().flat_map(|o| sensitive::pointers(o, extra)).collect();
                    paths::changed(before, object, &cut)
                }
                _ => Vec::new(),
            };
            let uid = ObjectUid::parse(uid(object).unwrap_or_default());
            let uid = uid.map_err(|e| moved(&step.id, e.to_string()))?;
            let version = version(object).to_owned();
            all.push(Done { id: step.id.clone(), operation: operation.to_owned(), uid, version, fields });
        }
        Ok(all)
    }
}

/// Where the server answered something else than was declared.
fn answers(schema: &KindSchema, declared: &Value, object: &Value, extra: &[Pointer]) -> Vec<Answer> {
    let Ok(found) = merge::answered(schema, declared, object, &Manager::new(MANAGER)) else { return Vec::new() };
    let sensitive: Vec<Pointer> = [declared, object].iter().flat_map(|o| sensitive::pointers(o, extra)).collect();
    let is_short = |value: &Option<Value>| value.as_ref().is_none_or(|value| value.to_string().len() <= LONGEST_ANSWER);
    let answer = |change: merge::FieldChange| {
        let rewritten = change.is_rewritten();
        let over = sensitive.iter().find(|at| at.overlaps(&change.before_path) || at.overlaps(&change.path));
        match over {
            // Below a sensitive place nothing is named: keys can be telling too.
            Some(at) if change.before_path.is_within(at) => {
                Answer { path: at.clone(), value: None, rewritten, hidden: true }
            }
            Some(_) => Answer { path: change.before_path, value: None, rewritten, hidden: true },
            None => Answer { path: change.before_path, value: change.before, rewritten, hidden: false },
        }
    };
    let mut all: Vec<Answer> =
        found.into_iter().map(answer).filter(|answer| is_short(&answer.value)).take(MOST_ANSWERS).collect();
    all.dedup();
    all
}
