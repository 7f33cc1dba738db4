//! The pod templates of an object, and their containers.

use serde_json::Value;

use crate::base::pointer::Pointer;
use crate::schema::{KindSchema, Origin};

/// How deep a custom resource is searched for pod templates.
const MOST_DEPTH: usize = 16;

/// A pod specification inside an object.
#[derive(Debug)]
pub(super) struct PodSpec<'v> {
    pub(super) path: Pointer,
    pub(super) spec: &'v Value,
    /// Whether its pods are meant to end: those of Jobs, and others that aren't started again.
    pub(super) ends: bool,
}

/// One container of a pod specification.
pub(super) struct Container<'v> {
    pub(super) path: Pointer,
    pub(super) name: &'v str,
    pub(super) value: &'v Value,
    pub(super) role: Role,
}

/// What a container is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Main,
    Init,
    /// An init container that goes on running.
    Sidecar,
    Ephemeral,
}

impl<'v> PodSpec<'v> {
    /// All containers: main, init and ephemeral ones.
    pub(super) fn containers(&self) -> impl Iterator<Item = Container<'v>> {
        let lists =
            [("containers", Role::Main), ("initContainers", Role::Init), ("ephemeralContainers", Role::Ephemeral)];
        let (spec, path) = (self.spec, self.path.clone());
        lists.into_iter().flat_map(move |(key, role)| {
            let path = path.key(key);
            let list = spec.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
            list.map(move |(index, value)| {
                let stays = value.get("restartPolicy").and_then(Value::as_str) == Some("Always");
                Container {
                    path: path.index(index),
                    name: value.get("name").and_then(Value::as_str).unwrap_or_default(),
                    value,
                    role: if role == Role::Init && stays { Role::Sidecar } else { role },
                }
            })
        })
    }
}

/// Every pod specification of an object. Of built-in kinds the places are known; a custom resource is searched for maps
/// with a list of named containers.
pub(super) fn of<'v>(object: &'v Value, schema: &KindSchema) -> Vec<PodSpec<'v>> {
    let mut found = Vec::new();
    if schema.origin == Origin::Crd {
        search(object, &mut Pointer::root(), 0, &mut found);
        return found;
    }
    let (path, ends) = match (schema.gvk.group.as_str(), schema.gvk.kind.as_str()) {
        ("", "Pod") => ("/spec", false),
        ("", "PodTemplate") => ("/template/spec", false),
        ("", "ReplicationController") | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => {
            ("/spec/template/spec", false)
        }
        ("batch", "Job") => ("/spec/template/spec", true),
        ("batch", "CronJob") => ("/spec/jobTemplate/spec/template/spec", true),
        _ => return found,
    };
    if let Some(spec) = object.pointer(path) {
        let ends = ends || restarts_never(spec);
        found.push(PodSpec { path: Pointer::of(path.split('/').skip(1)), spec, ends });
    }
    found
}

fn restarts_never(spec: &Value) -> bool {
    matches!(spec.get("restartPolicy").and_then(Value::as_str), Some("Never" | "OnFailure"))
}

fn search<'v>(value: &'v Value, at: &mut Pointer, depth: usize, found: &mut Vec<PodSpec<'v>>) {
    if depth > MOST_DEPTH {
        return;
    }
    match value {
        Value::Object(map) => {
            let containers = map.get("containers").and_then(Value::as_array);
            if containers.is_some_and(|list| !list.is_empty() && list.iter().all(|c| c.get("name").is_some())) {
                found.push(PodSpec { path: at.clone(), spec: value, ends: restarts_never(value) });
                return;
            }
            for (key, below) in map {
                at.push_key(key);
                search(below, at, depth + 1, found);
                at.pop();
            }
        }
        Value::Array(list) => {
            for (index, below) in list.iter().enumerate() {
                at.push_index(index);
                search(below, at, depth + 1, found);
                at.pop();
            }
        }
        _ => {}
    }
}
