//! The journal on the cluster: opened before the first write, switched at the commit point, closed at the end.

use http::Method;
use serde_json::{Map, Value, json};

use super::journal::{Body, Head, Outcome, Phase};
use super::writer::{Session, fill};
use crate::base::failpoint;
use crate::base::ids::{ApplyId, SourceId};
use crate::target::kubernetes::connection::Connection;
use crate::target::kubernetes::request::{Ask, JSON, escaped};
use crate::target::kubernetes::state::{self, APPLY_LABEL, Blob, Kind, LABEL, Store, source_name};
use crate::target::kubernetes::view::Line;
use crate::target::{HistoryEntry, TargetError};

/// Lines of the operation log that are kept.
const MOST_ENTRIES: usize = 1000;

fn name(apply: &ApplyId) -> String {
    format!("journal.{apply}")
}

/// The journals that are there, with the objects that hold their heads.
pub(super) async fn journals(on: &Connection) -> Result<Vec<(Head, Value)>, TargetError> {
    let store = Store { on };
    let mut all = Vec::new();
    for object in store.all("journal", "").await? {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        all.push((store.decode(&object, "head", &name)?, object));
    }
    Ok(all)
}

/// Why something could not be written, without the word that nothing was: of an apply as a whole that would be wrong.
pub(super) fn reason(error: TargetError) -> String {
    match error {
        TargetError::WriteFailed { reason, .. } => reason,
        other => other.to_string(),
    }
}

impl Session<'_> {
    /// Writes what is about to be done. Until the head says `applying`, nothing of it was begun.
    pub(super) async fn open_journal(
        &self,
        body: &Body,
        sources: Vec<SourceId>,
        names: Vec<String>,
    ) -> Result<(Head, Value), TargetError> {
        let apply = body.apply.clone();
        let mut head = Head {
            apply,
            phase: Phase::Opening,
            sources,
            names,
            at: body.at,
            closing: false,
            body: None,
            outcome: None,
        };
        let metadata = json!({"name": name(&head.apply), "labels": {LABEL: "journal"}});
        let made = self.store().make(Kind::ConfigMap, &metadata, &self.data(&head)?, false).await;
        let object = made.map_err(|e| self.on.write_failed(format!("the journal can't be written: {}", e.text())))?;
        failpoint::hit(failpoint::JOURNAL_OPENED);
        let opened = async {
            let text = serde_json::to_vec(body).map_err(|e| self.on.write_failed(e.to_string()))?;
            head.body = Some(self.write_part(&head.apply, "body", &text).await?);
            head.phase = Phase::Applying;
            self.switch_journal(&head, &object).await
        };
        match opened.await {
            Ok(object) => {
                failpoint::hit(failpoint::JOURNAL_WRITTEN);
                Ok((head, object))
            }
            Err(error) => {
                // Nothing was begun; if the journal can't be taken away either, the next command that writes does it.
                drop(self.close_journal(&head).await);
                Err(error)
            }
        }
    }

    async fn write_part(&self, apply: &ApplyId, what: &str, text: &[u8]) -> Result<Blob, TargetError> {
        self.may_write()?;
        let stem = format!("journal.{apply}.{what}");
        self.store().write_blob(Kind::Secret, "journal", &stem, text, Some(apply)).await
    }

    fn data(&self, head: &Head) -> Result<Map<String, Value>, TargetError> {
        let text = serde_json::to_string(head).map_err(|e| self.on.write_failed(e.to_string()))?;
        Ok(Map::from_iter([("head".to_owned(), Value::String(text))]))
    }

    /// Switches the head by compare-and-swap.
    pub(super) async fn switch_journal(&self, head: &Head, object: &Value) -> Result<Value, TargetError> {
        self.may_write()?;
        let mut next = object.clone();
        next["data"] = Value::Object(self.data(head)?);
        let swapped = self.store().swap(Kind::ConfigMap, &next).await;
        swapped.map_err(|e| self.on.write_failed(format!("the journal can't be written: {}", e.text())))
    }

    /// The journal of an apply, as it is now.
    pub(super) async fn read_journal(&self, apply: &ApplyId) -> Result<Option<(Head, Value)>, TargetError> {
        let name = name(apply);
        let Some(object) = self.store().get(Kind::ConfigMap, &name).await? else { return Ok(None) };
        Ok(Some((self.store().decode(&object, "head", &name)?, object)))
    }

    pub(super) async fn write_outcome(&self, outcome: &Outcome) -> Result<Blob, TargetError> {
        failpoint::hit(failpoint::BEFORE_COMMIT);
        let text = serde_json::to_vec(outcome).map_err(|e| self.on.write_failed(e.to_string()))?;
        self.write_part(&self.apply, "outcome", &text).await
    }

    /// Takes the journal away: its parts, which may hold values, and then the head that says that there are any.
    ///
    /// The head says so first: whoever finds it without its parts knows that they are gone for good.
    pub(super) async fn close_journal(&self, head: &Head) -> Result<(), TargetError> {
        let failed = |text: String| self.on.write_failed(format!("the journal can't be closed: {text}"));
        let Some((now, object)) = self.read_journal(&head.apply).await? else { return Ok(()) };
        if !now.closing && now.body.is_some() {
            let closing = Head { closing: true, body: None, outcome: None, ..now };
            self.switch_journal(&closing, &object).await.map_err(|error| failed(reason(error)))?;
            failpoint::hit(failpoint::JOURNAL_CLOSING);
        }
        self.may_write()?;
        let selector = escaped(&format!("{APPLY_LABEL}={}", head.apply));
        let namespace = escaped(&self.on.state_namespace);
        let url = format!("/api/v1/namespaces/{namespace}/secrets?labelSelector={selector}");
        self.on
            .send(&Ask::send(Method::DELETE, url, JSON, &json!({"apiVersion": "v1", "kind": "DeleteOptions"})))
            .await
            .map_err(|e| failed(e.text()))?;
        failpoint::hit(failpoint::PARTS_GONE);
        self.may_write()?;
        self.store().delete(Kind::ConfigMap, &name(&head.apply)).await.map_err(|e| failed(e.text()))
    }

    /// Everything after the commit point. It may be done any number of times, by whoever.
    pub(super) async fn finish(
        &self,
        head: &Head,
        _object: &Value,
        body: &Body,
        mut outcome: Outcome,
    ) -> Result<Value, TargetError> {
        failpoint::hit(failpoint::AFTER_COMMIT);
        let unfinished =
            |error: TargetError| TargetError::Unfinished { target: self.on.shown.clone(), reason: reason(error) };
        let pruned = self.prune(body).await.map_err(unfinished)?;
        let mut receipt = std::mem::take(&mut outcome.receipt);
        fill(&mut receipt, &outcome);
        if let (false, Some(receipt)) = (pruned.pending.is_empty(), receipt.as_object_mut()) {
            let deletes = receipt.get("deletes").and_then(Value::as_u64).unwrap_or_default();
            let pending = serde_json::to_value(&pruned.pending).unwrap_or_default();
            receipt.insert("pending".to_owned(), pending);
            receipt.insert("deletes".to_owned(), deletes.saturating_sub(pruned.pending.len() as u64).into());
            outcome.done.retain(|d| d.operation != "deleted" || !pruned.pending.iter().any(|p| p.id == d.id));
        }
        for source in &outcome.sources {
            self.switch_source(source, &pruned, body).await.map_err(unfinished)?;
        }
        failpoint::hit(failpoint::AFTER_INVENTORY);
        let lines: Vec<Line> = outcome
            .done
            .iter()
            .map(|d| Line {
                id: d.id.clone(),
                operation: d.operation.clone(),
                uid: d.uid.clone(),
                version: d.version.clone(),
                fields: d.fields.clone(),
            })
            .collect();
        let written = outcome.done.iter().filter(|d| d.operation != "deleted").count();
        let records = || outcome.sources.iter().map(|s| &s.record);
        let entry = HistoryEntry {
            id: body.apply.to_string(),
            at: body.at,
            actor: body.actor.clone(),
            claimed: false,
            operation: body.operation.clone(),
            sources: records().map(|record| record.name.to_string()).collect(),
            commits: records().map(|record| record.commit.to_string()).collect(),
            plan: body.plan.clone(),
            result: format!("{written} written, {} deleted", outcome.done.len() - written),
            objects: Vec::new(),
        };
        let details = json!({"receipt": receipt, "lines": lines});
        self.may_write().map_err(unfinished)?;
        self.store().write_entry(entry, &details).await.map_err(unfinished)?;
        failpoint::hit(failpoint::AFTER_LOG);
        self.close_journal(head).await.map_err(unfinished)?;
        failpoint::hit(failpoint::JOURNAL_CLOSED);
        // What is too many is only garbage: it is taken away another time.
        drop(self.store().forget_entries(MOST_ENTRIES).await);
        Ok(receipt)
    }

    /// Switches the head of one Source to what this apply made of it, if it isn't there already.
    async fn switch_source(
        &self,
        after: &super::journal::SourceAfter,
        pruned: &super::prune::Pruned,
        body: &Body,
    ) -> Result<(), TargetError> {
        let store = self.store();
        let id = &after.record.id;
        let there = store.get(Kind::ConfigMap, &source_name(id)).await?;
        let old: Option<state::Head> = match &there {
            Some(object) => Some(store.decode(object, "head", &source_name(id))?),
            None => None,
        };
        if old.as_ref().is_some_and(|head| head.by == body.apply) {
            return Ok(());
        }
        let mut inventory = after.inventory.clone();
        let stay: Vec<_> = after.deleted.iter().filter(|row| pruned.stays(&row.id)).collect();
        if !stay.is_empty() {
            let mut rows = super::super::view::rows_of(self.on, after.inventory.as_ref(), &after.record.name).await?;
            rows.extend(stay.into_iter().cloned());
            rows.sort_by(|a, b| a.id.cmp(&b.id));
            let stem = format!("inventory.{id}.{}.{}.kept", after.record.serial, body.apply);
            let kept = self.write_inventory(&stem, rows.iter()).await?;
            if let Some(blob) = std::mem::replace(&mut inventory, kept) {
                store.delete_blob(Kind::ConfigMap, &blob).await;
            }
        }
        let head = state::Head {
            record: after.record.clone(),
            by: body.apply.clone(),
            inventory,
            released: after.released.clone(),
        };
        let text = serde_json::to_string(&head).map_err(|e| self.on.write_failed(e.to_string()))?;
        let data = Map::from_iter([("head".to_owned(), Value::String(text))]);
        self.may_write()?;
        let failed = |e: crate::target::kubernetes::request::Failed| {
            self.on.write_failed(format!("the record of {} can't be written: {}", head.record.name, e.text()))
        };
        match there {
            None => {
                let metadata = json!({"name": source_name(id), "labels": {LABEL: "source"}});
                store.make(Kind::ConfigMap, &metadata, &data, false).await.map_err(failed)?;
            }
            Some(mut object) => {
                object["data"] = Value::Object(data);
                store.swap(Kind::ConfigMap, &object).await.map_err(failed)?;
            }
        }
        if let Some(blob) = old.and_then(|head| head.inventory) {
            store.delete_blob(Kind::ConfigMap, &blob).await;
        }
        Ok(())
    }
}
