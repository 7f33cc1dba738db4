//! The planner's merge: pure, and with all that a plan says about it.

use std::borrow::Cow;

use serde_json::Value;

use super::changes::FieldChange;
use super::engine::{self, Applied};
use super::error::MergeError;
use super::fieldset::FieldSet;
use super::left_alone;
use super::managed::ManagedFields;
use crate::base::ids::Manager;
use crate::base::pointer::Pointer;
use crate::schema::KindSchema;

/// What a merge is asked.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The kind.
    pub schema: &'a KindSchema,
    /// The live object.
    pub live: Option<&'a Value>,
    /// What is declared, normalised ([`super::normalize`]).
    pub declared: &'a Value,
    /// What the inventory says our last apply declared.
    pub declared_before: Option<&'a FieldSet>,
    /// Whose apply it is.
    pub manager: &'a Manager,
    /// Fields that are declared but left alone: they stay as they are, and ours if they are.
    pub left_alone: &'a [Pointer],
}

/// A field that another manager holds with another value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taken {
    /// The field: as it will be, or as it is if it goes.
    pub path: Pointer,
    /// Its holder.
    pub manager: Manager,
}

/// A field that was declared before and no longer is, and that stays because somebody else took it meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// The field.
    pub path: Pointer,
    /// Its holder; empty if the live object names nobody.
    pub manager: Manager,
}

/// What a merge comes to.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// The whole object as it would be, with the live `managedFields`; the live one itself if nothing changes.
    pub result: Cow<'a, Value>,
    /// What to send: the declared object, with what is left alone as it is live, or without it.
    pub declared: Cow<'a, Value>,
    /// What that declares: for the inventory, and the next merge's `declared_before`.
    pub fields: FieldSet,
    /// What differs from the live object, by place; empty where nothing is live.
    pub changes: Vec<FieldChange>,
    /// Fields that have the declared value already and aren't ours yet.
    pub newly_owned: Vec<Pointer>,
    /// Fields that another manager holds and that change.
    pub taken: Vec<Taken>,
    /// Fields that others took and that are declared no more.
    pub left: Vec<Left>,
    /// Fields that only the target had filled in and that a declared change can't stand beside.
    pub dropped_defaults: Vec<Pointer>,
}

impl Outcome<'_> {
    /// Whether the live object is as declared, who holds what aside.
    pub fn is_unchanged(&self) -> bool {
        matches!(self.result, Cow::Borrowed(_))
    }
}

/// Says what an apply of a declared object would do to the live one.
///
/// # Errors
/// If the live object's field owners can't be read, or an entry of a list is declared twice.
pub fn merge<'a>(ask: &Ask<'a>) -> Result<Outcome<'a>, MergeError> {
    let managers = engine::managers(ask.schema, ask.live)?;
    let node = ask.schema.root();
    let last = managers.applied_by(ask.manager).map(|entry| &entry.fields);
    let declared = left_alone::effective(node, ask.live, ask.declared, last, ask.left_alone);
    let applied = engine::apply(ask.schema, ask.live, &declared, &managers, ask.manager)?;
    let mut out = Outcome {
        result: Cow::Borrowed(&Value::Null),
        declared: Cow::Borrowed(&Value::Null),
        fields: FieldSet::default(),
        changes: Vec::new(),
        newly_owned: Vec::new(),
        taken: Vec::new(),
        left: Vec::new(),
        dropped_defaults: Vec::new(),
    };
    if let Some(live) = ask.live {
        out.newly_owned = newly_owned(&applied, last, &declared);
        out.taken = taken(&applied, &managers, ask.manager, live);
        let before = [last, ask.declared_before].into_iter().flatten();
        let gone = before
            .filter(|before| **before != applied.ours)
            .fold(FieldSet::default(), |gone, before| gone.union(&before.difference(&applied.ours)));
        if !gone.is_empty() {
            out.left = left(ask, &applied, &managers, &gone);
        }
    }
    out.changes = applied.changes;
    out.dropped_defaults = applied.dropped_defaults;
    out.fields = applied.ours;
    out.result = applied.result;
    out.declared = declared;
    Ok(out)
}

fn newly_owned(applied: &Applied<'_>, last: Option<&FieldSet>, declared: &Value) -> Vec<Pointer> {
    if last.is_some_and(|last| *last == applied.ours || last.contains(&applied.ours)) {
        return Vec::new();
    }
    let mut new = last.map_or_else(|| applied.ours.clone(), |last| applied.ours.difference(last));
    if let Some(comparison) = &applied.comparison {
        new = new.difference(&comparison.written());
    }
    let new = new.leaves();
    let pointers = new.pointers(&applied.result);
    // What means the same as nothing may stand in the declared object alone.
    if pointers.len() == new.len() { pointers } else { new.pointers(declared) }
}

fn taken(applied: &Applied<'_>, managers: &ManagedFields, ours: &Manager, live: &Value) -> Vec<Taken> {
    let Some(comparison) = &applied.comparison else { return Vec::new() };
    let written = comparison.written();
    let mut all = Vec::new();
    for entry in managers.entries.iter().filter(|entry| !entry.is_apply_of(ours)) {
        let written = entry.fields.intersection(&written).leaves().pointers(&applied.result);
        let removed = entry.fields.intersection(&comparison.removed).leaves().pointers(live);
        all.extend(written.into_iter().chain(removed).map(|path| Taken { path, manager: entry.manager.clone() }));
    }
    all.sort();
    all.dedup();
    all
}

fn left(ask: &Ask<'_>, applied: &Applied<'_>, managers: &ManagedFields, gone: &FieldSet) -> Vec<Left> {
    let mut rest = gone.intersection(&FieldSet::of_object(ask.schema.root(), &applied.result));
    let mut all = Vec::new();
    let stay = rest.clone();
    for entry in managers.entries.iter().filter(|entry| !entry.is_apply_of(ask.manager)) {
        let held = entry.fields.intersection(&stay);
        rest = rest.difference(&held);
        let pointers = held.leaves().pointers(&applied.result);
        all.extend(pointers.into_iter().map(|path| Left { path, manager: entry.manager.clone() }));
    }
    let nobody = rest.leaves().pointers(&applied.result);
    all.extend(nobody.into_iter().map(|path| Left { path, manager: Manager::new("") }));
    all.sort();
    all.dedup();
    all
}
