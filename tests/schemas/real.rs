//! Published manifests that a cluster takes.

use std::path::Path;
use std::time::Instant;

use holdfast::schema::crd::Crd;
use holdfast::schema::{Catalog, check, meaning};
use serde::Deserialize;
use serde_json::Value;

use crate::gvk;

fn documents(dir: &Path, all: &mut Vec<(String, Value)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, all);
        } else if path.extension().is_some_and(|e| e == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            for document in serde_yaml::Deserializer::from_str(&text) {
                let value = Value::deserialize(document).unwrap();
                match value.get("items") {
                    Some(Value::Array(items)) => {
                        all.extend(items.iter().map(|i| (path.display().to_string(), i.clone())));
                    }
                    _ if value.is_null() => {}
                    _ => all.push((path.display().to_string(), value)),
                }
            }
        }
    }
}

fn real() -> (Catalog, Vec<(String, Value)>) {
    let mut all = Vec::new();
    documents(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real")), &mut all);
    let is_crd = |v: &Value| v["kind"] == "CustomResourceDefinition";
    let crds: Vec<Crd> = all
        .iter()
        .filter(|(_, value)| is_crd(value))
        .map(|(file, value)| Crd::read(value).unwrap_or_else(|e| panic!("{file}: {e:#?}")))
        .collect();
    assert_eq!(crds.len(), 10);
    (Catalog::builtin().with_crds(crds), all)
}

#[test]
fn real_sets_pass_with_their_crds_and_custom_resources() {
    let (catalog, all) = real();
    let mut custom = 0;
    for (file, value) in &all {
        let schema = catalog.resolve(&gvk(value)).unwrap_or_else(|e| panic!("{file}: {e:?}"));
        assert_eq!(check(&schema, value), [], "{file}");
        custom += u32::from(schema.gvk.group == "monitoring.coreos.com");
    }
    assert!(all.len() > 100 && custom > 15, "{} objects, {custom} of them custom", all.len());
}

#[test]
fn a_misspelt_field_anywhere_in_the_real_sets_is_found() {
    let (catalog, all) = real();
    for (file, value) in &all {
        let schema = catalog.resolve(&gvk(value)).unwrap();
        let mut broken = value.clone();
        broken["spek"] = Value::Bool(true);
        let found = check(&schema, &broken);
        assert_eq!(found.len(), 1, "{file}");
        assert_eq!(found[0].path.as_str(), "/spek", "{file}");
    }
}

#[test]
fn canonical_values_are_equal_in_meaning_and_stay_as_they_are() {
    let (catalog, all) = real();
    for (file, value) in &all {
        let schema = catalog.resolve(&gvk(value)).unwrap();
        let once = meaning::canonical(&schema.root, value);
        assert!(meaning::equal(&schema.root, value, &once), "{file}");
        assert_eq!(meaning::canonical(&schema.root, &once), once, "{file}");
    }
}

/// Prints what a check costs: `cargo test --release --test schemas -- --ignored --nocapture cost`.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_check() {
    let started = Instant::now();
    let deployment = gvk(&crate::yaml("{apiVersion: apps/v1, kind: Deployment}"));
    let schema = Catalog::builtin().resolve(&deployment).unwrap();
    println!("first built-in kind: {:?}", started.elapsed());
    let (catalog, all) = real();
    let of_kind: Vec<&Value> = all.iter().map(|(_, v)| v).filter(|v| v["kind"] == "Deployment").collect();
    for value in &of_kind {
        check(&schema, value);
    }
    let rounds = 2000;
    let started = Instant::now();
    for _ in 0..rounds {
        for value in &of_kind {
            assert!(check(&schema, value).is_empty());
        }
    }
    println!("check of a Deployment: {:?}", started.elapsed() / rounds / u32::try_from(of_kind.len()).unwrap());
    let small = crate::yaml(&crate::deployment(
        "containers:\n- name: web\n  image: registry.example.com/web:1\n  ports: [{containerPort: 80}]\n  env: [{name: A, value: b}]\n\
         \x20 resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 128Mi}}",
    ));
    let started = Instant::now();
    (0..100_000).for_each(|_| assert!(check(&schema, &small).is_empty()));
    println!("check of a small Deployment: {:?}", started.elapsed() / 100_000);
    let started = Instant::now();
    for _ in 0..rounds {
        for value in &of_kind {
            assert!(meaning::equal(&schema.root, value, &(*value).clone()));
        }
    }
    println!(
        "clone and equal of a Deployment: {:?}",
        started.elapsed() / rounds / u32::try_from(of_kind.len()).unwrap()
    );
    for (_, value) in all.iter().filter(|(_, v)| v["kind"] == "CustomResourceDefinition").take(3) {
        let started = Instant::now();
        Crd::read(value).unwrap();
        let read = started.elapsed();
        let started = Instant::now();
        check(&catalog.resolve(&gvk(value)).unwrap(), value);
        println!("CRD {}: read {read:?}, check {:?}", value["metadata"]["name"], started.elapsed());
    }
    for (_, value) in all.iter().filter(|(_, v)| v["kind"] == "Prometheus") {
        let schema = catalog.resolve(&gvk(value)).unwrap();
        check(&schema, value);
        let started = Instant::now();
        (0..100).for_each(|_| assert!(check(&schema, value).is_empty()));
        println!("check of a Prometheus: {:?}", started.elapsed() / 100);
    }
}
