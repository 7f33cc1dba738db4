//! From a published OpenAPI to nodes.

use serde_json::{Map, Value};

use super::builtin::{Definition, Published};
use super::node::{AbsentWhen, Additional, Field, Format, Kind, ListType, Node, NodeRef};
use super::values;

const REF: &str = "#/components/schemas/";
const JSON_SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

/// Compiles one definition.
pub(super) fn definition(of: &'static Published, name: &str, schema: &Value) -> Node {
    let short = name.rsplit('.').next().unwrap_or(name);
    let mut node = match short {
        "Quantity" => Node { kind: Kind::Quantity, ..Node::default() },
        "IntOrString" => Node { kind: Kind::IntOrString, format: Format::Int32, ..Node::default() },
        "JSON" | "JSONSchemaPropsOrStringArray" => Node { additional: Additional::Open, ..Node::default() },
        "RawExtension" | "FieldsV1" => Node { kind: Kind::Object, additional: Additional::Open, ..Node::default() },
        // Structural schemas have no lists of schemas here, so the schema alone is right.
        "JSONSchemaPropsOrArray" => of_name(of, JSON_SCHEMA),
        "JSONSchemaPropsOrBool" => Node { or_bool: true, ..of_name(of, JSON_SCHEMA) },
        _ => inline(of, schema),
    };
    if node.kind == Kind::Any && matches!(node.additional, Additional::Closed) {
        node.additional = Additional::Open;
    }
    values::refine(short, &mut node);
    node
}

fn of_name(of: &'static Published, name: &str) -> Node {
    of.definition(name).map(|d| d.node().clone()).unwrap_or_default()
}

/// The name that a schema refers to, directly or in its one `allOf`.
fn reference(schema: &Value) -> Option<&str> {
    let direct = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"))?;
    direct.as_str()?.strip_prefix(REF)
}

fn child(of: &'static Published, schema: &Value) -> NodeRef {
    match reference(schema).map(|name| of.definition(name)) {
        Some(Some(definition)) => NodeRef::Builtin(definition),
        // A reference that leads nowhere would be an error in the data; the test of the data holds that there is none.
        _ => inline(of, schema).into(),
    }
}

fn field(of: &'static Published, schema: &Value) -> Field {
    let default = schema.get("default").filter(|d| !d.is_null()).cloned();
    let has_zero_default = default.as_ref().is_some_and(|d| d.as_object().is_some_and(Map::is_empty));
    // A struct that isn't a pointer in the API server's types is `{}` by default: it can't be absent there. Lists and
    // maps have `omitempty`, so empty ones are dropped. An empty struct behind a pointer is a value (`emptyDir: {}`).
    let is_free = matches!(schema.get("type").and_then(Value::as_str), Some("array"))
        || schema.get("additionalProperties").is_some();
    let absent_when = if has_zero_default || is_free { AbsentWhen::Empty } else { AbsentWhen::Never };
    Field { node: child(of, schema), default: default.filter(|_| !has_zero_default), absent_when, leaf: None }
}

/// Compiles a schema that is no reference.
fn inline(of: &'static Published, schema: &Value) -> Node {
    let texts = |key: &str| -> Vec<Box<str>> {
        let list = schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(Box::from).collect()
    };
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let kind = match text("type") {
        Some("object") => Kind::Object,
        Some("array") => Kind::List,
        Some("string") => Kind::String,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        _ => Kind::Any,
    };
    let format = match text("format") {
        Some("int32") => Format::Int32,
        Some("int64") => Format::Int64,
        Some("byte") => Format::Byte,
        Some("date-time") => Format::DateTime,
        _ => Format::None,
    };
    let list = match text("x-kubernetes-list-type") {
        Some("map") => ListType::Map(texts("x-kubernetes-list-map-keys")),
        Some("set") => ListType::Set,
        _ => ListType::Atomic,
    };
    let raw = schema.get("properties").and_then(Value::as_object);
    let mut node = Node {
        kind,
        format,
        list,
        atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
        properties: raw.into_iter().flatten().map(|(key, s)| (key.as_str().into(), field(of, s))).collect(),
        additional: schema.get("additionalProperties").map_or(Additional::Closed, |s| Additional::Values(child(of, s))),
        items: schema.get("items").map(|items| child(of, items)),
        required: texts("required"),
        enumeration: schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        ..Node::default()
    };
    // A struct that can't be absent and needs fields of its own is needed itself; `status` is the server's.
    for (key, of_key) in raw.into_iter().flatten() {
        let needed = of_key.get("default").is_some_and(Value::is_object)
            && key != "status"
            && reference(of_key).and_then(|name| of.definition(name)).is_some_and(Definition::has_required);
        if needed && !node.required.iter().any(|r| **r == **key) {
            node.required.push(key.as_str().into());
        }
    }
    node
}
