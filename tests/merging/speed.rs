//! How long merges take where nothing changes: run with `--release -- --ignored speed`.

use std::time::Instant;

use holdfast::merge::{Ask, FieldSet, merge};
use serde_json::json;

use crate::{apply, by_hand, kind, us};

#[test]
#[ignore = "a measurement, meant for a release build"]
fn ten_thousand_merges_that_change_nothing_are_quick() {
    let deployment = kind("apps/v1", "Deployment");
    let config = kind("v1", "ConfigMap");
    let web = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web", "team": "a"}},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                "containers": [{
                    "name": "web", "image": "registry.example.com/web:1", "args": ["--port", "8080"],
                    "ports": [{"name": "http", "containerPort": 8080}],
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
                    "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5}}]}},
        },
    });
    let conf = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"},
        "data": {"a": "1", "b": "2", "c": "some longer text\nof two lines\n"}});
    let live_web = by_hand(&deployment, &apply(&deployment, None, &web, 0), "kube-controller-manager", 1, |v| {
        v["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
        v["status"] = json!({"replicas": 2, "observedGeneration": 1, "conditions": [
            {"type": "Available", "status": "True", "reason": "x"}]});
    });
    let live_conf = apply(&config, None, &conf, 0);
    let us = us();
    let before = [FieldSet::of_object(deployment.root(), &web), FieldSet::of_object(config.root(), &conf)];
    for (schema, live, declared, before) in
        [(&deployment, &live_web, &web, &before[0]), (&config, &live_conf, &conf, &before[1])]
    {
        let ask =
            Ask { schema, live: Some(live), declared, declared_before: Some(before), manager: &us, left_alone: &[] };
        let start = Instant::now();
        for _ in 0..10_000 {
            assert!(merge(&ask).unwrap().is_unchanged());
        }
        println!("{}: {:?} for 10,000", schema.gvk.kind, start.elapsed());
    }
}
