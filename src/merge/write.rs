//! Writes to the embedded control plane, with field owners kept as Kubernetes keeps them.

use serde_json::Value;

use super::compare::Comparison;
use super::engine;
use super::error::MergeError;
use super::managed::{Entry, ManagedFields, Operation};
use super::normalize;
use super::shape;
use crate::base::clock::Moment;
use crate::base::ids::Manager;
use crate::schema::KindSchema;

/// A server-side apply with force: the object as it is stored.
///
/// # Errors
/// As [`super::merge`].
pub fn apply(
    schema: &KindSchema,
    live: Option<&Value>,
    declared: &Value,
    manager: &Manager,
    api_version: &str,
    now: Moment,
) -> Result<Value, MergeError> {
    let managers = engine::managers(schema, live)?;
    let applied = engine::apply(schema, live, declared, &managers, manager)?;
    let after = engine::managers_after(managers, &applied, manager, api_version, now);
    let mut result = applied.result.into_owned();
    after.write(&mut result);
    Ok(result)
}

/// A write of a whole object by hand: it takes the fields that it changes, and others lose them. Of a kind without a
/// schema maps are compared by keys and lists as one value.
///
/// The field owners are those that the new object names, as the API server has it, else the live ones.
///
/// # Errors
/// If the live field owners can't be read, or the new object is no map.
pub fn update(
    schema: Option<&KindSchema>,
    live: Option<&Value>,
    new: &Value,
    manager: &Manager,
    now: Moment,
) -> Result<Value, MergeError> {
    if !new.is_object() {
        return Err(MergeError::NoObject("new"));
    }
    let node = schema.map_or_else(|| shape::unknown(), KindSchema::root);
    let mut managers = match ManagedFields::of(new) {
        Ok(named) if !named.entries.is_empty() => named,
        _ => live.map_or_else(|| Ok(ManagedFields::default()), ManagedFields::of)?,
    };
    let mut result = new.clone();
    normalize::stored(schema, &mut result);
    let comparison = Comparison::of(node, live, &result);
    let api_version = new.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    engine::lose(&mut managers, &comparison, |_| true);
    let taken = comparison.written();
    if !taken.is_empty() {
        let mine = |entry: &&mut Entry| {
            entry.manager == *manager
                && entry.operation == Operation::Update
                && entry.api_version == api_version
                && entry.subresource.is_empty()
        };
        match managers.entries.iter_mut().find(mine) {
            Some(entry) => {
                entry.fields = entry.fields.union(&taken);
                entry.time = Some(now);
            }
            None => managers.entries.push(Entry {
                manager: manager.clone(),
                operation: Operation::Update,
                api_version: api_version.to_owned(),
                time: Some(now),
                subresource: String::new(),
                fields: taken,
            }),
        }
    }
    managers.write(&mut result);
    Ok(result)
}
