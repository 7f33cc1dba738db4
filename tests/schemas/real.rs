use holdfast::base::resource::GroupVersionKind;
use holdfast::schema::{Catalog, check, crd::Crd};
use serde_json::Value;
use std::path::Path;

fn documents(dir: &Path) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(documents(&path));
        } else if path.extension().is_some_and(|e| e == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            for document in serde_yaml::Deserializer::from_str(&text) {
                let value: Value = serde::Deserialize::deserialize(document).unwrap();
                match value.get("items") {
                    Some(Value::Array(items)) => {
                        all.extend(items.iter().map(|i| (path.display().to_string(), i.clone())))
                    }
                    _ if value.is_null() => {}
                    _ => all.push((path.display().to_string(), value)),
                }
            }
        }
    }
    all
}

fn gvk(v: &Value) -> GroupVersionKind {
    GroupVersionKind::new(v["apiVersion"].as_str().unwrap(), v["kind"].as_str().unwrap())
}

#[test]
fn real_sets_check_without_a_fault() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real"));
    let all = documents(root);
    let crds: Vec<Crd> = all
        .iter()
        .filter(|(_, v)| v["kind"] == "CustomResourceDefinition")
        .map(|(f, v)| Crd::read(v).unwrap_or_else(|e| panic!("{f}: {e:#?}")))
        .collect();
    assert_eq!(crds.len(), 10);
    let catalog = Catalog::builtin().with_crds(crds);
    let mut n = 0;
    let mut bad = 0;
    for (file, v) in &all {
        let schema = catalog.resolve(&gvk(v)).unwrap_or_else(|e| panic!("{file} {e:?}"));
        for fault in check(&schema, v) {
            println!("{file}: {fault:?}");
            bad += 1;
        }
        n += 1;
    }
    println!("{n} objects");
    assert_eq!(bad, 0);
}
