//! `plans/plan.schema.json` says of a plan what the program reads, no more and no less.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use holdfast::plan::document::PlanDocument;
use serde_json::{Value, json};
use support::{empty, every_action, hostile, sealed};

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

fn judge(value: &Value) -> Vec<String> {
    let (schema, mut out) = (schema(), Vec::new());
    faults(&schema, &schema, value, "", &mut out);
    out
}

#[test]
fn every_plan_fits_the_schema() {
    for plan in [every_action(), hostile(), sealed(empty())] {
        assert_eq!(judge(&serde_json::to_value(&plan).unwrap()), Vec::<String>::new());
    }
}

/// Every place of a value, by pointer.
fn places(value: &Value, at: String, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(k, v)| places(v, format!("{at}/{}", k.replace('~', "~0").replace('/', "~1")), out))
        }
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| places(v, format!("{at}/{i}"), out)),
        _ => {}
    }
    out.push(at);
}

#[test]
fn schema_and_program_agree_on_what_is_no_plan() {
    let whole = serde_json::to_value(every_action()).unwrap();
    let mut all = Vec::new();
    places(&whole, String::new(), &mut all);
    let reads = |value: &Value| serde_json::from_value::<PlanDocument>(value.clone()).is_ok();
    // Inside of field values everything goes; formatVersion is judged before the form is.
    let free = |at: &str| at.contains("/before") || at.contains("/after") || at == "/formatVersion";
    for at in all.iter().filter(|at| !free(at) && !at.is_empty()) {
        for wrong in [json!({"x": 1}), json!("~ no ~"), json!(-1.5), json!(null)] {
            let mut changed = whole.clone();
            *changed.pointer_mut(at).unwrap() = wrong.clone();
            let null_for_absent = wrong.is_null();
            // An absent value may be written as null in the program's eyes; nothing writes it so.
            if null_for_absent && reads(&changed) {
                continue;
            }
            assert_eq!(judge(&changed).is_empty(), reads(&changed), "{at} as {wrong}: {:?}", judge(&changed));
        }
        let (parent, key) = at.rsplit_once('/').unwrap();
        let mut without = whole.clone();
        if let Some(Value::Object(map)) = without.pointer_mut(parent) {
            map.remove(key);
            assert_eq!(judge(&without).is_empty(), reads(&without), "without {at}");
        }
        let mut more = whole.clone();
        if let Some(Value::Object(map)) = more.pointer_mut(at) {
            map.insert("surprise".to_owned(), json!(1));
            assert_eq!(judge(&more).is_empty(), reads(&more), "{at} with a surprise");
        }
    }
}
