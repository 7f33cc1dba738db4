//! `outside`: somebody else changes the target.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize as _;
use serde_json::Value;

use crate::ids::Id;
use crate::steps::{Outside, Put};
use crate::verdict::{Done, Stop};
use crate::world::{Config, World};

/// The `outside` action.
pub(super) fn perform(world: &World<'_>, step: &Outside) -> Done {
    let target = world.latest.as_ref().and_then(|saved| saved.target.clone());
    world.configure(Config { target: target.as_deref(), ..Config::default() })?;
    let actor = step.actor.as_str();
    let metadata = metadata_before(world, step)?;
    if !step.delete.is_empty() {
        world.delete(&step.delete, actor)?;
    }
    for id in &step.recreate {
        let mut body = live(world, id)?;
        if let Some(metadata) = body.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            for key in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
                metadata.remove(key);
            }
        }
        world.delete(std::slice::from_ref(id), actor)?;
        put_value(world, &body, actor)?;
    }
    if !step.put.is_empty() {
        let files: Done<Vec<PathBuf>> = step.put.iter().map(|put| file(world, put, &metadata)).collect();
        world.put(&files?, actor)?;
    }
    for (id, fields) in &step.set {
        change(world, id, actor, |object| {
            fields.iter().try_for_each(|(pointer, value)| pointer.set(object, value.clone()))
        })?;
    }
    for (id, fields) in &step.append {
        change(world, id, actor, |object| {
            fields.iter().try_for_each(|(pointer, value)| pointer.append(object, value.clone()))
        })?;
    }
    for (id, pointers) in &step.unset {
        change(world, id, actor, |object| pointers.iter().try_for_each(|pointer| pointer.unset(object)))?;
    }
    Ok(())
}

fn live(world: &World<'_>, id: &Id) -> Done<Value> {
    world.get(id)?.ok_or_else(|| Stop::Failed(format!("{id} is not on the target")))
}

fn change(world: &World<'_>, id: &Id, actor: &str, with: impl FnOnce(&mut Value) -> Result<(), String>) -> Done {
    let mut object = live(world, id)?;
    with(&mut object).map_err(|why| format!("{id}: {why}"))?;
    put_value(world, &object, actor)
}

fn put_value(world: &World<'_>, object: &Value, actor: &str) -> Done {
    let file = world.file("object.json", &object.to_string())?;
    world.put(&[file], actor)
}

/// The live objects whose labels and annotations a file takes, as they are before anything of the step is done.
fn metadata_before(world: &World<'_>, step: &Outside) -> Done<BTreeMap<Id, Value>> {
    let mut metadata = BTreeMap::new();
    for put in &step.put {
        if let Put::WithMetadata(with) = put {
            metadata.insert(with.metadata_of.clone(), live(world, &with.metadata_of)?);
        }
    }
    Ok(metadata)
}

/// A file of the case as it is to be put.
fn file(world: &World<'_>, put: &Put, metadata: &BTreeMap<Id, Value>) -> Done<PathBuf> {
    let name = match put {
        Put::File(name) => name,
        Put::WithMetadata(with) => &with.file,
    };
    let path = world.case_path.join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let filled = with_uids(world, &text)?;
    let of = match put {
        Put::File(_) if filled == text => return Ok(path),
        Put::File(_) => return world.file("filled.yaml", &filled),
        Put::WithMetadata(with) => metadata.get(&with.metadata_of),
    };
    let mut documents = Vec::new();
    for document in serde_yaml::Deserializer::from_str(&filled) {
        let mut object = Value::deserialize(document).map_err(|error| format!("{name}: {error}"))?;
        for key in ["labels", "annotations"] {
            match of.and_then(|of| of.pointer(&format!("/metadata/{key}"))) {
                Some(map) => object["metadata"][key] = map.clone(),
                None => {
                    if let Some(metadata) = object["metadata"].as_object_mut() {
                        metadata.remove(key);
                    }
                }
            }
        }
        documents.push(object.to_string());
    }
    world.file("with-metadata.yaml", &documents.join("\n---\n"))
}

/// Fills in each `<uid of ID>`.
fn with_uids(world: &World<'_>, text: &str) -> Done<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<uid of ") {
        let (id, after) = after.split_once('>').ok_or_else(|| "<uid of ... without an end".to_owned())?;
        let id = Id::try_from(id.to_owned())?;
        let object = live(world, &id)?;
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).ok_or_else(|| format!("{id} has no uid"))?;
        filled.push_str(before);
        filled.push_str(uid);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}
