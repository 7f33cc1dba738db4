//! The trial cases that rest on merging.

use holdfast::base::pointer::Pointer;
use holdfast::merge::{self, Ask, FieldSet, seen};
use serde_json::{Value, json};

use crate::{apply, by_hand, kind, normal, paths, plan, us};

fn secret(more: Value) -> Value {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}});
    secret.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    normal(&kind("v1", "Secret"), secret)
}

#[test]
fn d01_quantities_compare_by_value_and_the_live_spelling_stays() {
    let schema = kind("v1", "LimitRange");
    let of = |cpu: Value, memory: &str| {
        json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "lr", "namespace": "shop"},
            "spec": {"limits": [{"type": "Container", "max": {"cpu": cpu, "memory": memory}}]}})
    };
    let live = apply(&schema, None, &of(json!("1000m"), "1024Mi"), 0);
    for same in [of(json!("1"), "1Gi"), of(json!(1), "1048576Ki")] {
        let out = plan(&schema, &live, &same).unwrap();
        assert!(out.is_unchanged() && out.newly_owned.is_empty(), "{same}");
    }
    let other = of(json!("1"), "1024M");
    let out = plan(&schema, &live, &other).unwrap();
    assert_eq!(paths(out.changes.iter().map(|c| &c.path)), ["/spec/limits/0/max/memory"]);
}

#[test]
fn d01_resources_round_up_to_thousandths() {
    let schema = kind("v1", "ResourceQuota");
    let of = |cpu: &str| json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"cpu": cpu}}});
    let live = apply(&schema, None, &of("1m"), 0);
    assert!(plan(&schema, &live, &of("0.0001")).unwrap().is_unchanged());
    assert!(!plan(&schema, &live, &of("1100u")).unwrap().is_unchanged());
}

#[test]
fn d02_a_written_default_is_newly_owned_and_no_change() {
    let schema = kind("apps/v1", "Deployment");
    let of = |port: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
            "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {
                "containers": [{"name": "web", "image": "web:1", "ports": [port]}]}}}})
    };
    let mut live = apply(&schema, None, &of(json!({"containerPort": 8080})), 0);
    let port = &mut live["spec"]["template"]["spec"]["containers"][0]["ports"][0];
    port["protocol"] = json!("TCP");
    assert!(plan(&schema, &live, &of(json!({"containerPort": 8080}))).unwrap().newly_owned.is_empty());
    let new = of(json!({"containerPort": 8080, "protocol": "TCP"}));
    let out = plan(&schema, &live, &new).unwrap();
    assert!(out.is_unchanged());
    assert_eq!(paths(&out.newly_owned), ["/spec/template/spec/containers/0/ports/0/protocol"]);
    let live = apply(&schema, Some(&live), &new, 1);
    assert!(plan(&schema, &live, &new).unwrap().newly_owned.is_empty());
}

#[test]
fn d03_empty_and_null_fields_that_the_server_does_not_keep_are_no_change() {
    let schema = kind("apps/v1", "Deployment");
    let declared = normal(
        &schema,
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "emp", "annotations": {}, "labels": null, "creationTimestamp": null},
            "spec": {"strategy": {}, "selector": {"matchLabels": {"app": "emp"}}, "template": {
                "metadata": {"labels": {"app": "emp"}, "annotations": null, "creationTimestamp": null},
                "spec": {"nodeSelector": {}, "tolerations": [], "volumes": null, "initContainers": [],
                    "containers": [{"name": "a", "image": "a:1", "env": [{"name": "EMPTY", "value": ""}], "args": [],
                        "resources": {"limits": {}, "requests": {}}, "livenessProbe": null}]}}},
            "status": {}}),
    );
    assert!(declared.get("status").is_none() && declared["metadata"].get("labels").is_none());
    let live = apply(&schema, None, &declared, 0);
    assert!(plan(&schema, &live, &declared).unwrap().is_unchanged());
    // As the API server stores it.
    let mut live = live;
    live["metadata"].as_object_mut().unwrap().remove("annotations");
    live["spec"]["strategy"] = json!({"type": "RollingUpdate"});
    live["spec"]["template"]["spec"] = json!({"containers": [
        {"name": "a", "image": "a:1", "env": [{"name": "EMPTY"}], "resources": {}}]});
    let out = plan(&schema, &live, &declared).unwrap();
    assert!(out.is_unchanged(), "{:?}", out.changes);
    assert!(out.newly_owned.is_empty());
}

#[test]
fn d04_replicas_left_alone_stay_whoever_holds_them() {
    let schema = kind("apps/v1", "Deployment");
    let of = |replicas: Option<i64>| {
        let mut v = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}}});
        if let Some(n) = replicas {
            v["spec"]["replicas"] = n.into();
        }
        v
    };
    let replicas = [Pointer::of(["spec", "replicas"])];
    let us = us();
    let alone = |live: &Value, declared: &Value| {
        let ask = Ask {
            schema: &schema,
            live: Some(live),
            declared,
            declared_before: None,
            manager: &us,
            left_alone: &replicas,
        };
        let out = merge::merge(&ask).unwrap();
        (out.is_unchanged(), out.newly_owned.len(), out.declared["spec"].get("replicas").cloned())
    };
    // Somebody else's.
    let live = apply(&schema, None, &of(None), 0);
    let live = by_hand(&schema, &live, "autoscaler", 1, |v| v["spec"]["replicas"] = json!(4));
    assert_eq!(alone(&live, &of(Some(2))), (true, 0, None));
    // Ours from the create, not touched yet: leaving it out would take it away.
    let live = apply(&schema, None, &of(Some(3)), 0);
    assert_eq!(alone(&live, &of(Some(2))), (true, 0, Some(json!(3))));
}

#[test]
fn d05_what_controllers_inject_is_no_change_and_survives_ours() {
    let schema = kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
    let of = |operations: Value| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "gate"}, "webhooks": [{"name": "gate.lab.example.com",
                "clientConfig": {"service": {"name": "gate", "namespace": "shop"}},
                "rules": [{"apiGroups": ["lab.example.com"], "operations": operations}]}]})
    };
    let declared = of(json!(["CREATE", "UPDATE"]));
    let live = apply(&schema, None, &declared, 0);
    let live = by_hand(&schema, &live, "cert", 1, |v| v["webhooks"][0]["clientConfig"]["caBundle"] = json!("Y2E="));
    assert!(plan(&schema, &live, &declared).unwrap().is_unchanged());
    let live = by_hand(&schema, &live, "hand", 2, |v| v["webhooks"][0]["rules"][0]["operations"] = json!(["CREATE"]));
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(paths(out.changes.iter().map(|c| &c.path)), ["/webhooks/0/rules/0/operations"]);
    assert_eq!(out.result["webhooks"][0]["clientConfig"]["caBundle"], json!("Y2E="));
}

#[test]
fn d07_string_data_is_data_and_a_removed_key_goes() {
    let schema = kind("v1", "Secret");
    let first = secret(json!({"stringData": {"user": "app", "pass": "correct-horse"}}));
    let live = apply(&schema, None, &first, 0);
    assert_eq!(live["data"], json!({"user": "YXBw", "pass": "Y29ycmVjdC1ob3JzZQ=="}));
    assert!(plan(&schema, &live, &first).unwrap().is_unchanged());
    let second = secret(json!({"stringData": {"user": "app"}}));
    let out = plan(&schema, &live, &second).unwrap();
    assert_eq!(paths(out.changes.iter().map(|c| &c.path)), ["/data/pass"]);
    let live = apply(&schema, Some(&live), &second, 1);
    assert_eq!(live["data"], json!({"user": "YXBw"}));
    let fourth = secret(json!({"type": "Opaque", "data": {"user": "YXBw"}}));
    assert!(plan(&schema, &live, &fourth).unwrap().is_unchanged());
    let third = secret(json!({"data": {"user": "b2xk"}, "stringData": {"user": "new"}}));
    assert_eq!(third["data"], json!({"user": "bmV3"}));
}

#[test]
fn d07_base64_of_data_becomes_canonical_and_what_is_none_stays() {
    let odd = secret(json!({"data": {"a": "YX\nBw", "b": "YR==", "c": "hunter2", "d": ""}}));
    assert_eq!(odd["data"], json!({"a": "YXBw", "b": "YQ==", "c": "hunter2", "d": ""}));
}

#[test]
fn r01_only_what_is_declared_is_seen() {
    let schema = kind("v1", "ConfigMap");
    let declared = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"v": "1"}});
    let fields = FieldSet::of_object(schema.root(), &declared);
    let live = apply(&schema, None, &declared, 0);
    let before = seen(Some(&schema), &live, &fields, &[]);
    let mut other = by_hand(&schema, &live, "hand", 1, |v| v["data"]["x"] = json!("by hand"));
    other["metadata"]["resourceVersion"] = json!("7");
    assert_eq!(seen(Some(&schema), &other, &fields, &[]), before);
    let moved = by_hand(&schema, &live, "hand", 1, |v| v["data"]["v"] = json!("by hand"));
    assert_ne!(seen(Some(&schema), &moved, &fields, &[]), before);
    let hidden = [Pointer::of(["data", "v"])];
    assert_eq!(seen(Some(&schema), &moved, &fields, &hidden), seen(Some(&schema), &live, &fields, &hidden));
}

#[test]
fn seen_is_the_same_for_all_that_means_the_same() {
    let schema = kind("apps/v1", "Deployment");
    let of = |cpu: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"spec":
            {"containers": [{"name": "a", "resources": {"limits": {"cpu": cpu}}}]}}}})
    };
    let fields = FieldSet::of_object(schema.root(), &of("1"));
    let mut spelled = of("1000m");
    spelled["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().insert(0, json!({"name": "sidecar"}));
    assert_eq!(seen(Some(&schema), &of("1"), &fields, &[]), seen(Some(&schema), &spelled, &fields, &[]));
    assert_ne!(seen(Some(&schema), &of("1"), &fields, &[]), seen(Some(&schema), &of("2"), &fields, &[]));
}
