//! Gives a Source another name on a target: its ID, its inventory and its marks stay, and no object is written.

use serde_json::{Value, json};

use super::context::Context;
use super::receipt::{RECEIPT_VERSION, Receipt};
use super::rules::{SOURCE_NAME_TAKEN, UNKNOWN_SOURCE};
use super::transaction::{ApplyError, ApplyOptions, refused};
use crate::base::clock::Moment;
use crate::base::fault::Fault;
use crate::base::ids::SourceName;
use crate::inventory::{FormerName, SourceRecord, present};
use crate::target::{Batch, Operation, Reader, SourceCommit};

/// Renames a Source.
///
/// # Errors
/// If the target knows no Source of the old name or has one of the new name, somebody asked to stop, or the target
/// fails. Then nothing was written, unless the error says that it isn't known.
pub fn rename(
    context: &Context<'_>,
    old: &SourceName,
    new: &SourceName,
    options: &ApplyOptions,
) -> Result<Receipt, ApplyError> {
    let id = named(context.target.reader()?.as_ref(), old, new)?.id;
    let writer = context.target.writer(std::slice::from_ref(&id), options.lock_timeout)?;
    let mut record = named(writer.reader(), old, new)?;
    if context.interrupt.is_raised() {
        return Err(ApplyError::Interrupted);
    }
    let at = context.clock.now();
    record.former_names.push(FormerName { name: old.clone(), until: at });
    record.name = new.clone();
    let receipt = receipt(&record, old, options, at);
    let commit = SourceCommit {
        serial_before: record.serial,
        record,
        upserts: Vec::new(),
        removed: Vec::new(),
        released: Vec::new(),
    };
    let written = writer.commit(
        Batch {
            operation: Operation::Rename,
            apply: options.apply.clone(),
            at,
            actor: options.actor.clone(),
            plan: None,
            single_use: false,
            writes: Vec::new(),
            accounts: Vec::new(),
            gates: Vec::new(),
            interrupt: context.interrupt.clone(),
            sources: vec![commit],
            receipt,
        }
        .into(),
    )?;
    Ok(Receipt { json: written.receipt, held: written.held })
}

/// The record of the old name, if the new one is free.
fn named(reader: &dyn Reader, old: &SourceName, new: &SourceName) -> Result<SourceRecord, ApplyError> {
    let known = reader.sources()?;
    let Some(record) = present(&known, old) else {
        return Err(refused(false, vec![unknown(old, &known)]));
    };
    if let Some(taken) = present(&known, new) {
        let text = format!("the target has a Source {new} already, which owns what it brought (ID {})", taken.id);
        let fault = Fault::new(SOURCE_NAME_TAKEN, text).owner(new.clone());
        return Err(refused(false, vec![fault.hint("choose another name, or remove that Source first")]));
    }
    Ok(record.clone())
}

/// That the target has no Source of this name, with what became of one that had it.
pub(crate) fn unknown(name: &SourceName, known: &[SourceRecord]) -> Fault {
    let fault = Fault::new(UNKNOWN_SOURCE, format!("the target knows no Source {name}"));
    if let Some(renamed) = known.iter().find(|r| r.removed_at.is_none() && r.was_called(name)) {
        return fault.hint(format!("it was renamed: its name is {} now", renamed.name));
    }
    if known.iter().any(|r| r.removed_at.is_some() && r.name == *name) {
        return fault.hint("a Source of this name was removed; holdfast source list shows when");
    }
    fault.hint("holdfast source list shows those that were applied here")
}

fn receipt(record: &SourceRecord, old: &SourceName, options: &ApplyOptions, at: Moment) -> Value {
    json!({
        "formatVersion": RECEIPT_VERSION,
        "result": "renamed",
        "applyId": options.apply,
        "actor": options.actor,
        "at": at.rfc3339(),
        "sources": [{"name": record.name, "id": record.id, "commit": record.commit, "formerName": old}],
        "writes": 0,
        "deletes": 0,
    })
}
