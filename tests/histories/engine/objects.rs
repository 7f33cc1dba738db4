//! Manifests, and the values of live objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::step::{Data, Manifest, Res};

/// What a commit has of a resource.
pub(super) fn manifest_of(res: Res, manifest: &Manifest) -> Value {
    let mut object = object_of(res, &manifest.data);
    let mut annotations = Map::new();
    if manifest.wave != 0 {
        annotations.insert("holdfast.dev/wave".to_owned(), json!(manifest.wave.to_string()));
    }
    for (key, name) in [("holdfast.dev/release-to", manifest.release), ("holdfast.dev/adopt-from", manifest.from)] {
        annotations.extend(name.map(|name| (key.to_owned(), json!(name.text()))));
    }
    if !annotations.is_empty() {
        object["metadata"]["annotations"] = Value::Object(annotations);
    }
    object
}

pub(super) fn object_of(res: Res, data: &Data) -> Value {
    let values: Map<String, Value> =
        data.iter().map(|(key, value)| (key.to_string(), json!(value.to_string()))).collect();
    let mut object = if res.is_claim() {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": res.name(), "namespace": "shop"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    } else {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": res.name(), "namespace": "shop"}})
    };
    if !values.is_empty() {
        *values_mut(&mut object, res) = values;
    }
    object
}

pub(super) fn values_mut(object: &mut Value, res: Res) -> &mut Map<String, Value> {
    let holder = if res.is_claim() { &mut object["metadata"] } else { object };
    let key = if res.is_claim() { "labels" } else { "data" };
    let map = holder.as_object_mut().unwrap();
    map.entry(key).or_insert_with(|| json!({})).as_object_mut().unwrap()
}

/// The named values of a live object.
pub fn values(object: &Value, res: Res) -> BTreeMap<char, u8> {
    let at = if res.is_claim() { "/metadata/labels" } else { "/data" };
    let map = object.pointer(at).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.chars().next().unwrap(), value.as_str().unwrap().parse().unwrap()))
        .collect()
}
