//! When two values are the same to the API server.
//!
//! Quantities are equal by value; null is no field; what a field's [`AbsentWhen`] says is no field either. Texts and
//! numbers of an int-or-string are different values, and so are `1` and `"1"` everywhere but in a quantity.

use serde_json::{Map, Value};

use crate::base::base64;

use super::node::{AbsentWhen, Additional, Field, Kind, Node};
use super::quantity::Quantity;

/// Whether two values of a shape mean the same.
pub fn equal(node: &Node, a: &Value, b: &Value) -> bool {
    if a == b {
        return true;
    }
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let in_a = a.iter().all(|(key, value)| entry_equal(node, key, value, b.get(key)));
            in_a && b.iter().all(|(key, value)| a.contains_key(key) || entry_equal(node, key, value, None))
        }
        (Value::Array(a), Value::Array(b)) => {
            let same = |(a, b): (&Value, &Value)| node.items.as_ref().map_or(a == b, |items| equal(items, a, b));
            a.len() == b.len() && a.iter().zip(b).all(same)
        }
        _ if node.is_quantity() => quantity(node, a).is_some_and(|a| Some(a) == quantity(node, b)),
        _ => numbers_equal(a, b),
    }
}

/// Whether a key's value means the same as another, or as none.
fn entry_equal(node: &Node, key: &str, value: &Value, other: Option<&Value>) -> bool {
    let below = node.below(key);
    let field = node.properties.get(key);
    let is_none = |v: &Value| is_absent_in(node, key, v);
    match other {
        None => is_none(value),
        Some(other) => {
            if is_none(value) || is_none(other) {
                return is_none(value) && is_none(other);
            }
            match (below, field) {
                (Some(below), None) if below.kind == Kind::Quantity => in_resource_list(value, other),
                (Some(below), _) => equal(below, value, other),
                (None, _) => value == other,
            }
        }
    }
}

/// In a list of resources the API server rounds up to thousandths.
fn in_resource_list(a: &Value, b: &Value) -> bool {
    match (Quantity::of_value(a), Quantity::of_value(b)) {
        (Ok(a), Ok(b)) => a.round_up_to_milli() == b.round_up_to_milli(),
        _ => a == b,
    }
}

/// 1 and 1.0 are the same number.
fn numbers_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() != b.is_f64() => a.as_f64() == b.as_f64(),
        _ => false,
    }
}

fn quantity(node: &Node, value: &Value) -> Option<Quantity> {
    let quantity = Quantity::of_value(value).ok()?;
    // A quantity of the API server's own types is the same as number and as text; in a custom resource too.
    node.is_quantity().then_some(quantity)
}

/// Whether a value of a field counts as none: null where that is no value, or what its [`AbsentWhen`] says.
pub fn is_absent(field: &Field, value: &Value) -> bool {
    if value.is_null() {
        return !field.nullable;
    }
    match field.absent_when {
        AbsentWhen::Never => false,
        AbsentWhen::Empty => match value {
            Value::Array(list) => list.is_empty(),
            // A struct is empty too when everything in it counts as none.
            Value::Object(map) => map.iter().all(|(key, below)| is_absent_in(&field.node, key, below)),
            _ => false,
        },
        AbsentWhen::Zero => match value {
            Value::String(text) => text.is_empty(),
            Value::Bool(b) => !b,
            Value::Number(n) => n.as_f64() == Some(0.0),
            _ => false,
        },
    }
}

/// Whether the value of a key of a map counts as none.
pub fn is_absent_in(node: &Node, key: &str, value: &Value) -> bool {
    match (node.properties.get(key), &node.additional) {
        (Some(field), _) => is_absent(field, value),
        (None, Additional::Values(below)) => value.is_null() && !below.nullable && below.kind != Kind::Any,
        (None, _) => false,
    }
}

/// The one form of all values that mean the same: without what counts as none, quantities as the API server writes
/// them. Not for storing: a plan shows, and a target gets, what was written.
pub fn canonical(node: &Node, value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(canonical_map(node, map)),
        Value::Array(list) => {
            let entry = |v: &Value| node.items.as_ref().map_or_else(|| v.clone(), |items| canonical(items, v));
            Value::Array(list.iter().map(entry).collect())
        }
        Value::String(_) | Value::Number(_) if node.is_quantity() => {
            Quantity::of_value(value).map_or_else(|_| value.clone(), |q| Value::String(written(q)))
        }
        Value::Number(number) => whole(number).map_or_else(|| value.clone(), Value::from),
        _ => value.clone(),
    }
}

fn canonical_map(node: &Node, map: &Map<String, Value>) -> Map<String, Value> {
    let kept = map.iter().filter(|(key, value)| !is_absent_in(node, key, value));
    kept.map(|(key, value)| {
        let made = match (node.below(key), node.properties.get(key.as_str())) {
            (Some(below), None) if below.kind == Kind::Quantity => Quantity::of_value(value)
                .map_or_else(|_| value.clone(), |q| Value::String(written(q.round_up_to_milli()))),
            (Some(below), _) => canonical(below, value),
            (None, _) => value.clone(),
        };
        (key.clone(), made)
    })
    .collect()
}

/// One text for one value, whatever suffixes it was written with.
fn written(quantity: Quantity) -> String {
    quantity.in_decimal().to_string()
}

fn whole(number: &serde_json::Number) -> Option<i64> {
    let f = number.as_f64().filter(|f| number.is_f64() && f.fract() == 0.0 && f.abs() < 9e15)?;
    #[expect(clippy::cast_possible_truncation, reason = "whole and far below 2^63")]
    Some(f as i64)
}

/// Folds a Secret's `stringData` into its `data`, as the API server stores it: in base64, over what `data` has under the
/// same key. Where a text is none, both stay as they are, so that nothing is lost and admission can refuse it.
pub fn fold_string_data(secret: &mut Map<String, Value>) {
    let foldable = match (secret.get("stringData"), secret.get("data")) {
        (Some(Value::Null), _) => true,
        (Some(Value::Object(texts)), None | Some(Value::Null | Value::Object(_))) => {
            texts.values().all(|value| value.is_string() || value.is_null())
        }
        _ => false,
    };
    if !foldable {
        return;
    }
    let Some(Value::Object(texts)) = secret.remove("stringData") else { return };
    let data = secret.entry("data").or_insert(Value::Null);
    if data.is_null() {
        *data = Value::Object(Map::new());
    }
    let Value::Object(data) = data else { return };
    for (key, text) in texts {
        if let Value::String(text) = text {
            data.insert(key, base64::encode(text.as_bytes()).into());
        }
    }
}
