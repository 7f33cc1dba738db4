//! What is declared, in the one form that is compared and sent.

mod base64;

use serde_json::{Map, Value};

use crate::base::digest;
use crate::base::ids::Digest;
use crate::base::pointer::Pointer;
use crate::base::sensitive;
use crate::schema::{Additional, Node};

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

/// Folds `stringData` of a Secret into `data`; gives also the keys that stood in both with different values.
///
/// `stringData` beats `data`, as in the API server, which never stores it.
pub(super) fn fold_string_data(object: &mut Value) -> (Folded, Vec<String>) {
    let mut beaten = Vec::new();
    let Some(object) = object.as_object_mut() else { return (Folded::default(), beaten) };
    if let Some(Value::Object(data)) = object.get_mut("data") {
        for value in data.values_mut() {
            if let Value::String(text) = value
                && let Some(plain) = base64::canonical(text)
            {
                *text = plain;
            }
        }
    }
    let Some(Value::Object(clear)) = object.remove("stringData") else { return (Folded::default(), beaten) };
    let mut folded = Folded { had_data: object.get("data").is_some_and(Value::is_object), keys: Vec::new() };
    if clear.is_empty() {
        return (folded, beaten);
    }
    if !folded.had_data {
        object.insert("data".to_owned(), Value::Object(Map::new()));
    }
    if let Some(Value::Object(data)) = object.get_mut("data") {
        for (key, value) in clear {
            let Value::String(text) = value else { continue };
            let encoded = Value::String(base64::encode(text.as_bytes()));
            if data.get(&key).is_some_and(|old| *old != encoded) {
                beaten.push(key.clone());
            }
            data.insert(key.clone(), encoded);
            folded.keys.push(key);
        }
    }
    (folded, beaten)
}

/// Takes out every null that the API server would drop: where null is no value, a field that is null isn't there.
pub(super) fn drop_nulls(node: Option<&Node>, value: &mut Value) {
    match value {
        Value::Object(map) => {
            if node.is_none_or(Node::is_open) {
                return;
            }
            map.retain(|key, value| {
                !value.is_null() || node.and_then(|node| below(node, key)).is_none_or(|below| below.nullable)
            });
            for (key, value) in map.iter_mut().filter(|(_, v)| v.is_object() || v.is_array()) {
                drop_nulls(node.and_then(|node| below(node, key)), value);
            }
        }
        Value::Array(list) => {
            let items = node.and_then(|node| node.items.as_deref());
            for value in list.iter_mut().filter(|v| v.is_object() || v.is_array()) {
                drop_nulls(items, value);
            }
        }
        _ => {}
    }
}

fn below<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match (node.properties.get(key), &node.additional) {
        (Some(field), _) => Some(field),
        (None, Additional::Values(node)) => Some(node),
        (None, Additional::Open | Additional::Closed) => None,
    }
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
