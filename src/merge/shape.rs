//! What a value is to a merge, by its schema: one value, a map, a keyed list, a set.

use std::sync::LazyLock;

use serde_json::Value;

use super::element::{Element, key_value};
use crate::schema::{AbsentWhen, Additional, Kind, ListType, Node, meaning};

/// How a value merges.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape<'a> {
    /// As one value.
    Leaf,
    /// By keys.
    Map,
    /// By the keys of its entries.
    Keyed(&'a [Box<str>]),
    /// By its entries.
    Set,
}

/// The shape of what no schema describes: maps merge by keys, lists as one value, as the API server deduces it.
pub(super) fn unknown() -> &'static Node {
    static UNKNOWN: LazyLock<Node> = LazyLock::new(|| Node { additional: Additional::Open, ..Node::default() });
    &UNKNOWN
}

/// How a value of a schema merges. A value that isn't what the schema says is one value.
pub(super) fn of<'a>(node: &'a Node, value: &Value) -> Shape<'a> {
    match value {
        Value::Object(_) if matches!(node.kind, Kind::Object | Kind::Any) && !node.atomic_map => Shape::Map,
        Value::Array(_) if node.kind == Kind::List => match &node.list {
            ListType::Atomic => Shape::Leaf,
            ListType::Set => Shape::Set,
            ListType::Map(keys) => Shape::Keyed(keys),
        },
        _ => Shape::Leaf,
    }
}

/// The schema of the value of a key.
pub(super) fn below<'a>(node: &'a Node, key: &str) -> &'a Node {
    node.below(key).unwrap_or_else(|| unknown())
}

/// The schema of a list's entries.
pub(super) fn items(node: &Node) -> &Node {
    node.items.as_ref().map_or_else(|| unknown(), |items| items)
}

/// Whether null is a value there; where it isn't, a field that is null isn't there.
pub(super) fn takes_null(node: &Node) -> bool {
    node.nullable || node.kind == Kind::Any
}

/// Whether two entries of a keyed list or a set are the same one.
pub(super) fn same_entry(shape: Shape<'_>, items: &Node, a: &Value, b: &Value) -> bool {
    match (shape, a, b) {
        (Shape::Keyed(keys), Value::Object(a), Value::Object(b)) => keys.iter().all(|key| {
            let (a, b) = (key_value(items, a, key), key_value(items, b, key));
            a.is_some() && a == b
        }),
        (Shape::Set, a, b) => a == b && !matches!(a, Value::Null | Value::Array(_) | Value::Object(_)),
        _ => false,
    }
}

/// The steps to a list's entries; `None` if one of them has none, then the list merges as one value.
pub(super) fn elements(shape: Shape<'_>, items: &Node, list: &[Value]) -> Option<Vec<Element>> {
    match shape {
        Shape::Keyed(keys) => list.iter().map(|entry| Element::of_item(keys, items, entry)).collect(),
        Shape::Set => list.iter().map(Element::of_scalar).collect(),
        Shape::Leaf | Shape::Map => None,
    }
}

/// Whether a value of a key means the same as no value there.
pub(super) fn is_absent(node: &Node, key: &str, value: &Value) -> bool {
    let Some(field) = node.properties.get(key) else {
        return value.is_null() && !takes_null(below(node, key));
    };
    if value.is_null() {
        return !takes_null(field);
    }
    if field.default.as_ref().is_some_and(|default| default == value) {
        return true;
    }
    match field.absent_when {
        AbsentWhen::Never => false,
        AbsentWhen::Zero => match value {
            Value::Bool(b) => !b,
            Value::Number(n) => n.as_f64() == Some(0.0),
            Value::String(s) => s.is_empty(),
            _ => is_empty(value),
        },
        AbsentWhen::Empty => match value {
            Value::Object(map) if !map.is_empty() => is_empty(&meaning::canonical(field, value)),
            _ => is_empty(value),
        },
    }
}

/// Whether it is an empty map or list.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}
