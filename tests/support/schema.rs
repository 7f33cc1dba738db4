//! Judges plans by `plans/plan.schema.json`.
#![allow(dead_code)]

use serde_json::Value;

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/plans/plan.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The words of JSON Schema that the file uses; any other is a fault of this test.
const KNOWN: &[&str] = &[
    "$schema",
    "title",
    "description",
    "type",
    "additionalProperties",
    "required",
    "properties",
    "items",
    "enum",
    "const",
    "pattern",
    "minimum",
    "minLength",
    "$ref",
    "$defs",
];

fn faults(schema: &Value, root: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    for word in schema.as_object().unwrap().keys() {
        assert!(KNOWN.contains(&word.as_str()), "{word} is not known here");
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return faults(root.pointer(&name[1..]).unwrap(), root, value, at, out);
    }
    let mut check = |ok: bool, what: &str| {
        if !ok {
            out.push(format!("{at}: {what}"));
        }
    };
    if let Some(kind) = schema.get("type") {
        let fits = match kind.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            other => panic!("{other}"),
        };
        check(fits, "type");
    }
    if let Some(allowed) = schema.get("enum") {
        check(allowed.as_array().unwrap().contains(value), "enum");
    }
    if let Some(only) = schema.get("const") {
        check(value == only, "const");
    }
    if let (Some(pattern), Some(text)) = (schema.get("pattern"), value.as_str()) {
        check(regex::Regex::new(&format!("(?s){}", pattern.as_str().unwrap())).unwrap().is_match(text), "pattern");
    }
    if let (Some(least), Some(number)) = (schema.get("minimum"), value.as_i64()) {
        check(number >= least.as_i64().unwrap(), "minimum");
    }
    if let (Some(least), Some(text)) = (schema.get("minLength"), value.as_str()) {
        check(text.len() as u64 >= least.as_u64().unwrap(), "minLength");
    }
    if let (Some(properties), Some(map)) = (schema.get("properties"), value.as_object()) {
        for key in schema["required"].as_array().unwrap() {
            check(map.contains_key(key.as_str().unwrap()), "required");
        }
        for (key, below) in map {
            match properties.get(key) {
                Some(schema) => faults(schema, root, below, &format!("{at}/{key}"), out),
                None => out.push(format!("{at}: unknown {key}")),
            }
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (index, below) in list.iter().enumerate() {
            faults(items, root, below, &format!("{at}/{index}"), out);
        }
    }
}

/// What of a plan doesn't fit the schema.
pub(crate) fn judge(value: &Value) -> Vec<String> {
    let (schema, mut out) = (schema(), Vec::new());
    faults(&schema, &schema, value, "", &mut out);
    out
}
