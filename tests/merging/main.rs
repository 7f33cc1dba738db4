//! Structured merge: what stays, what goes, who holds what.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic")]

mod api_server;
mod field_sets;
mod properties;
mod speed;
mod trial_cases;

use std::sync::Arc;

use holdfast::base::clock::Moment;
use holdfast::base::ids::Manager;
use holdfast::base::resource::GroupVersionKind;
use holdfast::merge::{self, Ask, FieldSet, ManagedFields, MergeError, Outcome};
use holdfast::schema::crd::Crd;
use holdfast::schema::{Catalog, KindSchema};
use serde_json::{Value, json};

pub(crate) fn kind(api_version: &str, kind: &str) -> Arc<KindSchema> {
    Catalog::builtin().resolve(&GroupVersionKind::new(api_version, kind)).unwrap()
}

/// A custom resource with every way to merge.
pub(crate) fn widget() -> Arc<KindSchema> {
    let pair = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "proto": {"type": "string", "default": "TCP"}, "value": {"type": "string"}}});
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer", "default": 3},
        "memory": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true,
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "proto"],
            "items": pair},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "whole": {"type": "array", "items": {"type": "string"}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.lab.example.com"},
        "spec": {"group": "lab.example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]},
    });
    let catalog = Catalog::builtin().with_crds(vec![Crd::read(&crd).unwrap()]);
    catalog.resolve(&GroupVersionKind::new("lab.example.com/v1", "Widget")).unwrap()
}

pub(crate) fn at(second: i64) -> Moment {
    Moment::from_millis(1_700_000_000_000 + second * 1000)
}

pub(crate) fn us() -> Manager {
    Manager::new("holdfast")
}

pub(crate) fn normal(schema: &KindSchema, mut declared: Value) -> Value {
    merge::normalize(schema, &mut declared);
    declared
}

pub(crate) fn apply_as(schema: &KindSchema, live: Option<&Value>, declared: &Value, who: &str, second: i64) -> Value {
    let declared = normal(schema, declared.clone());
    merge::apply(schema, live, &declared, &Manager::new(who), &schema.gvk.api_version(), at(second)).unwrap()
}

pub(crate) fn apply(schema: &KindSchema, live: Option<&Value>, declared: &Value, second: i64) -> Value {
    apply_as(schema, live, declared, "holdfast", second)
}

/// A change by hand.
pub(crate) fn by_hand(
    schema: &KindSchema,
    live: &Value,
    who: &str,
    second: i64,
    change: impl FnOnce(&mut Value),
) -> Value {
    let mut new = live.clone();
    change(&mut new);
    merge::update(Some(schema), Some(live), &new, &Manager::new(who), at(second)).unwrap()
}

pub(crate) fn plan<'a>(
    schema: &'a KindSchema,
    live: &'a Value,
    declared: &'a Value,
) -> Result<Outcome<'a>, MergeError> {
    let us = us();
    merge::merge(&Ask {
        schema,
        live: Some(live),
        declared,
        declared_before: None,
        manager: Box::leak(Box::new(us)),
        left_alone: &[],
    })
}

pub(crate) fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

pub(crate) fn paths<'p>(pointers: impl IntoIterator<Item = &'p holdfast::base::pointer::Pointer>) -> Vec<&'p str> {
    pointers.into_iter().map(|p| p.as_str()).collect()
}

pub(crate) fn held(object: &Value, who: &str, operation: merge::Operation) -> FieldSet {
    let managers = ManagedFields::of(object).unwrap();
    let of = |e: &&merge::Entry| e.manager.as_str() == who && e.operation == operation;
    managers.entries.iter().find(of).map(|e| e.fields.clone()).unwrap_or_default()
}
