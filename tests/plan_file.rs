//! The saved plan: its identity and its file.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use holdfast::plan::document::PlanDocument;
use holdfast::plan::identity;
use holdfast::plan::stored::{self, StoredError};
use serde_json::{Value, json};

fn document() -> Value {
    json!({
        "formatVersion": 1, "planId": "0".repeat(64), "contentId": "0".repeat(64), "createdAt": "2026-01-02T03:04:05Z",
        "target": {"kind": "embedded", "identity": "t-1"},
        "sources": [{"name": "shop", "id": "0d2fbd3e-5b6a-5d2b-8a57-0b4a4a1e2f11", "path": "deploy",
            "commit": "a".repeat(40), "inventorySerial": 3, "spec": "b".repeat(64), "origin": "e".repeat(64)}],
        "changes": [
            {"action": "update", "id": {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"},
             "source": "shop", "file": "deploy/web.yaml", "line": 1, "wave": 0, "undo": "exact", "admitted": "offline",
             "fields": [{"path": "/spec/replicas", "before": 1.1e-7, "after": 9007199254740993_u64},
                        {"path": "/spec/paused", "before": null}]},
            {"action": "create", "id": {"group": "", "kind": "Secret", "namespace": "shop", "name": "key"},
             "source": "shop", "file": "deploy/key.yaml", "line": 9, "wave": 0, "undo": "exact", "admitted": "offline",
             "sensitive": true},
        ],
        "unchanged": [], "warnings": [
            {"rule": "r", "text": "one", "file": "a.yaml", "line": 1}, {"rule": "r", "text": "another", "file": "b.yaml", "line": 1}],
        "summary": {"create": 1, "update": 1, "own": 0, "replace": 0, "delete": 0, "adopt": 0, "transfer": 0, "release": 0,
            "keep": 0, "unchanged": 0},
        "allowances": {}, "waivers": [],
    })
}

fn sealed(value: Value) -> PlanDocument {
    let mut plan: PlanDocument = serde_json::from_value(value).unwrap();
    (plan.plan_id, plan.content_id) = identity::name(&plan).unwrap();
    plan
}

fn text(plan: &PlanDocument) -> String {
    String::from_utf8(stored::write(plan).unwrap()).unwrap()
}

#[test]
fn the_plan_id_is_the_digest_of_the_canonical_document() {
    for plan in [sealed(document()), support::every_action(), support::hostile(), support::sealed(support::empty())] {
        let mut value = serde_json::to_value(&plan).unwrap();
        for outside in ["planId", "contentId", "createdAt"] {
            value.as_object_mut().unwrap().remove(outside);
        }
        assert_eq!(plan.plan_id.as_str(), holdfast::base::digest::of_value(&value).as_str());
    }
}

#[test]
fn a_plan_file_reads_back_as_it_was_written() {
    let plan = sealed(document());
    assert_eq!(stored::read(text(&plan).as_bytes()).unwrap(), plan);
}

#[test]
fn numbers_in_a_plan_file_survive_exactly() {
    let mut value = document();
    let doubles: Vec<f64> =
        (0..2000_u64).map(|n| f64::from_bits(0x3ff0_0000_0000_0001 + n * 0x0003_1415_9265_3589)).collect();
    value["changes"][0]["fields"][0]["after"] = json!(doubles.iter().filter(|d| d.is_finite()).collect::<Vec<_>>());
    let plan = sealed(value);
    assert!(stored::read(text(&plan).as_bytes()).is_ok());
}

#[test]
fn every_edit_of_a_plan_file_is_refused() {
    let plan = text(&sealed(document()));
    for (find, replace) in [
        ("\"createdAt\"", "\"createdBy\""),
        ("\"update\"", "\"delete\""),
        ("9007199254740993", "9007199254740992"),
        ("\"wave\": 0", "\"wave\": 1"),
        ("\"allowances\": {}", "\"allowances\": {\"deletes\": 5}"),
        ("deploy/web.yaml", "deploy/wab.yaml"),
        ("\"line\": 9", "\"line\": 9, \"note\": 1"),
    ] {
        let edited = plan.replacen(find, replace, 1);
        assert_ne!(edited, plan, "{find}");
        assert!(stored::read(edited.as_bytes()).is_err(), "{find} became {replace}");
    }
}

#[test]
fn only_the_time_of_making_is_outside_the_digests() {
    let plan = text(&sealed(document()));
    assert!(stored::read(plan.replacen("2026-01-02", "2027-01-02", 1).as_bytes()).is_ok());
}

#[test]
fn a_plan_file_that_is_cut_anywhere_is_refused() {
    let plan = text(&sealed(document()));
    let end = plan.trim_end().len();
    for at in 0..end {
        assert!(stored::read(&plan.as_bytes()[..at]).is_err(), "cut at {at}");
    }
    assert!(matches!(stored::read(&plan.as_bytes()[..end / 2]), Err(StoredError::Cut { .. })));
}

#[test]
fn another_version_is_named_before_anything_else_is_judged() {
    let error = stored::read(br#"{"formatVersion": 7, "something": "new"}"#).unwrap_err();
    assert!(matches!(error, StoredError::OtherVersion { found: 7 }), "{error}");
    assert!(matches!(stored::read(b"{}").unwrap_err(), StoredError::NotAPlan));
    assert!(matches!(stored::read(b"apiVersion: v1").unwrap_err(), StoredError::NotJson { .. }));
    assert!(matches!(stored::read(&vec![b' '; stored::MAX_BYTES + 1]).unwrap_err(), StoredError::TooLarge));
}

#[test]
fn malformed_identifiers_of_a_plan_file_are_refused_though_the_digest_be_right() {
    for (pointer, bad) in [
        ("/sources/0/commit", "main"),
        ("/sources/0/name", "../x"),
        ("/sources/0/spec", "ü"),
        ("/changes/0/fields/0/path", "no-pointer"),
    ] {
        let mut value = document();
        *value.pointer_mut(pointer).unwrap() = json!(bad);
        assert!(serde_json::from_value::<PlanDocument>(value).is_err(), "{pointer}");
    }
}

#[test]
fn a_refused_plan_file_quotes_no_value() {
    let plan = text(&sealed(document())).replacen("\"wave\": 0", "\"wave\": \"hunter2\"", 1);
    assert!(!stored::read(plan.as_bytes()).unwrap_err().to_string().contains("hunter2"));
}

#[test]
fn the_content_id_leaves_out_commits_serials_and_places() {
    let mut plain = document();
    plain["changes"].as_array_mut().unwrap().pop();
    let first = sealed(plain.clone());
    let mut other = plain.clone();
    other["sources"][0]["commit"] = json!("c".repeat(40));
    other["sources"][0]["inventorySerial"] = json!(4);
    other["sources"][0]["preview"] = json!(true);
    other["sources"][0]["origin"] = json!("f".repeat(64));
    other["changes"][0]["file"] = json!("deploy/moved.yaml");
    other["changes"][0]["line"] = json!(7);
    other["warnings"].as_array_mut().unwrap().reverse();
    other["warnings"][0]["file"] = json!("0.yaml");
    let other = sealed(other);
    assert_eq!(first.content_id, other.content_id);
    assert_ne!(first.plan_id, other.plan_id);
    plain["changes"][0]["fields"][0]["after"] = json!(3);
    assert_ne!(first.content_id, sealed(plain).content_id);
}

#[test]
fn the_content_id_of_a_sensitive_change_holds_its_commit_and_file() {
    let first = sealed(document());
    for (pointer, value) in [("/sources/0/commit", "c".repeat(40)), ("/changes/1/file", "deploy/x.yaml".to_owned())] {
        let mut other = document();
        *other.pointer_mut(pointer).unwrap() = json!(value);
        assert_ne!(first.content_id, sealed(other).content_id, "{pointer}");
    }
}
