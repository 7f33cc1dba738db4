//! What is written before what.

use serde_json::{Value, json};

use crate::world::*;

fn planned(objects: Vec<Value>) -> Vec<String> {
    let mut source = Source::new("shop").declare(objects);
    source.spec.namespaces = holdfast::source::scope::Namespaces::Any;
    acts(&World::of(source).plan())
}

fn after(object: Value, on: &str) -> Value {
    asking(object, &[("config.kubernetes.io/depends-on", on)])
}

#[test]
fn kinds_come_in_the_usual_order_and_names_within_a_kind() {
    let objects = vec![
        deployment("web", json!({})),
        config("b", "1"),
        config("a", "1"),
        manifest("v1", "Service", Some("shop"), "s", json!({"spec": {"ports": [{"port": 80}]}})),
        manifest("v1", "ServiceAccount", Some("shop"), "x", json!({})),
    ];
    let expected =
        ["ServiceAccount/shop/x", "ConfigMap/shop/a", "ConfigMap/shop/b", "Service/shop/s", "Deployment.apps/shop/web"];
    assert_eq!(planned(objects), expected.map(|id| format!("create {id}")));
}

#[test]
fn waves_come_before_kinds_and_both_annotations_say_them() {
    let wave = |object, key: &str, n: &str| asking(object, &[(key, n)]);
    let objects = vec![
        wave(config("late", "1"), "wave", "2"),
        wave(deployment("early", json!({})), "argocd.argoproj.io/sync-wave", "-1"),
        config("plain", "1"),
        // Holdfast's own counts where both stand.
        asking(config("both", "1"), &[("wave", "3"), ("argocd.argoproj.io/sync-wave", "-9")]),
    ];
    let expected = ["Deployment.apps/shop/early", "ConfigMap/shop/plain", "ConfigMap/shop/late", "ConfigMap/shop/both"];
    assert_eq!(planned(objects), expected.map(|id| format!("create {id}")));
}

#[test]
fn a_namespace_comes_before_its_contents_and_a_definition_before_its_objects() {
    let inside = asking(manifest("v1", "ConfigMap", Some("team"), "a", json!({})), &[("wave", "-5")]);
    let objects = vec![
        inside,
        asking(namespace("team"), &[("wave", "3")]),
        asking(definition(), &[("wave", "4")]),
        widget("shop", "w", 1),
    ];
    let mut source = Source::new("shop").declare(objects);
    source.spec.namespaces = holdfast::source::scope::Namespaces::Any;
    let plan = World::of(source).plan();
    let lines: Vec<String> = plan.changes.iter().map(|c| format!("{} {}", c.wave, c.id.kind)).collect();
    // What is inside falls into the wave of what it needs.
    assert_eq!(lines, ["3 Namespace", "3 ConfigMap", "4 CustomResourceDefinition", "4 Widget"]);
}

#[test]
fn what_depends_on_another_comes_after_it_and_in_its_wave() {
    let objects = vec![
        after(config("a", "1"), "apps/namespaces/shop/Deployment/web, /namespaces/shop/ConfigMap/z"),
        asking(config("z", "1"), &[("wave", "1")]),
        deployment("web", json!({})),
    ];
    let plan = World::of(Source::new("shop").declare(objects)).plan();
    let lines: Vec<String> = plan.changes.iter().map(|c| format!("{} {}", c.wave, c.id.name)).collect();
    assert_eq!(lines, ["0 web", "1 z", "1 a"]);
}

#[test]
fn a_circle_is_refused_with_those_in_it_though_only_one_of_them_changes() {
    let circle = |value: &str| {
        vec![
            after(config("a", "1"), "/namespaces/shop/ConfigMap/b"),
            after(config("b", value), "/namespaces/shop/ConfigMap/a"),
            config("c", "1"),
        ]
    };
    let first = World::of(Source::new("shop").declare(circle("1")));
    let faults = first.try_plan().unwrap_err().0;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].holds, [id("ConfigMap/shop/a"), id("ConfigMap/shop/b")]);
    // The circle as it would be if it had slipped in: nothing but b is written.
    let source = Source::new("shop").declare(vec![config("a", "1"), config("b", "1")]);
    let half = World::of(source.clone()).applied();
    let mut next =
        half.now([source.at(2, [after(config("a", "1"), "/namespaces/shop/ConfigMap/b"), config("b", "1")])]).applied();
    next = next.now([source.at(3, circle("1"))]);
    assert_eq!(next.refused(), ["dependency-cycle"]);
    assert_eq!(planned(vec![config("x", "1")]).len(), 1);
    let itself = World::of(Source::new("shop").declare([after(config("a", "1"), "/namespaces/shop/ConfigMap/a")]));
    assert_eq!(itself.refused(), ["dependency-cycle"]);
}

#[test]
fn a_dependency_that_nobody_declares_orders_nothing_and_is_named() {
    let plan =
        World::of(Source::new("shop").declare([after(config("a", "1"), "/namespaces/shop/ConfigMap/typo")])).plan();
    assert_eq!(acts(&plan), ["create ConfigMap/shop/a"]);
    let warning = &plan.warnings[0];
    assert_eq!((warning.rule.as_str(), warning.file.as_deref()), ("dependency-outside", Some("000.yaml")));
    assert!(warning.text.contains("ConfigMap/shop/typo"));
}

#[test]
fn what_cannot_be_undone_goes_last_in_its_wave() {
    let job = manifest(
        "batch/v1",
        "Job",
        Some("shop"),
        "a",
        json!({"spec": {"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": "main:1"}]}}}}),
    );
    let policy =
        manifest("networking.k8s.io/v1", "IngressClass", None, "z", json!({"spec": {"controller": "example.com/c"}}));
    assert_eq!(planned(vec![job, policy]), ["create IngressClass.networking.k8s.io/z", "create Job.batch/shop/a"]);
    // A replace, too.
    let source = Source::new("shop")
        .declare([deployment("a", json!({})), manifest("batch/v1", "CronJob", Some("shop"), "z", cron("1"))]);
    let other = deployment(
        "a",
        json!({"spec": {"selector": {"matchLabels": {"app": "b"}}, "template": {"metadata": {"labels": {"app": "b"}}}}}),
    );
    let next = source.at(2, [other, manifest("batch/v1", "CronJob", Some("shop"), "z", cron("2"))]);
    let plan = World::of(source).applied().now([next]).allow("Deployment.apps/shop/a").plan();
    assert_eq!(acts(&plan), ["update CronJob.batch/shop/z", "replace Deployment.apps/shop/a"]);
}

fn cron(image: &str) -> Value {
    json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": image}]}}}}}})
}

#[test]
fn the_order_of_files_and_sources_changes_no_byte_of_a_plan() {
    let objects = || vec![namespace("n"), config("a", "1"), deployment("web", json!({})), claim("c"), config("b", "1")];
    let source = Source::new("shop").declare(objects());
    let plan = World::of(source.clone()).plan();
    let mut turned = source;
    turned.files.reverse();
    assert_eq!(World::of(turned).plan(), plan);
}
