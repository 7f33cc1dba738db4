//! What a step of an apply came to, read off the live object alone.

use serde_json::Value;

use super::journal::{Act, Step, mark, uid};
use crate::base::ids::Manager;
use crate::merge::{FieldSet, ManagedFields};
use crate::target::kubernetes::request::MANAGER;

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Found {
    /// It was not written, or all of it was put back.
    NotWritten,
    /// It was written.
    Written,
    /// Its values are put back, its owners not yet.
    ValuesBack,
    /// A replace is between its two halves: the old object is gone and the new one isn't there.
    Between,
    /// Somebody else deleted it, made it anew or took it: it isn't ours to put back.
    Foreign(&'static str),
}

/// Judges a step by the object as it is now.
pub(in super::super) fn judge(step: &Step, live: Option<&Value>) -> Found {
    match step.act {
        Act::Create => created(step, live),
        Act::Apply => applied(step, live),
        Act::Replace => replaced(step, live),
        Act::Unmark => unmarked(step, live),
        // Deletes come after the commit point.
        Act::Delete => Found::NotWritten,
    }
}

fn declared_mark(step: &Step) -> Option<&str> {
    mark(step.declared.as_ref()?)
}

fn created(step: &Step, live: Option<&Value>) -> Found {
    let Some(live) = live else { return Found::NotWritten };
    if mark(live).is_none() || mark(live) != declared_mark(step) {
        return Found::Foreign("another object of that name is there");
    }
    if is_made_by_us(live) { Found::Written } else { Found::Foreign("somebody else made it, and our fields joined it") }
}

/// Whether an object that bears our mark came into being by our apply, and not by somebody who made one of the same name
/// in the same moment: then our fields are as old as the object, and nobody else declared what we did.
pub(in super::super) fn is_made_by_us(live: &Value) -> bool {
    let Ok(managers) = ManagedFields::of(live) else { return false };
    let Some(ours) = managers.applied_by(&Manager::new(MANAGER)) else { return false };
    let born = live.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    let born = born.and_then(|text| text.parse::<jiff::Timestamp>().ok()).map(|t| t.as_millisecond());
    let (Some(born), Some(time)) = (born, ours.time) else { return false };
    let others = managers.entries.iter().filter(|e| !e.is_apply_of(&Manager::new(MANAGER)) && e.subresource.is_empty());
    let shared = others.fold(FieldSet::new(), |all, e| all.union(&e.fields)).intersection(&ours.fields);
    (time.as_millis() - born).abs() <= 1000 && shared.is_empty()
}

fn applied(step: &Step, live: Option<&Value>) -> Found {
    let (Some(before), Some(live)) = (&step.before, live) else { return Found::Foreign("somebody deleted it") };
    if uid(live) != uid(before) {
        return Found::Foreign("somebody deleted it and made it anew");
    }
    if mark(live) == mark(before) {
        // The time of our entry moves with each of our writes.
        let owners_back = our_entry(live) == our_entry(before) && !are_relieved(step, before, live);
        return if owners_back { Found::NotWritten } else { Found::ValuesBack };
    }
    if mark(live) == declared_mark(step) { Found::Written } else { Found::Foreign("its owner mark is another") }
}

/// Whether those whose hold ends with the write lack any of what they held before.
fn are_relieved(step: &Step, before: &Value, live: &Value) -> bool {
    if step.relieves.is_empty() {
        return false;
    }
    let (Ok(before), Ok(live)) = (ManagedFields::of(before), ManagedFields::of(live)) else { return false };
    before.entries.iter().filter(|entry| entry.is_held_by(&step.relieves)).any(|old| {
        let now = live.entries.iter().find(|entry| entry.is_of_the_same(old));
        now.is_none_or(|now| !now.fields.contains(&old.fields))
    })
}

/// Our apply's entry among the owners, as it stands.
pub(in super::super) fn our_entry(object: &Value) -> Option<&Value> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    entries.iter().find(|entry| {
        entry.get("manager").and_then(Value::as_str) == Some(MANAGER)
            && entry.get("operation").and_then(Value::as_str) == Some("Apply")
            && entry.get("subresource").and_then(Value::as_str).unwrap_or_default().is_empty()
    })
}

fn replaced(step: &Step, live: Option<&Value>) -> Found {
    let Some(live) = live else { return Found::Between };
    if uid(live) == step.uid() {
        return Found::NotWritten;
    }
    match created(step, Some(live)) {
        // One that bears the old mark is the old object, made anew by an undo.
        Found::Foreign(_) if step.before.as_ref().is_some_and(|b| mark(b).is_some() && mark(b) == mark(live)) => {
            Found::NotWritten
        }
        found => found,
    }
}

fn unmarked(step: &Step, live: Option<&Value>) -> Found {
    let Some(live) = live else { return Found::Foreign("somebody deleted it") };
    if uid(live) != step.uid() {
        return Found::Foreign("somebody deleted it and made it anew");
    }
    match (mark(live), step.before.as_ref().and_then(mark)) {
        (None, Some(_)) => Found::Written,
        (now, before) if now == before => Found::NotWritten,
        _ => Found::Foreign("its owner mark is another"),
    }
}
