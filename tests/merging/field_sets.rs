//! Field sets and owners in Kubernetes' form.

use holdfast::merge::{FieldSet, ManagedFields, MergeError};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{kind, paths};

fn fields_v1() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        4 => prop::sample::select(vec!["f:a", "f:b", "f:c.d/e", "f:"]),
        1 => prop::sample::select(vec![r#"k:{"name":"x"}"#, r#"k:{"port":80,"protocol":"TCP"}"#, r#"v:"x""#, "v:1", "i:3"]),
        1 => Just("."),
    ];
    Just(json!({})).prop_recursive(4, 24, 4, move |inner| {
        prop::collection::vec((key.clone(), inner), 0..4).prop_map(|entries| {
            let map: Map<String, Value> = entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), if key == "." { json!({}) } else { value }))
                .collect();
            // Only a leaf is a map without steps; `.` alone is written that way.
            if map.len() == 1 && map.contains_key(".") { json!({}) } else { Value::Object(map) }
        })
    })
}

fn set() -> impl Strategy<Value = FieldSet> {
    fields_v1().prop_map(|v| FieldSet::from_fields_v1(&v).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_written_back(value in fields_v1()) {
        let mut expected = value.clone();
        if let Some(map) = expected.as_object_mut() { map.remove("."); }
        prop_assert_eq!(FieldSet::from_fields_v1(&value).unwrap().to_fields_v1(), expected);
    }

    #[test]
    fn sets_follow_the_algebra(a in set(), b in set(), c in set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(a.difference(&b.union(&c)), a.difference(&b).difference(&c));
        prop_assert!(a.union(&b).contains(&a));
        prop_assert_eq!(a.contains(&b), b.difference(&a).is_empty());
        prop_assert_eq!(a.union(&b).len() + a.intersection(&b).len(), a.len() + b.len());
    }

    #[test]
    fn no_text_in_managed_fields_makes_it_panic(key in ".{0,12}", value in ".{0,12}", time in ".{0,8}") {
        let mut inner = Map::new();
        inner.insert(key, json!({value: {}}));
        let object = json!({"metadata": {"managedFields": [{"operation": "Apply", "time": time, "fieldsV1": inner}]}});
        let _ = ManagedFields::of(&object);
    }
}

#[test]
fn a_deployment_declares_what_the_api_server_says_it_does() {
    let schema = kind("apps/v1", "Deployment");
    let declared = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                "volumes": [{"name": "tmp", "emptyDir": {}}],
                "containers": [{"name": "web", "image": "web:1", "args": ["a"], "resources": {"limits": {"cpu": "1"}},
                    "ports": [{"containerPort": 8080}]}]}},
        },
    });
    // As kube-apiserver 1.36.3 writes it for a server-side apply of this object: the selector is atomic.
    let expected = json!({
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {
            "f:selector": {},
            "f:template": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {
                "f:containers": {"k:{\"name\":\"web\"}": {
                    ".": {}, "f:args": {}, "f:image": {}, "f:name": {},
                    "f:ports": {"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                    "f:resources": {"f:limits": {"f:cpu": {}}}}},
                "f:volumes": {"k:{\"name\":\"tmp\"}": {".": {}, "f:emptyDir": {}, "f:name": {}}}}},
        },
    });
    assert_eq!(FieldSet::of_object(schema.root(), &declared).to_fields_v1(), expected);
}

#[test]
fn pointers_name_keyed_entries_by_their_index() {
    let set = FieldSet::from_fields_v1(&json!({"f:list": {
        "k:{\"name\":\"b\"}": {"f:x/y": {}}, "k:{\"name\":\"gone\"}": {"f:x": {}}, "v:2": {}}}))
    .unwrap();
    let value = json!({"list": [{"name": "a"}, {"name": "b", "x/y": 1}, 2]});
    assert_eq!(paths(&set.pointers(&value)), ["/list/1/x~1y", "/list/2"]);
}

#[test]
fn owners_that_cant_be_read_are_an_error_and_not_nobody() {
    for garbage in [
        json!("x"),
        json!([3]),
        json!([{"operation": "Apply", "fieldsV1": []}]),
        json!([{"operation": "Apply", "fieldsV1": {"f:a": 3}}]),
        json!([{"operation": "Apply", "fieldsV1": {"k:{": {}}}]),
        json!([{"operation": "Apply", "fieldsV1": {"nocolon": {}}}]),
        json!([{"operation": "Steal", "fieldsV1": {}}]),
        json!([{"operation": "Apply", "time": "yesterday"}]),
        json!([{"operation": "Apply", "manager": 3}]),
        json!([{"operation": "Apply", "fieldsType": "FieldsV2"}]),
    ] {
        let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": garbage}, "data": {}});
        let schema = kind("v1", "ConfigMap");
        let error = crate::plan(&schema, &live, &json!({"data": {"a": "1"}})).unwrap_err();
        assert!(matches!(error, MergeError::ManagedFields { .. } | MergeError::NoManagedFields), "{garbage}: {error}");
        assert!(error.to_string().contains("managedFields"), "{error}");
    }
}

#[test]
fn steps_of_an_unknown_kind_are_passed_over() {
    let set = FieldSet::from_fields_v1(&json!({"f:a": {}, "q:new": {}})).unwrap();
    assert_eq!(set.to_fields_v1(), json!({"f:a": {}}));
}

#[test]
fn the_same_owners_are_always_written_in_the_same_order() {
    let entry = |operation: &str, manager: &str, time: &str| {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}}})
    };
    let sorted = json!([
        entry("Apply", "z", "2026-01-01T00:00:01Z"),
        entry("Apply", "a", "2026-01-01T00:00:02Z"),
        entry("Update", "a", "2026-01-01T00:00:00Z"),
        entry("Update", "b", "2026-01-01T00:00:00Z"),
    ]);
    let shuffled = json!([sorted[3], sorted[1], sorted[2], sorted[0]]);
    let managers = ManagedFields::of(&json!({"metadata": {"managedFields": shuffled}})).unwrap();
    assert_eq!(managers.to_value(), sorted);
}
