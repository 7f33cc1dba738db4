//! `allOf`, `anyOf`, `oneOf` and `not` of a CRD: they judge values and define no fields.

use serde_json::{Map, Value};

use super::structural;
use crate::schema::fault::rule;
use crate::schema::node::{AbsentWhen, Additional, Field, Junctors, Kind, Node};
use crate::schema::path::{Out, Path};

/// Fields that only the schema around a junctor may have.
const STRUCTURE: [&str; 4] = ["additionalProperties", "nullable", "x-kubernetes-preserve-unknown-fields", "default"];

pub(super) fn read(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) -> Option<Box<Junctors>> {
    if !["allOf", "anyOf", "oneOf", "not"].iter().any(|key| map.contains_key(*key)) {
        return None;
    }
    // An int-or-string repeats itself here; the kind says it already.
    let is_int_or_string = map.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    let repeats = |list: &[Value]| {
        let kinds: Vec<&str> = list.iter().filter_map(|of| of.get("type")?.as_str()).collect();
        is_int_or_string && kinds == ["integer", "string"]
    };
    let mut list = |key: &str| -> Vec<Node> {
        let at = path.key(key);
        match map.get(key).and_then(Value::as_array) {
            Some(list) if !repeats(list) => {
                list.iter().enumerate().map(|(i, of)| node(of, &at.index(i), out)).collect()
            }
            _ => Vec::new(),
        }
    };
    let (all_of, any_of, one_of) = (list("allOf"), list("anyOf"), list("oneOf"));
    let not = map.get("not").map(|of| Box::new(node(of, &path.key("not"), out)));
    if all_of.is_empty() && any_of.is_empty() && one_of.is_empty() && not.is_none() {
        return None;
    }
    Some(Box::new(Junctors { all_of, any_of, one_of, not }))
}

fn node(schema: &Value, path: &Path<'_>, out: &mut Out) -> Node {
    let Some(map) = schema.as_object() else {
        out.add(rule::BAD_CRD, path, "a schema is a map");
        return Node::default();
    };
    for key in STRUCTURE.iter().filter(|key| map.contains_key(**key)) {
        let text = format!("{key} can't stand inside allOf, anyOf, oneOf or not");
        out.add(rule::BAD_CRD, &path.key(key), text);
    }
    let mut made = structural::values(map, path, out);
    let at = path.key("properties");
    let properties = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    made.properties = properties
        .map(|(key, of)| {
            let node = node(of, &at.key(key), out).into();
            (key.as_str().into(), Field { node, default: None, absent_when: AbsentWhen::Never, leaf: None })
        })
        .collect();
    made.additional = Additional::Open;
    made.items = map.get("items").map(|of| node(of, &path.key("items"), out).into());
    made.junctors = read(map, path, out);
    made.nullable = made.kind == Kind::Any;
    made
}
