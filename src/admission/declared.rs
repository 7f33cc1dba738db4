//! What is declared, in the one form that is compared and sent.

use serde_json::Value;

use super::rules::annotations;
use crate::base::digest;
use crate::base::ids::Digest;
use crate::base::pointer::Pointer;
use crate::base::sensitive;
use crate::merge;
use crate::schema::KindSchema;

/// Keys of a Secret that were written in clear (`stringData`) and are declared as `data`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Folded {
    keys: Vec<String>,
    had_data: bool,
}

impl Folded {
    /// The pointer as the file has it.
    pub(super) fn as_written(&self, path: &Pointer) -> Pointer {
        if self.keys.is_empty() {
            return path.clone();
        }
        let mut segments = path.segments();
        if segments.next().as_deref() != Some("data") {
            return path.clone();
        }
        match segments.next() {
            Some(key) if self.keys.contains(&key) => Pointer::of(["stringData", key.as_str()]),
            None if !self.had_data => Pointer::of(["stringData"]),
            _ => path.clone(),
        }
    }
}

/// An object in its declared form.
pub(super) struct Declared {
    pub(super) value: Value,
    pub(super) folded: Folded,
    /// Keys of a Secret that `stringData` sets otherwise than `data`.
    pub(super) beaten: Vec<String>,
}

/// Brings an object into its declared form. The namespace is the one that it goes into.
pub(super) fn declare(mut value: Value, schema: &KindSchema, namespace: Option<&str>) -> Declared {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        match namespace {
            Some(namespace) if metadata.get("namespace").and_then(Value::as_str) == Some(namespace) => {}
            Some(namespace) => {
                metadata.insert("namespace".to_owned(), namespace.into());
            }
            None => {
                metadata.remove("namespace");
            }
        }
        metadata.remove("generateName");
        if let Some(Value::Object(all)) = metadata.get_mut("annotations")
            && all.keys().any(|key| annotations::is_own(key))
        {
            all.retain(|key, _| !annotations::is_own(key));
            if all.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    let clear = string_data(&value, schema);
    merge::normalize(schema, &mut value);
    let Some((keys, before)) = clear else {
        return Declared { value, folded: Folded::default(), beaten: Vec::new() };
    };
    let after = value.get("data");
    let beaten = before.iter().flatten();
    let beaten = beaten.filter(|(key, old)| after.and_then(|data| data.get(key)) != Some(old));
    let beaten = beaten.map(|(key, _)| key.clone()).collect();
    Declared { value, folded: Folded { keys, had_data: before.is_some() }, beaten }
}

/// The keys of a Secret's `stringData`, and those of its `data` that are among them with their values.
type Clear = (Vec<String>, Option<Vec<(String, Value)>>);

fn string_data(object: &Value, schema: &KindSchema) -> Option<Clear> {
    if !schema.gvk.group.is_empty() || schema.gvk.kind != "Secret" {
        return None;
    }
    let clear = object.get("stringData")?.as_object()?;
    let data = object.get("data").and_then(Value::as_object);
    let both = data.map(|data| {
        data.iter().filter(|(key, _)| clear.contains_key(*key)).map(|(key, v)| (key.clone(), v.clone())).collect()
    });
    Some((clear.keys().cloned().collect(), both))
}

/// Digest of what is declared, and whether sensitive values are in it: of these it tells only that they are there.
pub(super) fn digest(declared: &Value, extra: &[Pointer]) -> (Digest, bool) {
    let pointers = sensitive::pointers(declared, extra);
    if pointers.is_empty() {
        return (digest::of_value(declared), false);
    }
    let mut bare = declared.clone();
    for pointer in &pointers {
        if let Some(value) = bare.pointer_mut(pointer.as_str()) {
            *value = Value::Bool(true);
        }
    }
    (digest::of_value(&bare), true)
}
