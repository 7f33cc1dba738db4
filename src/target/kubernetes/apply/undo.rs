//! How an update is taken back, field by field: what still holds our value gets the old one, then the old owners.

use serde_json::{Map, Value, json};

use super::journal::{Step, version};
use super::judge::our_entry;
use crate::base::ids::Manager;
use crate::merge::{Entry, FieldSet, ManagedFields, MergeError, differing, extract};
use crate::schema::KindSchema;
use crate::target::kubernetes::request::MANAGER;

/// Who held what, before and now.
struct Owners {
    before: ManagedFields,
    now: ManagedFields,
    ours_before: FieldSet,
    ours_now: FieldSet,
    /// What our apply took from others.
    taken: FieldSet,
}

fn others(managers: &ManagedFields) -> FieldSet {
    let ours = Manager::new(MANAGER);
    managers.entries.iter().filter(|e| !e.is_apply_of(&ours)).fold(FieldSet::new(), |all, e| all.union(&e.fields))
}

fn applied(managers: &ManagedFields) -> FieldSet {
    managers.applied_by(&Manager::new(MANAGER)).map(|entry| entry.fields.clone()).unwrap_or_default()
}

impl Owners {
    fn of(before: &Value, live: &Value, ours_written: &FieldSet) -> Result<Self, MergeError> {
        let (before, now) = (ManagedFields::of(before)?, ManagedFields::of(live)?);
        let (ours_before, ours_now) = (applied(&before), applied(&now));
        // Whoever held what we declared and doesn't now lost it to us, or gave it up.
        let taken = others(&before).intersection(ours_written).difference(&others(&now));
        Ok(Self { before, now, ours_before, ours_now, taken })
    }
}

impl Owners {
    /// What others hold now and did not before.
    fn come(&self) -> FieldSet {
        let ours = Manager::new(MANAGER);
        self.now.entries.iter().filter(|entry| !entry.is_apply_of(&ours)).fold(FieldSet::new(), |all, now| {
            let old = self.before.entries.iter().find(|old| old.is_of_the_same(now));
            all.union(&old.map_or_else(|| now.fields.clone(), |old| now.fields.difference(&old.fields)))
        })
    }
}

/// What is applied so that the old values are there again; its owner is `holdfast` until [`owners_back`].
///
/// A field is in it only where we hold it still, or where it was ours, git dropped it and nobody else took it up: what
/// others wrote since stays.
pub(in super::super) fn values_back(
    schema: Option<&KindSchema>,
    step: &Step,
    live: &Value,
) -> Result<Value, MergeError> {
    let (Some(before), Some(declared)) = (&step.before, &step.declared) else { return Ok(Value::Null) };
    let ours_declared = fields_of(schema, declared);
    let owners = Owners::of(before, live, &ours_declared)?;
    let others_now = others(&owners.now);
    let dropped = owners.ours_before.difference(&ours_declared).difference(&others_now);
    // What others hold too by now is theirs to change.
    let held = owners.ours_now.intersection(&owners.ours_before).difference(&others_now);
    let back = held.union(&dropped).union(&owners.taken.intersection(&owners.ours_now));
    let mut body = extract(schema, before, &back);
    identify(&mut body, before, live);
    Ok(body)
}

/// The owners as they were, with what others have come to hold since.
///
/// `Ok(None)` if they are so already.
pub(in super::super) fn owners_back(
    schema: Option<&KindSchema>,
    step: &Step,
    live: &Value,
) -> Result<Option<Value>, MergeError> {
    let (Some(before), Some(declared)) = (&step.before, &step.declared) else { return Ok(None) };
    let ours = Manager::new(MANAGER);
    let owners = Owners::of(before, live, &fields_of(schema, declared))?;
    let mut entries: Vec<Entry> = Vec::new();
    for entry in owners.now.entries.iter().filter(|entry| !entry.is_apply_of(&ours)) {
        entries.push(entry.clone());
    }
    // What a relieved one held goes back to it, but where others changed or took it since.
    let changed = if step.relieves.is_empty() { FieldSet::new() } else { differing(schema, before, live) };
    for old in owners.before.entries.iter().filter(|entry| !entry.is_apply_of(&ours)) {
        let mut back = old.fields.intersection(&owners.taken);
        if old.is_held_by(&step.relieves) {
            back = back.union(&old.fields.difference(&changed).difference(&owners.come()));
        }
        if back.is_empty() {
            continue;
        }
        match entries.iter_mut().find(|entry| entry.is_of_the_same(old)) {
            Some(entry) => entry.fields = entry.fields.union(&back),
            None => entries.push(Entry { fields: back, ..old.clone() }),
        }
    }
    if let Some(old) = owners.before.applied_by(&ours) {
        // What was ours and somebody took since is theirs.
        let lost = old.fields.difference(&owners.ours_now);
        let lost = lost.intersection(&others(&owners.now)).difference(&others(&owners.before));
        let fields = old.fields.difference(&lost);
        if !fields.is_empty() {
            entries.push(Entry { fields, ..old.clone() });
        }
    }
    let wanted = ManagedFields { entries }.to_value();
    let same = live.pointer("/metadata/managedFields") == Some(&wanted)
        || (wanted.as_array().is_some_and(Vec::is_empty) && our_entry(live).is_none());
    Ok((!same).then_some(wanted))
}

fn fields_of(schema: Option<&KindSchema>, declared: &Value) -> FieldSet {
    match schema {
        Some(schema) => FieldSet::of_object(schema.root(), declared),
        None => FieldSet::new(),
    }
}

/// Names the object as exactly the live one.
fn identify(body: &mut Value, before: &Value, live: &Value) {
    let Value::Object(body) = body else { return };
    for key in ["apiVersion", "kind"] {
        body.insert(key.to_owned(), before.get(key).cloned().unwrap_or_default());
    }
    let metadata = body.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(metadata) = metadata else { return };
    for key in ["name", "namespace", "uid"] {
        if let Some(value) = live.pointer("/metadata").and_then(|m| m.get(key)) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    metadata.insert("resourceVersion".to_owned(), version(live).into());
}

/// A JSON patch that sets the owners of exactly this version of an object.
pub(in super::super) fn owners_patch(owners: &Value, live: &Value) -> Value {
    // A server that is given no owners at all keeps those that it has; one empty entry clears them.
    let owners = if owners.as_array().is_some_and(Vec::is_empty) { json!([{}]) } else { owners.clone() };
    json!([
        {"op": "test", "path": "/metadata/uid", "value": live.pointer("/metadata/uid")},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version(live)},
        {"op": "replace", "path": "/metadata/managedFields", "value": owners},
    ])
}

/// A deleted object as it can be made anew: without what the server alone gives.
pub(in super::super) fn to_be_made_anew(before: &Value) -> Value {
    let mut object = before.clone();
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in crate::base::server_owned::METADATA {
            metadata.remove(key);
        }
    }
    object
}
