//! Rules in CEL: they hold, fail at their place, and fail closed.

use holdfast::schema::cel::{BadExpression, Expression, evaluate, text};
use holdfast::schema::crd::Crd;
use holdfast::schema::{Catalog, SchemaFault, check_update};
use serde_json::{Value, json};

use crate::{briefly, gvk};

fn catalog(spec: &Value) -> Catalog {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.lab.example.com"},
        "spec": {
            "group": "lab.example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}],
        },
    });
    Catalog::builtin().with_crds(vec![Crd::read(&crd).unwrap()])
}

fn widget(spec: &Value) -> Value {
    json!({"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}

fn found(schema: &Value, spec: &Value, old: Option<&Value>) -> Vec<SchemaFault> {
    let new = widget(spec);
    let old = old.map(widget);
    check_update(&catalog(schema).resolve(&gvk(&new)).unwrap(), &new, old.as_ref())
}

fn ruled(rule: &str) -> Value {
    json!({"type": "object", "properties": {
        "min": {"type": "integer"}, "max": {"type": "integer", "default": 5},
        "list": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'bad'", "message": "no bad name"}]},
        }}},
    }, "x-kubernetes-validations": [{"rule": rule, "message": "min is over max"}]})
}

#[test]
fn a_rule_that_fails_is_a_fault_at_its_value_with_its_message() {
    let schema = ruled("self.min <= self.max");
    assert_eq!(found(&schema, &json!({"min": 1, "max": 2}), None), []);
    let faults = found(&schema, &json!({"min": 3, "max": 2}), None);
    assert_eq!(briefly(&faults), ["cel-rule /spec"]);
    assert_eq!(faults[0].text, "min is over max");
    let faults = found(&schema, &json!({"min": 1, "list": [{"name": "a"}, {"name": "bad"}]}), None);
    assert_eq!(briefly(&faults), ["cel-rule /spec/list/1/name"]);
}

#[test]
fn defaults_are_there_when_a_rule_runs() {
    assert_eq!(found(&ruled("self.min <= self.max"), &json!({"min": 5}), None), []);
    assert_eq!(briefly(&found(&ruled("self.min <= self.max"), &json!({"min": 6}), None)), ["cel-rule /spec"]);
}

#[test]
fn rules_on_changes_run_only_with_an_old_value() {
    let schema = ruled("self.min >= oldSelf.min");
    assert_eq!(found(&schema, &json!({"min": 1}), None), []);
    assert_eq!(found(&schema, &json!({"min": 2}), Some(&json!({"min": 1}))), []);
    assert_eq!(briefly(&found(&schema, &json!({"min": 1}), Some(&json!({"min": 2})))), ["cel-rule /spec"]);
}

#[test]
fn what_cannot_be_run_is_refused_and_never_passes() {
    for rule in
        ["self.min <=", "self.nothing > 1", "self.min + 1", "cel.bind(x, self.min, x > 0)", "frobnicate(self.min)"]
    {
        let faults = found(&ruled(rule), &json!({"min": 1}), None);
        assert_eq!(briefly(&faults), ["cel-unsupported /spec"], "{rule}");
    }
}

#[test]
fn the_cost_of_rules_is_bounded_before_they_run() {
    let schema = ruled("self.list.all(a, self.list.all(b, self.list.all(c, a.name + b.name != c.name)))");
    let list =
        |n: usize| json!({"min": 1, "list": (0..n).map(|i| json!({"name": format!("n{i}")})).collect::<Vec<_>>()});
    assert_eq!(found(&schema, &list(10), None), []);
    assert_eq!(briefly(&found(&schema, &list(2000), None)), ["cel-unsupported /spec"]);
}

fn eval(expression: &str, object: &Value) -> Result<bool, BadExpression> {
    let compiled = Expression::compile(expression)?;
    evaluate(&[&compiled], &[("object", object), ("oldObject", &Value::Null)]).remove(0)
}

#[test]
fn policies_read_fields_by_their_own_names() {
    let object = json!({
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app.kubernetes.io/name": "web", "a_b": "c"}},
        "spec": {"replicas": 3, "template": {"spec": {"containers": [{"image": "r/a:1"}, {"image": "r/b@sha256:0"}]}}},
    });
    assert_eq!(eval("object.spec.replicas > 2 && oldObject == null", &object), Ok(true));
    assert_eq!(eval("object.metadata.labels['app.kubernetes.io/name'] == 'web'", &object), Ok(true));
    assert_eq!(eval("object.metadata.labels.a_b == 'c'", &object), Ok(true));
    assert_eq!(eval("object.metadata.namespace == 'shop'", &object), Ok(true));
    assert_eq!(eval("has(object.spec.paused)", &object), Ok(false));
    assert_eq!(eval("object.spec.template.spec.containers.all(c, c.image.contains('@sha256:'))", &object), Ok(false));
    assert_eq!(eval("object.spec.replicas < 5000000000", &object), Ok(true));
}

#[test]
fn a_policy_that_cannot_be_judged_is_an_error_without_values() {
    let object = json!({"data": {"password": "hunter2"}, "n": 1});
    assert!(matches!(eval("object.data.", &object), Err(BadExpression::Syntax(_))));
    assert_eq!(eval("object.nothing == 1", &object), Err(BadExpression::Missing("field nothing".to_owned())));
    assert_eq!(eval("object.n", &object), Err(BadExpression::WrongType("true or false")));
    for expression in ["object.data.password + 1 == 2", "object.data.password > 1", "object.data[object.data.password]"]
    {
        let error = eval(expression, &object).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{expression}: {error:?}");
    }
    let compiled = Expression::compile("'n is ' + string(object.n)").unwrap();
    assert_eq!(text(&compiled, &[("object", &object)]), Ok("n is 1".to_owned()));
    assert_eq!(compiled.variables(), ["object"]);
}

#[test]
fn a_hostile_expression_neither_overflows_nor_runs_away() {
    let long = [
        format!("{}true", "!".repeat(8000)),
        format!("{}true{}", "(".repeat(4000), ")".repeat(4000)),
        format!("{}1 > 0", "1+".repeat(4000)),
        format!("{}true", "true||".repeat(1300)),
        format!("{}true", "true?".repeat(1500)),
        format!("object{}", ".a".repeat(4000)),
        format!("{}{}", "[".repeat(4000), "]".repeat(4000)),
        format!("{}true", "!".repeat(250)),
        format!("{}true{}", "(".repeat(120), ")".repeat(120)),
        format!("{}1 > 0", "1+".repeat(120)),
    ];
    for expression in long {
        let _ = eval(&expression, &json!({}));
    }
    assert_eq!(eval(&"x".repeat(10_000), &json!({})), Err(BadExpression::TooLong));
}
