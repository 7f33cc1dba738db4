use serde_json::json;

use super::*;
use crate::base::clock::Moment;
use crate::base::ids::{Manager, ObjectUid};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::merge::FieldSet;
use crate::plan::document::Field;
use crate::target::LogLine;

fn at(text: &str) -> Pointer {
    Pointer::parse(text).unwrap()
}

fn line(minute: i64, actor: &str, operation: &str, fields: &[&str]) -> LogLine {
    LogLine {
        entry: minute.to_string(),
        at: Moment::from_millis(minute * 60_000),
        until: Moment::from_millis(minute * 60_000),
        actor: actor.into(),
        claimed: actor != "holdfast",
        applied: actor == "holdfast",
        operation: operation.into(),
        uid: ObjectUid::parse("u").unwrap(),
        version: minute.to_string(),
        fields: fields.iter().map(|field| at(field)).collect(),
    }
}

/// Newest first, as a target gives it.
fn log(mut lines: Vec<LogLine>) -> Vec<LogLine> {
    lines.reverse();
    lines
}

fn repairs(minutes: &[i64]) -> Vec<LogLine> {
    let mut lines = vec![line(0, "holdfast", "created", &[])];
    for minute in minutes {
        lines.push(line(*minute, "eve", "updated", &["/spec/replicas"]));
        lines.push(line(*minute, "holdfast", "updated", &["/spec/replicas"]));
    }
    log(lines)
}

#[test]
fn three_repairs_within_ten_minutes_make_a_field_contested_and_a_later_one_ends_it() {
    let replicas = at("/spec/replicas");
    assert_eq!(contest(&repairs(&[1, 2]), &replicas), None);
    let found = contest(&repairs(&[1, 5, 11]), &replicas).unwrap();
    assert_eq!((found.by, found.repairs), (vec!["eve".to_owned()], 3));
    assert_eq!(contest(&repairs(&[1, 5, 12]), &replicas), None, "eleven minutes");
    assert_eq!(contest(&repairs(&[1, 2, 3]), &at("/spec/paused")), None, "another field");
    assert!(contest(&repairs(&[1, 2, 3, 4]), &replicas).is_some());
    assert_eq!(contest(&repairs(&[1, 2, 3, 60]), &replicas), None, "repaired by a person an hour later");
}

#[test]
fn applies_of_new_commits_are_no_repairs() {
    let lines = (0..5).map(|m| line(m, "holdfast", "updated", &["/data/a"])).collect();
    assert_eq!(episodes(&log(lines), &at("/data/a")), vec![]);
}

#[test]
fn an_object_deleted_and_made_again_three_times_is_contested_as_a_whole() {
    let mut lines = vec![line(0, "holdfast", "created", &[])];
    for minute in 1..4 {
        lines.push(line(minute, "eve", "deleted", &[]));
        lines.push(line(minute, "holdfast", "created", &[]));
    }
    let lines = log(lines);
    assert!(contest(&lines, &Pointer::root()).is_some());
    assert_eq!(contest(&lines, &at("/data/a")), None);
}

#[test]
fn who_is_the_last_hand_and_since_the_first_one_after_the_apply() {
    let lines = log(vec![
        line(0, "holdfast", "created", &[]),
        line(1, "ada", "updated", &["/data/a"]),
        line(2, "holdfast", "updated", &["/data/a"]),
        line(3, "bob", "updated", &["/data"]),
        line(4, "eve", "updated", &["/data/a"]),
        line(5, "eve", "updated", &["/data/b"]),
    ]);
    let found = blame(&lines, None, &at("/data/a"));
    assert_eq!(found.who, Some(Who { name: "eve".into(), proven: false }));
    assert_eq!(found.at, Some(Moment::from_millis(240_000)));
    assert_eq!(found.since, Some(Moment::from_millis(180_000)));
    assert_eq!(found.times, 2);
}

#[test]
fn without_a_log_the_holder_of_the_field_claims_to_be_who_wrote_it() {
    let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}, "metadata": {"managedFields": [
        {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
         "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {"f:a": {}}}}]}});
    let found = blame(&[], Some(&live), &at("/data/a"));
    assert_eq!(found.who, Some(Who { name: "kubectl".into(), proven: false }));
    assert_eq!(found.at.unwrap().rfc3339(), "2026-01-01T00:00:00Z");
    assert_eq!(blame(&[], Some(&live), &at("/data/b")), Blame::default());
}

fn classified(log: &[LogLine], emergency: &[Pointer]) -> Origin {
    let id = ResourceId::parse("ConfigMap/shop/a").unwrap();
    let fields = [Field { path: at("/data/a"), before: Some(json!("2").into()), after: Some(json!("1").into()) }];
    let (file, standing) = ("a.yaml".to_owned(), Standing::Ours);
    let subject = Subject { id: &id, uid: None, file, line: 1, standing, fields: &fields, live: None, log, emergency };
    classify(subject).unwrap().fields[0].origin
}

#[test]
fn manual_accidental_and_emergency_are_told_apart() {
    let by_hand = log(vec![line(0, "holdfast", "created", &[]), line(1, "ada", "updated", &["/data/a"])]);
    assert_eq!(classified(&by_hand, &[]), Origin::Manual);
    assert_eq!(classified(&by_hand, &[at("/data")]), Origin::Emergency);
    assert_eq!(classified(&by_hand, &[at("/data/b")]), Origin::Manual);
    assert_eq!(classified(&by_hand[1..], &[]), Origin::Accidental, "nobody but an apply wrote it");
}

#[test]
fn additions_are_the_topmost_fields_of_unnamed_managers_in_watched_places() {
    let id = ResourceId::parse("Deployment.apps/shop/web").unwrap();
    let fields = |path: serde_json::Value| {
        json!({"manager": "injector", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
               "fieldsV1": path})
    };
    let live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2, "template": {"spec": {
            "containers": [{"name": "web", "image": "w"}, {"name": "proxy", "image": "p"}]}}},
        "metadata": {"labels": {"x": "y"}, "managedFields": [fields(json!({
            "f:metadata": {"f:labels": {"f:x": {}}},
            "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {
                "k:{\"name\":\"proxy\"}": {".": {}, "f:name": {}, "f:image": {}},
                "k:{\"name\":\"web\"}": {"f:image": {}}}}}}}))]}});
    let declared = FieldSet::from_fields_v1(&json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
        "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}}}}}}}))
    .unwrap();
    let paths = |named: &[&Manager]| -> Vec<String> {
        added(&id, &live, &declared, named).unwrap().iter().map(|a| a.path.to_string()).collect()
    };
    assert_eq!(paths(&[]), ["/spec/template/spec/containers/1"]);
    assert_eq!(paths(&[&Manager::new("injector")]), Vec::<String>::new());
    let other = ResourceId::parse("ConfigMap/shop/web").unwrap();
    assert!(added(&other, &live, &declared, &[]).unwrap().is_empty());
}
