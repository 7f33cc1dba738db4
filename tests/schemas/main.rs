//! The shapes of kinds: what is refused, where and why, and what is the same.

#![allow(clippy::unwrap_used)]

mod builtin;
mod cel;
mod crds;
mod kinds;
mod meaning;
mod naming;
mod quantities;
mod real;

use holdfast::base::resource::GroupVersionKind;
use holdfast::schema::{Catalog, SchemaFault, check};
use serde_json::Value;

/// Reads one document.
fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

fn gvk(value: &Value) -> GroupVersionKind {
    GroupVersionKind::new(value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap())
}

fn faults_in(catalog: &Catalog, value: &Value) -> Vec<SchemaFault> {
    check(&catalog.resolve(&gvk(value)).unwrap(), value)
}

/// Faults of a built-in object as `rule path`.
fn faults(text: &str) -> Vec<String> {
    briefly(&faults_in(&Catalog::builtin(), &yaml(text)))
}

fn briefly(faults: &[SchemaFault]) -> Vec<String> {
    faults.iter().map(|f| format!("{} {}", f.rule, f.path)).collect()
}

/// The hints of a built-in object's faults.
fn hints(text: &str) -> Vec<String> {
    let found = faults_in(&Catalog::builtin(), &yaml(text));
    found.into_iter().filter_map(|f| f.hint).collect()
}

/// A Deployment whose Pod spec ends with these lines.
fn deployment(pod: &str) -> String {
    let pod = pod.lines().map(|line| format!("      {line}\n")).collect::<String>();
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\nspec:\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n{pod}"
    )
}
