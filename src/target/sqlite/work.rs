//! What can be worked out of a batch before the lock is taken: on all cores, on a snapshot.

use rayon::prelude::*;
use serde::Deserialize as _;
use serde_json::Value;

use super::prepare::{Context, Item, Ready};
use super::strict;
use super::view::View;
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::ResourceId;
use crate::inventory::{PruneWarrant, Row};
use crate::schema::Catalog;
use crate::schema::crd::Crd;
use crate::target::{Batch, Head, TargetError, Write};

/// How many stored objects are held at once while writes are worked out.
const CHUNK: usize = 1024;

/// One step of an apply.
pub(super) enum Step {
    /// An object is stored.
    Store(Box<Ready>),
    /// A warranted delete.
    Delete {
        /// The proof that it is ours.
        warrant: PruneWarrant,
        /// Exactly what goes along.
        cascade: Vec<ResourceId>,
    },
}

/// A batch, worked out. It holds for the revision that it was made on, and for no other.
pub(super) struct Work {
    pub(super) revision: String,
    pub(super) steps: Vec<Step>,
    /// The counter after the last object that is stored.
    pub(super) counter: i64,
    pub(super) receipt: Value,
    /// The receipt as JSON.
    pub(super) receipt_text: String,
}

impl Work {
    /// Checks everything that must hold, and works out what is to be stored. Takes writes, their rows and the receipt out
    /// of the batch.
    pub(super) fn make(view: &View, batch: &mut Batch) -> Result<Self, TargetError> {
        check(view, batch)?;
        let writes = std::mem::take(&mut batch.writes);
        let catalog = catalog(view, &writes)?;
        let mut rows = rows(batch, &writes)?;
        let creates = writes.iter().filter(|write| matches!(write, Write::Create { .. })).map(Write::id);
        let mut former = view.former(&creates.collect::<Vec<_>>())?;
        let context = Context { catalog: &catalog, at: batch.at };
        let mut counter = view.counter()?;
        let mut steps = Vec::with_capacity(writes.len());
        let mut items = Vec::with_capacity(writes.len().min(CHUNK));
        for write in writes {
            if let Write::Delete { warrant, cascade, .. } = write {
                work_out(&context, &mut items, &mut steps)?;
                steps.push(Step::Delete { warrant, cascade });
                continue;
            }
            counter += 1;
            let live = match &write {
                Write::Create { .. } => None,
                other => view.stored(other.id())?,
            };
            let (former, row) = (former.remove(write.id()), rows.remove(write.id()));
            items.push(Item { write, live, version: counter, former, row });
            if items.len() == CHUNK {
                work_out(&context, &mut items, &mut steps)?;
            }
        }
        work_out(&context, &mut items, &mut steps)?;
        let mut receipt = std::mem::take(&mut batch.receipt);
        fill(&mut receipt, &steps);
        let receipt_text = receipt.to_string();
        Ok(Self { revision: view.revision_text()?, steps, counter, receipt, receipt_text })
    }
}

fn work_out(context: &Context<'_>, items: &mut Vec<Item>, steps: &mut Vec<Step>) -> Result<(), TargetError> {
    let results: Vec<_> = std::mem::take(items).into_par_iter().map(|item| context.prepare(item)).collect();
    let mut refused = Vec::new();
    for result in results {
        match result {
            Ok(ready) => steps.push(Step::Store(Box::new(ready))),
            Err(TargetError::Refused { faults }) => refused.extend(faults),
            Err(other) => return Err(other),
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(TargetError::Refused { faults: refused }) }
}

/// Checks everything that must hold before the first write.
fn check(view: &View, batch: &Batch) -> Result<(), TargetError> {
    if let (true, Some(plan)) = (batch.single_use, &batch.plan)
        && view.plan_was_applied(plan)?
    {
        return Err(view.name.write_failed("the plan was applied before"));
    }
    for commit in &batch.sources {
        let serial = view.source_record(&commit.record.id)?.map_or(0, |(_, record)| record.serial);
        if serial != commit.serial_before {
            let (name, then) = (&commit.record.name, commit.serial_before);
            return Err(view.name.write_failed(format!("the inventory of {name} has serial {serial} and not {then}")));
        }
    }
    let ids: Vec<&ResourceId> = batch.writes.iter().map(Write::id).collect();
    let mut seen = HashSet::with_capacity_and_hasher(ids.len(), Default::default());
    if let Some(twice) = ids.iter().find(|id| !seen.insert(**id)) {
        return Err(moved(twice, "it is written twice in one apply"));
    }
    let heads = view.find_heads(&ids)?;
    batch.writes.iter().try_for_each(|write| check_write(write, heads.get(write.id())))
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

/// The kinds that are served once the apply's own definitions are there.
fn catalog(view: &View, writes: &[Write]) -> Result<Catalog, TargetError> {
    let builtin = Catalog::builtin();
    let kinds: HashSet<(&str, &str)> =
        writes.iter().map(|write| (write.id().group.as_str(), write.id().kind.as_str())).collect();
    let is_builtin = |&(group, kind): &(&str, &str)| {
        !builtin.by_group_kind(&crate::base::resource::GroupKind::new(group, kind)).is_empty()
    };
    if kinds.iter().all(is_builtin) {
        return Ok(builtin);
    }
    let ours = writes.iter().filter(|write| write.id().is_definition()).filter_map(|write| match write {
        // One that can't be read is refused when its turn comes.
        Write::Create { declared, .. } | Write::Apply { declared, .. } | Write::Replace { declared, .. } => {
            Crd::read(declared).ok()
        }
        Write::Unmark { .. } | Write::Delete { .. } => None,
    });
    Ok(view.catalog()?.with_crds(ours.collect()))
}

/// Takes the inventory rows of what is written out of the batch, each with the place of its Source.
fn rows(batch: &mut Batch, writes: &[Write]) -> Result<HashMap<ResourceId, (usize, Row)>, TargetError> {
    let ids: HashSet<&ResourceId> = writes.iter().map(Write::id).collect();
    let mut rows = HashMap::with_capacity_and_hasher(ids.len(), Default::default());
    for (place, commit) in batch.sources.iter_mut().enumerate() {
        for row in std::mem::take(&mut commit.upserts) {
            if !ids.contains(&row.id) {
                commit.upserts.push(row);
            } else if let Some((_, row)) = rows.insert(row.id.clone(), (place, row)) {
                return Err(moved(&row.id, "two Sources of one apply would own it"));
            }
        }
    }
    Ok(rows)
}

/// Fills in what only the writes can say.
fn fill(receipt: &mut Value, steps: &[Step]) {
    let Some(Value::Array(changes)) = receipt.get_mut("changes") else { return };
    let written = steps.iter().filter_map(|step| match step {
        Step::Store(ready) => Some((&ready.id, ready.after())),
        Step::Delete { .. } => None,
    });
    let written: HashMap<&ResourceId, (&str, i64)> = written.collect();
    for change in changes.iter_mut().filter_map(Value::as_object_mut) {
        let id = change.get("id").and_then(|id| ResourceId::deserialize(id).ok());
        if let Some((uid, version)) = id.and_then(|id| written.get(&id).copied()) {
            change.insert("uid".to_owned(), uid.into());
            change.insert("version".to_owned(), version.to_string().into());
        }
    }
}

pub(super) fn moved(id: &ResourceId, reason: &str) -> TargetError {
    TargetError::Precondition { id: id.clone(), reason: reason.to_owned() }
}
