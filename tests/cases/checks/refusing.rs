//! Matching the exact report of a refusal.

use serde_json::{Value, json};

use crate::assign;
use crate::judge;
use crate::steps::Refusal;

fn problems(expected: Value, reported: Value) -> Vec<String> {
    let expected: Vec<Refusal> = serde_json::from_value(expected).unwrap();
    judge::refusals(&expected, reported.as_array().unwrap())
}

#[track_caller]
fn right(expected: Value, reported: Value) {
    assert_eq!(problems(expected, reported), Vec::<String>::new());
}

#[track_caller]
fn wrong(expected: Value, reported: Value) {
    assert_ne!(problems(expected, reported), Vec::<String>::new());
}

#[test]
fn a_report_is_exact_in_any_order() {
    let a = json!({"rule": "yaml-syntax", "file": "a.yaml", "line": 3, "column": 1, "document": 0, "text": "x"});
    let b = json!({"rule": "type-mismatch", "file": "b.yaml", "line": 4, "path": "/data/v"});
    let wanted_a = json!({"reason": "yaml-syntax", "file": "a.yaml", "line": [3, 4], "doc": 7});
    let wanted_b = json!({"reason": "type-mismatch", "file": "b.yaml", "line": 4, "path": "/data/v"});
    right(json!([wanted_b, wanted_a]), json!([a, b]));
    wrong(json!([wanted_a]), json!([a, b]));
    wrong(json!([wanted_a, wanted_b]), json!([a]));
    wrong(json!([wanted_a, wanted_b]), json!([a, b, b]));
    wrong(json!([wanted_b, wanted_b]), json!([b]));
}

#[test]
fn every_key_that_is_given_is_compared() {
    let reported = json!({
        "rule": "quota", "file": "a.yaml", "line": 4, "path": "/spec/x",
        "id": {"group": "", "kind": "Pod", "namespace": "shop", "name": "p"},
        "also": [{"file": "a.yaml", "line": 2}], "owner": "web",
        "holds": [{"kind": "Secret", "namespace": "shop", "name": "s"}],
        "text": "requests.cpu: 3 of 4 used, 2 asked",
    });
    let sound = json!({
        "reason": ["quota", "locked"], "file": "a.yaml", "line": 4, "path": "/spec/x", "id": "core/Pod/shop/p",
        "also": [{"line": [1, 2]}, {"file": "a.yaml"}], "owner": "web", "holds": ["core/Secret/shop/s"],
        "resource": "requests.cpu", "limit": "4", "used": "3", "asked": "2",
    });
    right(json!([sound]), json!([reported]));
    for (key, value) in [
        ("reason", json!("locked")),
        ("file", json!("b.yaml")),
        ("line", json!([3, 5])),
        ("path", json!("/spec")),
        ("id", json!("core/Pod/shop/q")),
        ("also", json!([{"line": 3}])),
        ("also", json!([{"file": "b.yaml"}])),
        ("owner", json!("we")),
        ("holds", json!(["core/Secret/shop/t"])),
        ("resource", json!("limits.cpu")),
        ("limit", json!("5")),
        ("used", json!("7")),
        ("asked", json!("9")),
    ] {
        let mut changed = sound.clone();
        changed[key] = value.clone();
        assert_ne!(problems(json!([changed]), json!([reported])), Vec::<String>::new(), "{key} {value}");
    }
}

#[test]
fn an_id_may_be_named_in_the_text() {
    let reported = json!({"rule": "owned-by-other", "text": "Service/shop/web belongs to web-v2"});
    right(json!([{"reason": "owned-by-other", "id": "core/Service/shop/web", "owner": "web-v2"}]), json!([reported]));
    wrong(json!([{"reason": "owned-by-other", "owner": "v2"}]), json!([reported]));
}

#[test]
fn what_is_optional_may_be_there_any_number_of_times() {
    let fault = json!({"rule": "unknown-field", "file": "s.yaml", "path": "/x"});
    let missing = json!({"rule": "missing-field", "file": "s.yaml"});
    let wanted = json!([
        {"reason": "unknown-field", "file": "s.yaml", "path": "/x"},
        {"reason": "missing-field", "file": "s.yaml", "optional": true},
    ]);
    right(wanted.clone(), json!([fault]));
    right(wanted.clone(), json!([missing, fault, missing]));
    wrong(wanted.clone(), json!([missing]));
    wrong(wanted, json!([fault, {"rule": "missing-field", "file": "t.yaml"}]));
}

#[test]
fn a_vague_entry_does_not_take_the_partner_of_a_precise_one() {
    let vague = json!({"reason": "size-limit"});
    let precise = json!({"reason": "size-limit", "file": "a.yaml"});
    let (a, b) = (json!({"rule": "size-limit", "file": "a.yaml"}), json!({"rule": "size-limit", "file": "b.yaml"}));
    right(json!([vague, precise]), json!([a, b]));
    right(json!([vague, precise]), json!([b, a]));
    wrong(json!([precise, precise]), json!([a, b]));
}

#[test]
fn a_largest_matching_is_found_by_moving_partners() {
    let edges = [vec![0, 1], vec![0], vec![1, 2]];
    let found = assign::assign(3, 3, &|left, right| edges[left].contains(&right));
    assert_eq!(found, [Some(1), Some(0), Some(2)]);
    let mismatch = assign::exact(2, 2, &|_, right| right == 0, &|_| false);
    assert_eq!((mismatch.missing, mismatch.surplus), (vec![1], vec![1]));
}
