//! Takes fields out of a value.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::element::Element;
use super::fieldset::FieldSet;
use super::shape::{self, Shape};
use crate::schema::Node;

/// A value without these fields; what is below one goes with it.
///
/// A map or list that loses all it had goes too, unless `kept` leads there: then it stays, empty.
pub(super) fn without<'v>(node: &Node, value: &'v Value, fields: &FieldSet, kept: &FieldSet) -> Cow<'v, Value> {
    if fields.is_empty() {
        return Cow::Borrowed(value);
    }
    match value {
        // The object itself is never taken away.
        Value::Object(_) => Cow::Owned(remove(node, value, fields, Some(kept)).unwrap_or_else(|| Map::new().into())),
        _ => Cow::Borrowed(value),
    }
}

/// `None` if nothing is left of it.
fn remove(node: &Node, value: &Value, fields: &FieldSet, kept: Option<&FieldSet>) -> Option<Value> {
    let rest = match (shape::of(node, value), value) {
        (Shape::Map, Value::Object(map)) => Value::Object(
            map.iter()
                .filter_map(|(key, value)| {
                    let new = match fields.field(key) {
                        None => Some(value.clone()),
                        Some(below) if below.member => None,
                        Some(below) => remove(shape::below(node, key), value, below, kept.and_then(|k| k.field(key))),
                    };
                    new.map(|new| (key.clone(), new))
                })
                .collect(),
        ),
        (shape @ (Shape::Keyed(_) | Shape::Set), Value::Array(list)) => {
            let items = shape::items(node);
            Value::Array(list.iter().filter_map(|entry| remove_entry(shape, items, entry, fields, kept)).collect())
        }
        _ => return Some(value.clone()),
    };
    let is_kept = kept.is_some() || shape::is_empty(value);
    (is_kept || !shape::is_empty(&rest)).then_some(rest)
}

fn remove_entry(
    shape: Shape<'_>,
    items: &Node,
    entry: &Value,
    fields: &FieldSet,
    kept: Option<&FieldSet>,
) -> Option<Value> {
    let element = match shape {
        Shape::Keyed(keys) => Element::of_item(keys, items, entry),
        _ => Element::of_scalar(entry),
    };
    match element.as_ref().and_then(|element| fields.get(element)) {
        None => Some(entry.clone()),
        Some(below) if below.member => None,
        Some(below) => remove(items, entry, below, element.as_ref().and_then(|e| kept?.get(e))),
    }
}
