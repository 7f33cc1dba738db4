//! What a value is to a merge, by its schema: one value, a map, a keyed list, a set.

use std::sync::LazyLock;

use serde_json::Value;

use super::element::{Element, key_value};
use crate::schema::{Kind, ListType, Node, meaning};

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
    static UNKNOWN: LazyLock<Node> = LazyLock::new(Node::default);
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

/// The same, and whether the key is a field of a struct.
pub(super) fn field<'a>(node: &'a Node, key: &str) -> (&'a Node, bool) {
    match node.properties.get(key) {
        Some(field) => (field, true),
        None => (below(node, key), false),
    }
}

/// The schema of a list's entries.
pub(super) fn items(node: &Node) -> &Node {
    match &node.items {
        Some(items) => items,
        None => unknown(),
    }
}

/// Whether a value of a key is a null that is no value: then the field isn't there.
pub(super) fn is_no_value(node: &Node, key: &str, value: &Value) -> bool {
    value.is_null() && meaning::is_absent_in(node, key, value)
}

/// Whether two values of a key that merges as one value mean the same, where that depends on the map around it: in a
/// list of resources quantities are rounded up.
pub(super) fn is_same_resource(node: &Node, key: &str, a: &Value, b: &Value) -> bool {
    let is_resource = (a.is_string() || a.is_number())
        && !node.properties.contains_key(key)
        && below(node, key).kind == Kind::Quantity;
    let alone = |value: &Value| Value::Object([(key.to_owned(), value.clone())].into_iter().collect());
    is_resource && meaning::equal(node, &alone(a), &alone(b))
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

/// Whether a value of a key means the same as no value there: by itself, or because it is what the server would fill in.
pub(super) fn is_absent(node: &Node, key: &str, value: &Value) -> bool {
    let default = node.properties.get(key).and_then(|field| field.default.as_ref());
    default.is_some_and(|default| default == value) || meaning::is_absent_in(node, key, value)
}

/// Whether it is an empty map or list.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}
