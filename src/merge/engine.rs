//! The one computation behind a plan and an apply: what a live object becomes, and who holds what then.

use std::borrow::Cow;

use serde_json::Value;

use super::changes::{self, FieldChange};
use super::combine;
use super::compare::Comparison;
use super::error::MergeError;
use super::fieldset::FieldSet;
use super::managed::{Entry, ManagedFields, Operation};
use super::prune::prune;
use super::unions;
use crate::base::clock::Moment;
use crate::base::ids::Manager;
use crate::base::pointer::Pointer;
use crate::schema::KindSchema;

/// Who holds the fields of an object that doesn't say who does, as the API server has it.
pub(super) const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// What an apply of a declared value comes to.
pub(super) struct Applied<'a> {
    /// The object as it would be, with the live `managedFields`.
    pub(super) result: Cow<'a, Value>,
    /// What the declared value declares.
    pub(super) ours: FieldSet,
    /// What differs from the live object, by place.
    pub(super) changes: Vec<FieldChange>,
    /// The same as sets; `None` if nothing differs.
    pub(super) comparison: Option<Comparison>,
    /// What only the target had filled in and was in the way.
    pub(super) dropped_defaults: Vec<Pointer>,
}

/// The managers of a live object; where it names none, one that stands for whoever wrote it.
pub(super) fn managers(schema: &KindSchema, live: Option<&Value>) -> Result<ManagedFields, MergeError> {
    let Some(live) = live else { return Ok(ManagedFields::default()) };
    let mut managers = ManagedFields::of(live)?;
    if managers.entries.is_empty() {
        let fields = FieldSet::of_object(schema.root(), live);
        managers.entries.push(Entry {
            manager: Manager::new(BEFORE_FIRST_APPLY),
            operation: Operation::Update,
            api_version: live.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned(),
            time: None,
            subresource: String::new(),
            fields,
        });
    }
    Ok(managers)
}

/// Applies a declared value. Field names of sets of other versions of the kind are taken at face value: without the
/// target's conversion nobody can know better, and a name that this version lacks does nothing.
pub(super) fn apply<'a>(
    schema: &KindSchema,
    live: Option<&'a Value>,
    declared: &Value,
    managers: &ManagedFields,
    manager: &Manager,
) -> Result<Applied<'a>, MergeError> {
    if !declared.is_object() {
        return Err(MergeError::NoObject("declared"));
    }
    let node = schema.root();
    let ours = FieldSet::of_object(node, declared);
    let Some(live) = live else {
        let result = Cow::Owned(combine::created(node, declared));
        return Ok(Applied { result, ours, changes: Vec::new(), comparison: None, dropped_defaults: Vec::new() });
    };
    if !live.is_object() {
        return Err(MergeError::NoObject("live"));
    }
    let merged = combine::object(node, live, declared, defaults(schema))?;
    let mut result = merged.map_or(Cow::Borrowed(live), Cow::Owned);
    let mut dropped_defaults = Vec::new();

    let last = managers.applied_by(manager).map(|entry| &entry.fields);
    let needs_others =
        last.is_some_and(|last| *last != ours && !ours.contains(last)) || matches!(result, Cow::Owned(_));
    if needs_others {
        let others = managers
            .entries
            .iter()
            .filter(|entry| !entry.is_apply_of(manager))
            .fold(FieldSet::default(), |all, entry| all.union(&entry.fields));
        if let Some(last) = last {
            result = prune(node, result, last, declared, &ours, &others);
        }
        if let Some(at) = unions::in_the_way(schema, &result, declared, &ours.union(&others)) {
            unions::take_out(result.to_mut(), &at);
            dropped_defaults.push(at);
        }
    }
    let mut changes = Vec::new();
    let mut comparison = None;
    if let Cow::Owned(new) = &mut result {
        if let (Some(version), Some(map)) = (declared.get("apiVersion"), new.as_object_mut()) {
            map.insert("apiVersion".to_owned(), version.clone());
        }
        changes = changes::between(node, live, new);
        comparison = Some(Comparison::of(node, Some(live), new));
    }
    // What goes may have meant nothing: then the live object stays as it is.
    if changes.is_empty() {
        (result, comparison) = (Cow::Borrowed(live), None);
    }
    Ok(Applied { result, ours, changes, comparison, dropped_defaults })
}

/// Who holds what after an apply.
pub(super) fn managers_after(
    mut managers: ManagedFields,
    applied: &Applied<'_>,
    manager: &Manager,
    api_version: &str,
    now: Moment,
) -> ManagedFields {
    if let Some(comparison) = &applied.comparison {
        lose(&mut managers, comparison, |entry| !entry.is_apply_of(manager));
    }
    let entry = Entry {
        manager: manager.clone(),
        operation: Operation::Apply,
        api_version: api_version.to_owned(),
        time: Some(now),
        subresource: String::new(),
        fields: applied.ours.clone(),
    };
    match managers.entries.iter_mut().find(|entry| entry.is_apply_of(manager)) {
        // The time is that of the last change, of values or of what is held.
        Some(old) => {
            let same = old.fields == entry.fields && old.api_version == entry.api_version;
            if !same || applied.comparison.is_some() {
                *old = entry;
            }
        }
        None => managers.entries.push(entry),
    }
    // An object that names nobody at all would read as one from before the first apply.
    let somebody = managers.entries.iter().any(|entry| !entry.fields.is_empty());
    managers.entries.retain(|entry| !entry.fields.is_empty() || (!somebody && entry.is_apply_of(manager)));
    managers
}

/// Takes from everybody else what was written or removed.
pub(super) fn lose(managers: &mut ManagedFields, comparison: &Comparison, loses: impl Fn(&Entry) -> bool) {
    let lost = comparison.written().union(&comparison.removed);
    for entry in managers.entries.iter_mut().filter(|entry| loses(entry)) {
        entry.fields = entry.fields.difference(&lost);
    }
    managers.entries.retain(|entry| !entry.fields.is_empty());
}

/// Values of keys of the object itself that mean the same as none there, where the published schema doesn't say so.
fn defaults(schema: &KindSchema) -> &'static [(&'static str, &'static str)] {
    if schema.gvk.group.is_empty() && schema.gvk.kind == "Secret" { &[("type", "Opaque")] } else { &[] }
}
