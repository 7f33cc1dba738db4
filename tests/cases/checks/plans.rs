//! Judging a plan against a step.

use serde_json::{Value, json};

use crate::judge;
use crate::steps::{Plan, PlanOutcome};

fn step(more: Value) -> Plan {
    let mut step = json!({"source": "s", "commit": "commit-1", "outcome": "planned"});
    step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(step).unwrap()
}

fn change(action: &str, name: &str) -> Value {
    json!({"action": action, "id": {"group": "", "kind": "ConfigMap", "namespace": "shop", "name": name}})
}

fn with(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

fn problems(step: &Plan, plan: &Value) -> Vec<String> {
    judge::plan(step, PlanOutcome::Planned, plan)
}

#[track_caller]
fn right(more: Value, plan: &Value) {
    assert_eq!(problems(&step(more), plan), Vec::<String>::new());
}

#[track_caller]
fn wrong(more: Value, plan: &Value) {
    assert_ne!(problems(&step(more), plan), Vec::<String>::new());
}

#[test]
fn ids_of_an_action_are_exact_and_only_checked_where_given() {
    let plan = json!({"changes": [change("create", "a"), change("create", "b")]});
    let (a, b, c) = ("core/ConfigMap/shop/a", "core/ConfigMap/shop/b", "core/ConfigMap/shop/c");
    right(json!({"create": [b, a]}), &plan);
    right(json!({"delete": []}), &plan);
    right(json!({}), &plan);
    wrong(json!({"create": [a]}), &plan);
    wrong(json!({"create": [a, b, c]}), &plan);
    wrong(json!({"delete": [a]}), &plan);
    wrong(json!({"create": []}), &plan);
}

#[test]
fn fields_of_an_update_match_both_ways() {
    let fields = json!({"fields": [{"path": "/data/v", "before": "1", "after": "2"}]});
    let plan = json!({"changes": [with(change("update", "a"), fields)]});
    let update = |fields: Value| json!({"update": [{"id": "core/ConfigMap/shop/a", "fields": fields}]});
    right(update(json!(["/data/v"])), &plan);
    right(update(json!(["/data"])), &plan);
    right(json!({"update": [{"id": "core/ConfigMap/shop/a"}]}), &plan);
    wrong(update(json!(["/data/v", "/data/w"])), &plan);
    wrong(update(json!(["/data/w"])), &plan);
    wrong(json!({"update": []}), &plan);
}

#[test]
fn a_kept_delete_has_its_reason_and_names_what_it_holds() {
    let holds = json!([{"group": "", "kind": "Secret", "namespace": "shop", "name": "by-hand"}]);
    let plan = json!({"changes": [with(change("keep", "a"), json!({"reason": "protected-delete", "holds": holds}))]});
    let keep = |reason: Value, holds: Value| json!({"keep": [{"id": "core/ConfigMap/shop/a", "reason": reason, "holds": holds}]});
    right(keep(json!("protected-delete"), json!(["core/Secret/shop/by-hand"])), &plan);
    right(keep(json!(["uid-mismatch", "protected-delete"]), json!([])), &plan);
    wrong(keep(json!("uid-mismatch"), json!([])), &plan);
    wrong(keep(json!("protected-delete"), json!(["core/Secret/shop/other"])), &plan);
    wrong(json!({"keep": []}), &plan);
}

#[test]
fn unchanged_objects_are_in_no_change_and_in_the_list() {
    let entry = json!({"id": {"group": "", "kind": "ConfigMap", "namespace": "shop", "name": "b"}, "uid": "1"});
    let plan = json!({"changes": [change("update", "a")], "unchanged": [entry], "summary": {"unchanged": 1}});
    right(json!({"unchanged": ["core/ConfigMap/shop/b"], "counts": {"update": 1, "create": 0, "unchanged": 1}}), &plan);
    wrong(json!({"unchanged": ["core/ConfigMap/shop/a"]}), &plan);
    wrong(json!({"unchanged": ["core/ConfigMap/shop/c"]}), &plan);
    wrong(json!({"counts": {"unchanged": 2}}), &plan);
    wrong(json!({"counts": {"update": 2}}), &plan);
    right(json!({"unchanged": ["core/ConfigMap/shop/c"]}), &json!({"changes": []}));
}

#[test]
fn chains_are_in_order() {
    let plan = json!({"changes": [change("create", "a"), change("create", "b"), change("delete", "c")]});
    let (a, b, c) = ("core/ConfigMap/shop/a", "core/ConfigMap/shop/b", "core/ConfigMap/shop/c");
    right(json!({"order": [[a, b, c], [a, c]]}), &plan);
    wrong(json!({"order": [[b, a]]}), &plan);
    wrong(json!({"order": [[a, "core/ConfigMap/shop/d"]]}), &plan);
}

#[test]
fn a_cascade_is_named_by_the_delete() {
    let holds = json!({"holds": [{"kind": "Secret", "namespace": "shop", "name": "by-hand"}]});
    let plan = json!({"changes": [with(change("delete", "a"), holds)]});
    right(json!({"cascade": {"core/ConfigMap/shop/a": ["core/Secret/shop/by-hand"]}}), &plan);
    wrong(json!({"cascade": {"core/ConfigMap/shop/a": ["core/Secret/shop/other"]}}), &plan);
    wrong(json!({"cascade": {"core/ConfigMap/shop/b": []}}), &plan);
}

#[test]
fn each_expected_warning_has_one_of_its_own() {
    let first = json!({"text": "1.10 is read as 1.1", "path": "/spec/version", "raw": "1.10"});
    let second = json!({"text": "yes is read as true", "path": "/spec/flag", "raw": "yes"});
    let own = json!({"warnings": [second]});
    let plan = json!({"changes": [with(change("create", "a"), own)], "warnings": [first]});
    let version = json!({"path": "/spec/version", "raw": "1.10"});
    let flag = json!({"path": "/spec/flag"});
    right(json!({"warnings": [flag, version], "no_other_warnings": true}), &plan);
    right(json!({"warnings": [flag]}), &plan);
    wrong(json!({"warnings": [flag], "no_other_warnings": true}), &plan);
    wrong(json!({"warnings": [flag, flag]}), &plan);
    wrong(json!({"warnings": [{"path": "/spec/version", "raw": "1.1.0"}]}), &plan);
    wrong(json!({"warnings": [{"id": "core/ConfigMap/shop/a"}]}), &plan);
    let twice = json!({"changes": [with(change("create", "a"), json!({"warnings": [first]}))], "warnings": [first]});
    right(json!({"warnings": [version], "no_other_warnings": true}), &twice);
}

#[test]
fn the_outcome_is_told_by_exit_code_and_document() {
    let outcome = |code, document: Value| judge::plan_outcome(Some(code), Some(&document));
    assert_eq!(outcome(0, json!({"changes": [change("create", "a")]})), Ok(PlanOutcome::Planned));
    assert_eq!(outcome(0, json!({"changes": []})), Ok(PlanOutcome::NoChange));
    assert_eq!(outcome(0, json!({"changes": [change("keep", "a"), change("own", "b")]})), Ok(PlanOutcome::NoChange));
    assert_eq!(outcome(1, json!({"refusals": [{"rule": "empty-source"}]})), Ok(PlanOutcome::Refused));
    assert_eq!(outcome(1, json!({"refusals": [{"rule": "repository-unreadable"}]})), Ok(PlanOutcome::Error));
    assert_eq!(judge::plan_outcome(Some(1), None), Ok(PlanOutcome::Error));
    assert!(judge::plan_outcome(Some(0), None).is_err());
    assert!(outcome(2, json!({})).is_err());
    assert!(outcome(101, json!({})).is_err());
    assert!(judge::plan_outcome(None, None).is_err());
}

#[test]
fn of_several_outcomes_only_the_keys_that_fit_are_looked_at() {
    let step = step(json!({
        "outcome": ["refused", "planned"], "create": ["core/ConfigMap/shop/a"],
        "refusals": [{"reason": "encoding", "file": "a.yaml"}],
    }));
    let refused = json!({"refusals": [{"rule": "encoding", "file": "a.yaml"}]});
    assert_eq!(judge::plan(&step, PlanOutcome::Refused, &refused), Vec::<String>::new());
    let planned = json!({"changes": [change("create", "a")]});
    assert_eq!(judge::plan(&step, PlanOutcome::Planned, &planned), Vec::<String>::new());
    assert_ne!(judge::plan(&step, PlanOutcome::Planned, &json!({"changes": []})), Vec::<String>::new());
}

#[test]
fn what_no_plan_may_change_is_found_under_any_action() {
    let ids = vec![crate::ids::Id::try_from("core/ConfigMap/shop/a".to_owned()).unwrap()];
    for action in ["keep", "update", "own"] {
        assert_eq!(judge::never_changed(&ids, &json!({"changes": [change(action, "a")]})).len(), 1);
    }
    assert!(judge::never_changed(&ids, &json!({"changes": [change("delete", "b")]})).is_empty());
}
