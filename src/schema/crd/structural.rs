//! From the structural schema of a CRD to nodes (apiextensions, "structural schema").

use serde_json::{Map, Value};

use super::junctor;
use crate::schema::builtin::Definition;
use crate::schema::cel::NodeRules;
use crate::schema::fault::rule;
use crate::schema::limits::{Limits, Pattern};
use crate::schema::node::{AbsentWhen, Additional, Field, Format, Kind, ListType, Node, NodeRef, TextFormat};
use crate::schema::path::{Out, Path};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// What marks a text as a quantity: the pattern that generators of CRDs write for `resource.Quantity`.
const QUANTITY_MARK: &str = "(([KMGTPE]i)|[numkMGTPE]|([eE]";

/// The schema of whole objects of a version.
pub(super) fn root(schema: &Value, path: &Path<'_>, out: &mut Out) -> Node {
    let mut node = node(schema, path, out);
    if node.kind != Kind::Object {
        out.add(rule::BAD_CRD, path, "the schema of an object has type: object");
    }
    node.nullable = false;
    object_fields(&mut node);
    node
}

/// The three fields that every object has; what a CRD says of metadata is no more than its name.
fn object_fields(node: &mut Node) {
    let text = || Node { kind: Kind::String, ..Node::default() }.into();
    for key in ["apiVersion", "kind"] {
        node.properties.insert(key.into(), plain(text()));
    }
    let metadata = Definition::named(OBJECT_META).map_or_else(text, NodeRef::Builtin);
    node.properties.insert("metadata".into(), plain(metadata));
}

fn plain(node: NodeRef) -> Field {
    Field { node, default: None, absent_when: AbsentWhen::Never, leaf: None }
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key) == Some(&Value::Bool(true))
}

pub(super) fn text<'v>(map: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    map.get(key).and_then(Value::as_str)
}

fn texts(map: &Map<String, Value>, key: &str) -> Vec<Box<str>> {
    let list = map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(Box::from).collect()
}

/// A schema that must be structural.
fn node(schema: &Value, path: &Path<'_>, out: &mut Out) -> Node {
    let Some(map) = schema.as_object() else {
        out.add(rule::BAD_CRD, path, "a schema is a map");
        return Node::default();
    };
    if map.contains_key("$ref") {
        out.add(rule::BAD_CRD, &path.key("$ref"), "a structural schema has no references");
    }
    let preserves = flag(map, "x-kubernetes-preserve-unknown-fields");
    let int_or_string = flag(map, "x-kubernetes-int-or-string");
    let mut made = values(map, path, out);
    if int_or_string {
        made.kind = Kind::IntOrString;
    } else if made.kind == Kind::Any && !preserves {
        out.add(rule::BAD_CRD, path, "type is required, unless the schema preserves unknown fields");
    }
    made.nullable = flag(map, "nullable");
    made.quantity_text = is_quantity(&made);
    if made.quantity_text
        && let Some(limits) = &mut made.limits
    {
        // Checked by our own reading, which says more than a pattern that doesn't match.
        limits.pattern = None;
    }
    made.properties = properties(map, path, out);
    let at = path.key("additionalProperties");
    made.additional = match map.get("additionalProperties") {
        Some(Value::Bool(true)) => Additional::Open,
        Some(of @ Value::Object(_)) => {
            if !made.properties.is_empty() {
                out.add(rule::BAD_CRD, &at, "a schema has properties or additionalProperties, not both");
            }
            Additional::Values(node(of, &at, out).into())
        }
        _ if preserves => Additional::Open,
        _ => Additional::Closed,
    };
    made.items = map.get("items").map(|of| node(of, &path.key("items"), out).into());
    if made.kind == Kind::List && made.items.is_none() {
        out.add(rule::BAD_CRD, path, "items is required with type: array");
    }
    made.list = list_type(map, &made, path, out);
    made.atomic_map = text(map, "x-kubernetes-map-type") == Some("atomic");
    if flag(map, "x-kubernetes-embedded-resource") {
        made.embedded_resource = true;
        object_fields(&mut made);
    }
    made.junctors = junctor::read(map, path, out);
    made.cel = NodeRules::read(schema, path, out);
    made
}

fn properties(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) -> std::collections::BTreeMap<Box<str>, Field> {
    let at = path.key("properties");
    let Some(properties) = map.get("properties").and_then(Value::as_object) else { return Default::default() };
    let field = |(key, schema): (&String, &Value)| {
        let default = schema.get("default").filter(|d| !d.is_null()).cloned();
        let node = node(schema, &at.key(key), out).into();
        (key.as_str().into(), Field { node, default, absent_when: AbsentWhen::Never, leaf: None })
    };
    properties.iter().map(field).collect()
}

fn is_quantity(node: &Node) -> bool {
    let pattern = node.limits.as_ref().and_then(|l| l.pattern.as_ref());
    node.kind == Kind::IntOrString && pattern.is_some_and(|p| p.as_str().contains(QUANTITY_MARK))
}

fn list_type(map: &Map<String, Value>, node: &Node, path: &Path<'_>, out: &mut Out) -> ListType {
    match text(map, "x-kubernetes-list-type") {
        Some("set") => ListType::Set,
        Some("map") => {
            let keys = texts(map, "x-kubernetes-list-map-keys");
            if keys.is_empty() {
                out.add(rule::BAD_CRD, path, "x-kubernetes-list-map-keys is required with a list of type map");
            }
            for key in &keys {
                let field = node.items.as_ref().and_then(|items| items.properties.get(key));
                let is_there = node.items.as_ref().is_some_and(|items| items.required.contains(key))
                    || field.is_some_and(|f| f.default.is_some());
                if field.is_none() || !is_there {
                    let at = path.key("x-kubernetes-list-map-keys");
                    let text = format!("the key {key} must be a property of items, and required or with a default");
                    out.add(rule::BAD_CRD, &at, text);
                }
            }
            ListType::Map(keys)
        }
        _ => ListType::Atomic,
    }
}

/// What a schema says of a value itself: type, format, limits. Used by junctors too, where no type is needed.
pub(super) fn values(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) -> Node {
    let kind = match text(map, "type") {
        Some("object") => Kind::Object,
        Some("array") => Kind::List,
        Some("string") => Kind::String,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some(_) => {
            let text = "type must be object, array, string, integer, number or boolean";
            out.add(rule::BAD_CRD, &path.key("type"), text);
            Kind::Any
        }
        None => Kind::Any,
    };
    let format = match (kind, text(map, "format")) {
        (Kind::Integer, Some("int32")) => Format::Int32,
        (Kind::Integer, Some("int64")) => Format::Int64,
        (Kind::String, Some("byte")) => Format::Byte,
        (Kind::String, Some("date-time")) => Format::DateTime,
        (Kind::String, Some("date")) => Format::Date,
        (Kind::String, Some("duration")) => Format::Duration,
        (Kind::String, Some("ipv4")) => Format::Text(TextFormat::Ipv4),
        (Kind::String, Some("ipv6")) => Format::Text(TextFormat::Ipv6),
        (Kind::String, Some("cidr")) => Format::Text(TextFormat::Cidr),
        (Kind::String, Some("uri")) => Format::Text(TextFormat::Uri),
        (Kind::String, Some("uuid")) => Format::Text(TextFormat::Uuid),
        (Kind::String, Some("email")) => Format::Text(TextFormat::Email),
        (Kind::String, Some("hostname")) => Format::Text(TextFormat::Hostname),
        // The API server ignores formats that it doesn't know.
        _ => Format::None,
    };
    Node {
        kind,
        format,
        required: texts(map, "required"),
        enumeration: map.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        limits: limits(map),
        ..Node::default()
    }
}

fn limits(map: &Map<String, Value>) -> Option<Box<Limits>> {
    const KEYS: [&str; 10] = [
        "minimum",
        "maximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ];
    if !flag(map, "uniqueItems") && !KEYS.iter().any(|key| map.contains_key(*key)) {
        return None;
    }
    let number = |key: &str| map.get(key).and_then(Value::as_number).cloned();
    let count = |key: &str| map.get(key).and_then(Value::as_u64);
    Some(Box::new(Limits {
        minimum: number("minimum"),
        maximum: number("maximum"),
        exclusive_minimum: flag(map, "exclusiveMinimum"),
        exclusive_maximum: flag(map, "exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        pattern: text(map, "pattern").map(Pattern::new),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: flag(map, "uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
    }))
}
