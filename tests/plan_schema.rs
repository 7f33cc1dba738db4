//! `plans/plan.schema.json` says of a plan what the program reads, no more and no less.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/schema.rs"]
mod schema;
mod support;

use holdfast::plan::document::PlanDocument;
use schema::judge;
use serde_json::{Value, json};
use support::{empty, every_action, hostile, sealed};

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
    let mut whole = serde_json::to_value(every_action()).unwrap();
    whole["sources"][0]["purpose"] = "rebuild".into();
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
