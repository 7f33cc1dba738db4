//! The one form of a declared object: as the API server would take it in.

use serde_json::{Map, Value};

use super::identity::is_server_owned;
use super::shape;
use crate::base::base64;
use crate::schema::meaning::fold_string_data;
use crate::schema::{KindSchema, Node};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Brings a declared object into the form that is compared and stored; doing it again changes nothing.
///
/// Of a Secret `stringData` goes into `data`, which becomes canonical base64 (what is none stays: admission refuses it).
/// Nulls that are no values go, and so does what only the server writes.
pub fn normalize(schema: &KindSchema, declared: &mut Value) {
    let Value::Object(object) = declared else { return };
    if is_secret(schema) {
        secret(object);
    }
    if schema.has_status {
        object.remove("status");
    }
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|key, _| !is_server_owned(key));
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(LAST_APPLIED);
        }
    }
    if has_null(declared) {
        drop_nulls(schema.root(), declared);
    }
}

/// Whether there is a null anywhere: nearly always not, and then no schema has to be asked.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

/// Brings what is written by hand into the form that is stored.
pub(super) fn stored(schema: Option<&KindSchema>, object: &mut Value) {
    if let (true, Value::Object(object)) = (schema.is_some_and(is_secret), object) {
        secret(object);
    }
}

fn is_secret(schema: &KindSchema) -> bool {
    schema.gvk.group.is_empty() && schema.gvk.kind == "Secret"
}

fn secret(object: &mut Map<String, Value>) {
    fold_string_data(object);
    if let Some(Value::Object(data)) = object.get_mut("data") {
        for value in data.values_mut() {
            if let Value::String(text) = value
                && !base64::is_canonical(text)
                && let Some(bytes) = base64::decode(text)
            {
                *text = base64::encode(&bytes);
            }
        }
    }
}

fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.values().any(Value::is_null) {
                map.retain(|key, value| !shape::is_no_value(node, key, value));
            }
            for (key, value) in map.iter_mut().filter(|(_, value)| value.is_object() || value.is_array()) {
                drop_nulls(shape::below(node, key), value);
            }
        }
        Value::Array(list) => {
            let items = shape::items(node);
            list.iter_mut().for_each(|entry| drop_nulls(items, entry));
        }
        _ => {}
    }
}
