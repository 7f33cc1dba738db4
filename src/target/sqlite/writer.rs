//! One apply in one transaction.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Embedded;
use super::prepare::Ready;
use super::store::Puts;
use super::strict;
use super::view::View;
use super::work::{Step, Work, moved};
use crate::base::clock::Moment;
use crate::base::failpoint;
use crate::base::ids::{ObjectUid, SourceId};
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::{GroupKind, ResourceId};
use crate::inventory::PruneWarrant;
use crate::target::{
    Batch, Contents, Head, HistoryEntry, Operation, Reader, SourceCommit, Staged, TargetError, Writer, Written,
};

/// A transaction that holds the write lock.
pub(super) struct Transaction<'t> {
    pub(super) target: &'t Embedded,
    pub(super) view: View,
    /// When the lock was had.
    pub(super) since: Instant,
}

impl Writer for Transaction<'_> {
    fn reader(&self) -> &dyn Reader {
        &self.view
    }

    fn commit(self: Box<Self>, staged: Staged) -> Result<Written, TargetError> {
        let Self { target, view, since } = *self;
        let Staged { mut batch, work } = staged;
        let work = match work {
            None => Work::make(&view, &mut batch)?,
            Some(work) => match work.downcast::<Work>() {
                // It was all checked on the revision that is still the present one.
                Ok(work) if work.revision == view.revision_text()? => *work,
                Ok(_) => return Err(view.name.write_failed("the target was written since this was staged")),
                Err(_) => return Err(view.name.write_failed("what was staged is another target's")),
            },
        };
        failpoint::hit(failpoint::AFTER_CHECKS);
        // On an error the connection goes, and the transaction with it.
        let mut written = Apply::new(&view, &batch, work.counter)?.run(work)?;
        failpoint::hit(failpoint::BEFORE_COMMIT);
        let ended = finish(target, view, batch.apply.as_str(), batch.at)?;
        written.held = ended.duration_since(since);
        failpoint::hit(failpoint::AFTER_COMMIT);
        Ok(written)
    }
}

/// Commits; when that was done. If SQLite can't say whether that took place, the file itself is asked for the log's entry.
pub(super) fn finish(target: &Embedded, view: View, entry: &str, at: Moment) -> Result<Instant, TargetError> {
    let View { conn, name, .. } = view;
    let error = match commit(&conn) {
        Ok(ended) => return Ok(ended),
        Err(error) => error,
    };
    let ended = Instant::now();
    drop(conn);
    match target.view().and_then(|view| view.has_entry(entry, at)) {
        Ok(true) => Ok(ended),
        Ok(false) => Err(name.writing(error)),
        Err(then) => Err(TargetError::Unknown { target: name.shown, reason: format!("{error}, and then: {then}") }),
    }
}

/// Commits and writes the log back; when the former was done.
pub(super) fn commit(conn: &Connection) -> rusqlite::Result<Instant> {
    conn.execute_batch("COMMIT")?;
    let ended = Instant::now();
    // Whatever comes of it: what is committed is in the log, and the next write puts it back.
    let _ = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
    Ok(ended)
}

/// An object that is gone.
struct Deleted {
    key: i64,
    uid: ObjectUid,
    /// The Source that its mark named, if it was made for it.
    owner: Option<SourceId>,
}

struct Apply<'v> {
    view: &'v View,
    batch: &'v Batch,
    puts: Puts<'v>,
    /// The counter; each delete gets the next.
    counter: i64,
    entry: i64,
    /// The keys of the batch's Sources.
    sources: Vec<i64>,
    namespaces: HashSet<String>,
    written: Vec<(ResourceId, ObjectUid, String)>,
    /// What was deleted.
    deleted: HashMap<ResourceId, Deleted>,
}

impl<'v> Apply<'v> {
    fn new(view: &'v View, batch: &'v Batch, counter: i64) -> Result<Self, TargetError> {
        let namespaces = view.list_heads(&Contents::Kind(GroupKind::new("", "Namespace")))?;
        let sources = batch.sources.iter().map(|commit| view.put_source(&commit.record));
        Ok(Self {
            view,
            batch,
            puts: view.puts()?,
            counter,
            entry: view.next_entry()?,
            sources: sources.collect::<Result<_, _>>()?,
            namespaces: namespaces.into_iter().map(|head| head.id.name).collect(),
            written: Vec::new(),
            deleted: HashMap::default(),
        })
    }

    fn run(mut self, work: Work) -> Result<Written, TargetError> {
        self.written.reserve(work.steps.len());
        for step in work.steps {
            match step {
                Step::Store(ready) => {
                    self.store(*ready)?;
                    failpoint::hit(failpoint::AFTER_OBJECT);
                }
                Step::Delete { warrant, cascade } => self.delete(&warrant, &cascade)?,
            }
        }
        let serials = self.rows()?;
        failpoint::hit(failpoint::AFTER_INVENTORY);
        self.log(&work.receipt_text)?;
        // A commit that writes no object is seen by the counter too.
        self.view.set_counter(self.counter + 1)?;
        failpoint::hit(failpoint::AFTER_LOG);
        Ok(Written { objects: self.written, serials, receipt: work.receipt, held: Duration::ZERO })
    }

    fn store(&mut self, ready: Ready) -> Result<(), TargetError> {
        let Ready { id, operation, before, former, formed, fields, row } = ready;
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
                let key = self.puts.object(&id, former, &formed)?.ok_or_else(|| moved(&id, "it exists"))?;
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
        self.puts.line(key, self.entry, (operation, &uid, version), fields.as_deref())?;
        if let Some((source, text)) = row
            && let Some(source) = self.sources.get(source)
        {
            self.puts.row(*source, key, &text)?;
        }
        if id.is_namespace() {
            self.namespaces.insert(id.name.clone());
        }
        let uid = ObjectUid::parse(&uid).map_err(|_| self.view.name.damaged("a UID can't be read"))?;
        self.written.push((id, uid, version.to_string()));
        Ok(())
    }

    /// What goes along with an object that is made anew.
    fn replaced(&mut self, id: &ResourceId) -> Result<(), TargetError> {
        let Some(head) = self.view.find_heads(&[id])?.remove(id) else { return Err(moved(id, "it isn't there")) };
        let along = self.view.cascade(std::slice::from_ref(&head))?;
        let holds = id.is_namespace() || id.is_definition();
        if let Some(lost) = along.values().find(|head| holds || !matches!(head.mark, Ok(None))) {
            return Err(moved(id, &format!("{} would go along with it", lost.id)));
        }
        along.into_values().try_for_each(|head| self.take(&head))
    }

    /// A warranted delete, with exactly what was said to go along.
    fn delete(&mut self, warrant: &PruneWarrant, cascade: &[ResourceId]) -> Result<(), TargetError> {
        let id = warrant.id();
        if let Some(deleted) = self.deleted.get(id) {
            // It went along with an earlier one.
            return if deleted.uid == *warrant.uid() { Ok(()) } else { Err(moved(id, "its UID is another")) };
        }
        let head = self.view.find_heads(&[id])?.remove(id).filter(|head| head.uid == *warrant.uid());
        let Some(head) = head else { return Err(moved(id, "it isn't there")) };
        let along = self.view.cascade(std::slice::from_ref(&head))?;
        let said: BTreeSet<&ResourceId> = cascade.iter().collect();
        if let Some(more) = along.keys().find(|id| !said.contains(id)) {
            return Err(moved(id, &format!("{more} would go along with it")));
        }
        let fewer = said.into_iter().find(|id| !along.contains_key(*id) && !self.deleted.contains_key(*id));
        if let Some(fewer) = fewer {
            return Err(moved(id, &format!("{fewer} would not go along with it")));
        }
        along.values().chain([&head]).try_for_each(|head| self.take(head))
    }

    /// Takes one object away.
    fn take(&mut self, head: &Head) -> Result<(), TargetError> {
        let id = &head.id;
        if self.written.iter().any(|(written, ..)| written == id) {
            return Err(moved(id, "it is written and would go along with a delete"));
        }
        let key = self.view.key(id)?.ok_or_else(|| moved(id, "it isn't there"))?;
        self.counter += 1;
        self.view.remove(key)?;
        self.puts.line(key, self.entry, ("deleted", head.uid.as_str(), self.counter), None)?;
        if id.is_namespace() {
            self.namespaces.remove(&id.name);
        }
        let mark = head.mark.as_ref().ok().and_then(Option::as_ref).filter(|mark| mark.resource == *id);
        let owner = mark.map(|mark| mark.source.clone());
        self.deleted.insert(id.clone(), Deleted { key, uid: head.uid.clone(), owner });
        failpoint::hit(failpoint::AFTER_DELETE);
        Ok(())
    }

    /// Writes the rows of what stays as it is, and ends others.
    fn rows(&mut self) -> Result<Vec<(SourceId, u64)>, TargetError> {
        let mut serials = Vec::with_capacity(self.sources.len());
        for (source, commit) in self.sources.clone().into_iter().zip(&self.batch.sources) {
            self.inventory(source, commit)?;
            serials.push((commit.record.id.clone(), commit.record.serial));
        }
        for (id, Deleted { key, uid, owner }) in &self.deleted {
            // The row of a Source whose mark it doesn't bear owns nothing: that Source's next plan ends it.
            let Some(owner) = owner else { continue };
            if self.view.has_row(owner, *key, uid)? {
                return Err(moved(id, &format!("it goes, and Source {owner} would keep its inventory row")));
            }
        }
        Ok(serials)
    }

    fn inventory(&mut self, source: i64, commit: &SourceCommit) -> Result<(), TargetError> {
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
            let key = self.view.key(&row.id)?.ok_or_else(|| moved(&row.id, "it never was there"))?;
            self.puts.row(source, key, &self.view.written(row)?)?;
        }
        Ok(())
    }

    /// Writes the log's entry with the receipt.
    fn log(&self, receipt: &str) -> Result<(), TargetError> {
        let batch = self.batch;
        let records = || batch.sources.iter().map(|commit| &commit.record);
        let entry = HistoryEntry {
            id: batch.apply.to_string(),
            at: batch.at,
            actor: batch.actor.clone(),
            claimed: false,
            operation: batch.operation.as_str().to_owned(),
            sources: records().map(|record| record.name.to_string()).collect(),
            commits: records().map(|record| record.commit.to_string()).collect(),
            plan: batch.plan.clone(),
            result: match batch.operation {
                Operation::Rename => "renamed".to_owned(),
                _ => format!("{} written, {} deleted", self.written.len(), self.deleted.len()),
            },
            objects: Vec::new(),
        };
        self.view.put_entry(self.entry, entry, receipt).map(drop)
    }
}
