//! One apply in one transaction.

use std::collections::{BTreeSet, HashMap, HashSet};

use rayon::prelude::*;
use serde_json::Value;

use super::Embedded;
use super::journal::APPLY;
use super::prepare::{Context, Item, Ready};
use super::strict;
use super::view::{CRD, View};
use crate::base::clock::Moment;
use crate::base::failpoint;
use crate::base::ids::{ObjectUid, SourceId};
use crate::base::resource::{GroupKind, ResourceId};
use crate::inventory::{PruneWarrant, Row};
use crate::schema::Catalog;
use crate::schema::crd::Crd;
use crate::target::{Batch, Contents, Head, HistoryEntry, Reader, SourceCommit, TargetError, Write, Writer, Written};

/// How many writes are worked out while as many are being stored.
const CHUNK: usize = 256;

/// A transaction that holds the write lock.
pub(super) struct Transaction<'t> {
    pub(super) target: &'t Embedded,
    pub(super) view: View,
}

impl Writer for Transaction<'_> {
    fn reader(&self) -> &dyn Reader {
        &self.view
    }

    fn commit(self: Box<Self>, batch: Batch) -> Result<Written, TargetError> {
        let Self { target, view } = *self;
        let (apply, at) = (batch.apply.clone(), batch.at);
        // On an error the connection goes, and the transaction with it.
        let written = Apply::new(&view, batch)?.run()?;
        failpoint::hit(failpoint::BEFORE_COMMIT);
        finish(target, view, apply.as_str(), at)?;
        failpoint::hit(failpoint::AFTER_COMMIT);
        Ok(written)
    }
}

/// Commits. If SQLite can't say whether that took place, the file itself is asked for the log's entry.
pub(super) fn finish(target: &Embedded, view: View, entry: &str, at: Moment) -> Result<(), TargetError> {
    let View { conn, name } = view;
    let Err(error) = conn.execute_batch("COMMIT") else {
        // Whatever comes of writing the log back: what is committed is in the log, and the next one does it.
        let _ = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        return Ok(());
    };
    drop(conn);
    match target.view().and_then(|view| view.has_entry(entry, at)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(name.writing(error)),
        Err(then) => Err(TargetError::Unknown { target: name.shown, reason: format!("{error}, and then: {then}") }),
    }
}

/// What is known of an object that was written.
struct Outcome {
    key: i64,
    uid: String,
    version: i64,
    row: Option<String>,
}

struct Apply<'v> {
    view: &'v View,
    batch: Batch,
    /// The counter; each write gets the next.
    counter: i64,
    entry: i64,
    namespaces: HashSet<String>,
    written: HashMap<ResourceId, Outcome>,
    order: Vec<ResourceId>,
    /// What was deleted, with its key and UID.
    deleted: HashMap<ResourceId, (i64, ObjectUid)>,
}

impl<'v> Apply<'v> {
    fn new(view: &'v View, batch: Batch) -> Result<Self, TargetError> {
        let namespaces = view.list_heads(&Contents::Kind(GroupKind::new("", "Namespace")))?;
        Ok(Self {
            view,
            counter: view.counter()?,
            entry: view.next_entry()?,
            namespaces: namespaces.into_iter().map(|head| head.id.name).collect(),
            written: HashMap::with_capacity(batch.writes.len()),
            order: Vec::with_capacity(batch.writes.len()),
            deleted: HashMap::new(),
            batch,
        })
    }

    fn run(mut self) -> Result<Written, TargetError> {
        self.check()?;
        failpoint::hit(failpoint::AFTER_CHECKS);
        self.objects()?;
        let serials = self.sources()?;
        failpoint::hit(failpoint::AFTER_INVENTORY);
        let receipt = self.log()?;
        // A commit that writes no object is seen by the counter too.
        self.view.set_counter(self.counter + 1)?;
        failpoint::hit(failpoint::AFTER_LOG);
        let uid = |text: &str| ObjectUid::parse(text).map_err(|_| self.view.name.damaged("a UID can't be read"));
        let mut objects = Vec::with_capacity(self.order.len());
        for id in self.order {
            if let Some(outcome) = self.written.get(&id) {
                objects.push((id, uid(&outcome.uid)?, outcome.version.to_string()));
            }
        }
        Ok(Written { objects, serials, receipt })
    }

    /// Checks everything that must hold before the first write.
    fn check(&self) -> Result<(), TargetError> {
        let batch = &self.batch;
        if batch.single_use && self.view.plan_was_applied(&batch.plan)? {
            return Err(self.view.name.write_failed("the plan was applied before"));
        }
        for commit in &batch.sources {
            let serial = self.view.source_record(&commit.record.id)?.map_or(0, |(_, record)| record.serial);
            if serial != commit.serial_before {
                let (name, then) = (&commit.record.name, commit.serial_before);
                let reason = format!("the inventory of {name} has serial {serial} and not {then}");
                return Err(self.view.name.write_failed(reason));
            }
        }
        let ids: Vec<&ResourceId> = batch.writes.iter().map(Write::id).collect();
        let mut seen = HashSet::with_capacity(ids.len());
        if let Some(twice) = ids.iter().find(|id| !seen.insert(**id)) {
            return Err(moved(twice, "it is written twice in one apply"));
        }
        let heads = self.view.find_heads(&ids)?;
        batch.writes.iter().try_for_each(|write| check_write(write, heads.get(write.id())))
    }

    /// Stores the objects, in order. While one chunk is stored the next is worked out.
    fn objects(&mut self) -> Result<(), TargetError> {
        let writes = std::mem::take(&mut self.batch.writes);
        let catalog = self.catalog(&writes)?;
        let context = Context { catalog: &catalog, at: self.batch.at, rows: self.rows(&writes)? };
        let mut writes = writes.into_iter().peekable();
        let mut ready: Vec<Ready> = Vec::new();
        while let Some(first) = writes.next() {
            if let Write::Delete { warrant, cascade, .. } = first {
                self.store(std::mem::take(&mut ready))?;
                self.delete(&warrant, &cascade)?;
                continue;
            }
            let mut items = vec![self.item(first)?];
            while items.len() < CHUNK
                && let Some(write) = writes.next_if(|write| !matches!(write, Write::Delete { .. }))
            {
                items.push(self.item(write)?);
            }
            let now = std::mem::take(&mut ready);
            ready = std::thread::scope(|scope| {
                let next = scope.spawn(|| items.into_par_iter().map(|item| context.prepare(item)).collect::<Vec<_>>());
                let stored = self.store(now);
                let next = next.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                stored?;
                all(next)
            })?;
        }
        self.store(ready)
    }

    /// A write with the object that it meets.
    fn item(&mut self, write: Write) -> Result<Item, TargetError> {
        self.counter += 1;
        let live = match &write {
            Write::Create { .. } => None,
            other => self.view.stored(other.id())?,
        };
        Ok(Item { write, live, version: self.counter })
    }

    fn store(&mut self, ready: Vec<Ready>) -> Result<(), TargetError> {
        for ready in ready {
            self.store_one(ready)?;
            failpoint::hit(failpoint::AFTER_OBJECT);
        }
        Ok(())
    }

    fn store_one(&mut self, ready: Ready) -> Result<(), TargetError> {
        let Ready { id, operation, before, formed, fields, row } = ready;
        if let Some(namespace) = &id.namespace
            && !self.namespaces.contains(namespace)
        {
            return Err(TargetError::Refused { faults: vec![strict::missing_namespace(&id)] });
        }
        if operation == "replaced" {
            self.replaced(&id)?;
        }
        let (key, uid, version) = match (before, formed) {
            (Some(before), None) => before,
            (None, Some(formed)) => {
                let key = self.view.insert(&id, &formed)?.ok_or_else(|| moved(&id, "it exists"))?;
                (key, formed.uid, formed.version)
            }
            (Some((key, uid, version)), Some(formed)) => {
                if !self.view.replace(key, &uid, version, &formed)? {
                    return Err(moved(&id, "it went along with another delete of this apply"));
                }
                (key, formed.uid, formed.version)
            }
            (None, None) => return Err(moved(&id, "there is nothing to write")),
        };
        self.view.put_line(key, self.entry, (operation, &uid, version), fields.as_deref())?;
        if id.is("", "Namespace") {
            self.namespaces.insert(id.name.clone());
        }
        self.order.push(id.clone());
        self.written.insert(id, Outcome { key, uid, version, row });
        Ok(())
    }

    /// What goes along with an object that is made anew.
    fn replaced(&mut self, id: &ResourceId) -> Result<(), TargetError> {
        let Some(head) = self.view.find_heads(&[id])?.remove(id) else { return Err(moved(id, "it isn't there")) };
        let along = self.view.cascade(std::slice::from_ref(&head))?;
        let holds = id.is("", "Namespace") || id.is(CRD.0, CRD.1);
        if let Some(lost) = along.values().find(|head| holds || !matches!(head.mark, Ok(None))) {
            return Err(moved(id, &format!("{} would go along with it", lost.id)));
        }
        along.into_values().try_for_each(|head| self.take(&head))
    }

    /// A warranted delete, with exactly what was said to go along.
    fn delete(&mut self, warrant: &PruneWarrant, cascade: &[ResourceId]) -> Result<(), TargetError> {
        let id = warrant.id();
        if let Some((_, uid)) = self.deleted.get(id) {
            // It went along with an earlier one.
            return if uid == warrant.uid() { Ok(()) } else { Err(moved(id, "its UID is another")) };
        }
        let Some(head) = self.view.find_heads(&[id])?.remove(id) else { return Err(moved(id, "it isn't there")) };
        let along = self.view.cascade(std::slice::from_ref(&head))?;
        let said: BTreeSet<&ResourceId> = cascade.iter().collect();
        if let Some(more) = along.keys().find(|id| !said.contains(id)) {
            return Err(moved(id, &format!("{more} would go along with it")));
        }
        let fewer = said.into_iter().find(|id| !along.contains_key(*id) && !self.deleted.contains_key(*id));
        if let Some(fewer) = fewer {
            return Err(moved(id, &format!("{fewer} would not go along with it")));
        }
        for head in along.values().chain([&head]) {
            self.take(head)?;
        }
        Ok(())
    }

    /// Takes one object away.
    fn take(&mut self, head: &Head) -> Result<(), TargetError> {
        let id = &head.id;
        if self.written.contains_key(id) {
            return Err(moved(id, "it is written and would go along with a delete"));
        }
        let key = self.view.key(id)?.ok_or_else(|| moved(id, "it isn't there"))?;
        self.counter += 1;
        self.view.remove(key)?;
        self.view.put_line(key, self.entry, ("deleted", head.uid.as_str(), self.counter), None)?;
        if id.is("", "Namespace") {
            self.namespaces.remove(&id.name);
        }
        self.deleted.insert(id.clone(), (key, head.uid.clone()));
        failpoint::hit(failpoint::AFTER_DELETE);
        Ok(())
    }

    /// The kinds that are served once the apply's own definitions are there.
    fn catalog(&self, writes: &[Write]) -> Result<Catalog, TargetError> {
        let builtin = Catalog::builtin();
        let declared = |write: &'_ Write| match write {
            Write::Create { declared, .. } | Write::Apply { declared, .. } | Write::Replace { declared, .. } => {
                Some(declared.clone())
            }
            Write::Unmark { .. } | Write::Delete { .. } => None,
        };
        let is_builtin = |id: &ResourceId| !builtin.by_group_kind(&id.group_kind()).is_empty();
        if writes.iter().all(|write| is_builtin(write.id())) {
            return Ok(builtin);
        }
        let ours = writes.iter().filter(|write| write.id().is(CRD.0, CRD.1)).filter_map(declared);
        // One that can't be read is refused when its turn comes.
        let ours = ours.filter_map(|definition| Crd::read(&definition).ok()).collect();
        Ok(self.view.catalog()?.with_crds(ours))
    }

    /// The inventory rows of what is written.
    fn rows(&self, writes: &[Write]) -> Result<HashMap<ResourceId, Row>, TargetError> {
        let ids: HashSet<&ResourceId> = writes.iter().map(Write::id).collect();
        let mut rows = HashMap::with_capacity(ids.len());
        for row in self.batch.sources.iter().flat_map(|commit| &commit.upserts) {
            if ids.contains(&row.id) && rows.insert(row.id.clone(), row.clone()).is_some() {
                return Err(moved(&row.id, "two Sources of one apply would own it"));
            }
        }
        Ok(rows)
    }

    /// Writes the Sources' records and rows.
    fn sources(&self) -> Result<Vec<(SourceId, u64)>, TargetError> {
        let mut serials = Vec::with_capacity(self.batch.sources.len());
        for commit in &self.batch.sources {
            let source = self.view.put_source(&commit.record)?;
            self.inventory(source, commit)?;
            serials.push((commit.record.id.clone(), commit.record.serial));
        }
        for (id, (key, uid)) in &self.deleted {
            if let Some(holder) = self.view.holder_of_row(*key, uid)? {
                return Err(moved(id, &format!("it goes, and Source {holder} would keep its inventory row")));
            }
        }
        Ok(serials)
    }

    fn inventory(&self, source: i64, commit: &SourceCommit) -> Result<(), TargetError> {
        let ended = commit.removed.iter().map(|id| (id, true));
        for (id, must) in ended.chain(commit.released.iter().map(|released| (&released.id, false))) {
            let key = self.view.key(id)?;
            let was_there = key.map_or(Ok(false), |key| self.view.end_row(source, key))?;
            if must && !was_there {
                return Err(moved(id, "its inventory row is gone"));
            }
        }
        for released in &commit.released {
            self.view.put_released(source, released)?;
        }
        for row in &commit.upserts {
            match self.written.get(&row.id) {
                Some(Outcome { key, row: Some(text), .. }) => self.view.put_row(source, *key, text)?,
                _ => {
                    let key = self.view.key(&row.id)?.ok_or_else(|| moved(&row.id, "it never was there"))?;
                    self.view.put_row(source, key, &self.view.written(row)?)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the log's entry with the receipt.
    fn log(&mut self) -> Result<Value, TargetError> {
        let mut receipt = std::mem::take(&mut self.batch.receipt);
        self.fill(&mut receipt);
        let batch = &self.batch;
        let records = || batch.sources.iter().map(|commit| &commit.record);
        let entry = HistoryEntry {
            id: batch.apply.to_string(),
            at: batch.at,
            actor: batch.actor.clone(),
            operation: APPLY.to_owned(),
            sources: records().map(|record| record.name.to_string()).collect(),
            commits: records().map(|record| record.commit.to_string()).collect(),
            plan: Some(batch.plan.clone()),
            result: format!("{} written, {} deleted", self.written.len(), self.deleted.len()),
            objects: Vec::new(),
        };
        self.view.put_entry(self.entry, entry, &receipt)?;
        Ok(receipt)
    }

    /// Fills in what only the writes could say.
    fn fill(&self, receipt: &mut Value) {
        let Some(Value::Array(changes)) = receipt.get_mut("changes") else { return };
        for change in changes.iter_mut().filter_map(Value::as_object_mut) {
            let id = change.get("id").and_then(|id| serde_json::from_value::<ResourceId>(id.clone()).ok());
            if let Some(outcome) = id.and_then(|id| self.written.get(&id)) {
                change.insert("uid".to_owned(), outcome.uid.as_str().into());
                change.insert("version".to_owned(), outcome.version.to_string().into());
            }
        }
    }
}

/// Checks one write against what is there.
fn check_write(write: &Write, head: Option<&Head>) -> Result<(), TargetError> {
    let id = write.id();
    let (uid, version) = match write {
        Write::Create { .. } => return if head.is_none() { Ok(()) } else { Err(moved(id, "it exists")) },
        Write::Apply { uid, version, .. }
        | Write::Replace { uid, version, .. }
        | Write::Unmark { uid, version, .. } => (uid, version),
        Write::Delete { warrant, version, .. } => (warrant.uid(), version),
    };
    let Some(head) = head else { return Err(moved(id, "it isn't there")) };
    if head.uid != *uid {
        return Err(moved(id, &format!("it has UID {} and not {uid}", head.uid)));
    }
    if head.version != *version {
        return Err(moved(id, &format!("it was written since (resourceVersion {} and not {version})", head.version)));
    }
    let Write::Delete { warrant, .. } = write else { return Ok(()) };
    let ours = matches!(&head.mark, Ok(Some(mark)) if mark.source == *warrant.source() && mark.resource == *id);
    if !ours {
        return Err(moved(id, "its owner mark is another"));
    }
    if strict::is_immortal(id) {
        return Err(moved(id, "a control plane never deletes it"));
    }
    Ok(())
}

fn moved(id: &ResourceId, reason: &str) -> TargetError {
    TargetError::Precondition { id: id.clone(), reason: reason.to_owned() }
}

/// All that was worked out, or every refusal in one.
fn all(results: Vec<Result<Ready, TargetError>>) -> Result<Vec<Ready>, TargetError> {
    let mut ready = Vec::with_capacity(results.len());
    let mut refused = Vec::new();
    for result in results {
        match result {
            Ok(one) => ready.push(one),
            Err(TargetError::Refused { faults }) => refused.extend(faults),
            Err(other) => return Err(other),
        }
    }
    if refused.is_empty() { Ok(ready) } else { Err(TargetError::Refused { faults: refused }) }
}
