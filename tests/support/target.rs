//! A strict reference model of a target: plain maps, and what planning may read of them.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdfast::base::clock::Moment;
use holdfast::base::ids::{Manager, ObjectUid, PlanId, SourceId, TargetIdentity};
use holdfast::base::map::HashMap;
use holdfast::base::resource::{GroupKind, GroupVersionKind, ResourceId};
use holdfast::inventory::{Controls, Inventory, LoopRecord, OWNER_ANNOTATION, OwnerMark, Released, SourceRecord};
use holdfast::merge;
use holdfast::schema::crd::Crd;
use holdfast::schema::{Catalog, KindSchema};
use holdfast::target::{Contents, Definitions, Head, History, HistoryEntry, Live, LogLine, Reader, TargetError};
use serde_json::{Value, json};

/// The moment of everything in tests.
pub fn now() -> Moment {
    Moment::from_millis(1_767_323_045_000)
}

/// A control plane in memory.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub objects: BTreeMap<ResourceId, Value>,
    pub sources: BTreeMap<SourceId, SourceRecord>,
    pub inventories: BTreeMap<SourceId, Inventory>,
    pub released: Vec<(SourceId, Released)>,
    counter: u64,
}

/// Which target the model is.
pub fn identity() -> TargetIdentity {
    TargetIdentity::parse("0c1d1d1e-8a4c-4f0e-9c55-1f2f3a4b5c6d").unwrap()
}

impl Model {
    /// An empty one with these Namespaces.
    pub fn with_namespaces(names: &[&str]) -> Self {
        let mut model = Self::default();
        for name in names {
            model.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}), "hand");
        }
        model
    }

    /// All kinds that it serves.
    pub fn catalog(&self) -> Catalog {
        let crds = self.definitions().unwrap().iter().filter_map(|d| Crd::read(&d.object).ok()).collect();
        Catalog::builtin().with_crds(crds)
    }

    /// The schema of an object.
    pub fn schema(&self, object: &Value) -> std::sync::Arc<KindSchema> {
        let text = |key: &str| object[key].as_str().unwrap();
        self.catalog().resolve(&GroupVersionKind::new(text("apiVersion"), text("kind"))).unwrap()
    }

    fn stamp(&mut self, mut object: Value, uid: Option<String>) -> Value {
        self.counter += 1;
        let uid = uid.unwrap_or_else(|| format!("uid-{}", self.counter));
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("uid".to_owned(), uid.into());
        metadata.insert("resourceVersion".to_owned(), self.counter.to_string().into());
        metadata.insert("generation".to_owned(), self.counter.into());
        object
    }

    /// Stores a whole object as somebody outside would; the UID is kept.
    pub fn put(&mut self, object: Value, actor: &str) -> ResourceId {
        let id = id_of(&object);
        let live = self.objects.get(&id).cloned();
        let schema = self.schema(&object);
        let mut new = merge::update(Some(&schema), live.as_ref(), &object, &Manager::new(actor), now()).unwrap();
        let uid = live.map(|l| l["metadata"]["uid"].as_str().unwrap().to_owned());
        new = self.stamp(new, uid);
        self.objects.insert(id.clone(), new);
        id
    }

    /// Changes a live object by hand.
    pub fn edit(&mut self, id: &ResourceId, actor: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[id].clone();
        change(&mut object);
        self.put(object, actor);
    }

    /// Deletes a live object and makes it anew with the same content.
    pub fn recreate(&mut self, id: &ResourceId) {
        let object = self.objects.remove(id).unwrap();
        let object = self.stamp(object, None);
        self.objects.insert(id.clone(), object);
    }

    /// Writes a declared object as Holdfast does, with its mark.
    pub fn apply(&mut self, declared: &Value, mark: &OwnerMark) -> &Value {
        let id = id_of(declared);
        let mut marked = declared.clone();
        let metadata = marked["metadata"].as_object_mut().unwrap();
        metadata.entry("annotations").or_insert_with(|| json!({}))[OWNER_ANNOTATION] = mark.to_string().into();
        let live = self.objects.get(&id).cloned();
        let schema = self.schema(declared);
        let api_version = schema.gvk.api_version();
        let manager = Manager::new(holdfast::plan::FIELD_MANAGER);
        let new = merge::apply(&schema, live.as_ref(), &marked, &manager, &api_version, now()).unwrap();
        let uid = live.map(|l| l["metadata"]["uid"].as_str().unwrap().to_owned());
        let new = self.stamp(new, uid);
        self.objects.entry(id).insert_entry(new).into_mut()
    }

    /// Takes the owner mark off, or puts another text there.
    pub fn mark(&mut self, id: &ResourceId, text: Option<&str>) {
        let object = self.objects.get_mut(id).unwrap();
        let metadata = object["metadata"].as_object_mut().unwrap();
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({})).as_object_mut().unwrap();
        match text {
            Some(text) => drop(annotations.insert(OWNER_ANNOTATION.to_owned(), text.into())),
            None => drop(annotations.remove(OWNER_ANNOTATION)),
        }
        let object = object.clone();
        let uid = object["metadata"]["uid"].as_str().map(str::to_owned);
        let object = self.stamp(object, uid);
        self.objects.insert(id.clone(), object);
    }

    /// Deletes an object with all that goes along, as a control plane does; answers what went along.
    pub fn delete(&mut self, id: &ResourceId) -> BTreeSet<ResourceId> {
        let before: BTreeSet<ResourceId> = self.objects.keys().cloned().collect();
        let Some(object) = self.objects.remove(id) else { return BTreeSet::new() };
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = GroupKind::new(text("/spec/group"), text("/spec/names/kind"));
        self.objects.retain(|other, _| match id.kind.as_str() {
            "Namespace" => other.namespace.as_ref() != Some(&id.name),
            "CustomResourceDefinition" => other.group_kind() != kind,
            _ => true,
        });
        // What lost its last owner goes; what never had one that exists stays as it is until then.
        let mut lost: Vec<Value> =
            before.iter().filter(|i| !self.objects.contains_key(*i)).map(|_| Value::Null).collect();
        let mut gone: BTreeSet<ObjectUid> = BTreeSet::from([head(id, &object).uid]);
        while !lost.is_empty() {
            lost.clear();
            let uids: BTreeSet<ObjectUid> = self.objects.iter().map(|(id, o)| head(id, o).uid).collect();
            let orphans: Vec<ResourceId> = self
                .objects
                .iter()
                .map(|(id, o)| head(id, o))
                .filter(|h| h.owners.iter().any(|o| gone.contains(o)) && h.owners.iter().all(|o| !uids.contains(o)))
                .map(|h| h.id)
                .collect();
            for orphan in orphans {
                let object = self.objects.remove(&orphan).unwrap();
                gone.insert(head(&orphan, &object).uid);
                lost.push(object);
            }
        }
        before.into_iter().filter(|other| other != id && !self.objects.contains_key(other)).collect()
    }

    /// A live object's identity.
    pub fn head(&self, id: &ResourceId) -> Option<Head> {
        self.objects.get(id).map(|object| head(id, object))
    }
}

/// What an object is called.
pub fn id_of(object: &Value) -> ResourceId {
    let gvk = GroupVersionKind::new(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    ResourceId {
        group: gvk.group,
        kind: gvk.kind,
        namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
        name: object["metadata"]["name"].as_str().unwrap().to_owned(),
    }
}

fn head(id: &ResourceId, object: &Value) -> Head {
    let metadata = &object["metadata"];
    let empty = Vec::new();
    let mut owners: Vec<&Value> = metadata["ownerReferences"].as_array().unwrap_or(&empty).iter().collect();
    owners.sort_by_key(|o| o["controller"] != true);
    Head {
        id: id.clone(),
        uid: ObjectUid::parse(metadata["uid"].as_str().unwrap()).unwrap(),
        version: metadata["resourceVersion"].as_str().unwrap().to_owned(),
        mark: OwnerMark::of(object),
        controlled: owners.first().is_some_and(|o| o["controller"] == true),
        owners: owners.iter().map(|o| ObjectUid::parse(o["uid"].as_str().unwrap()).unwrap()).collect(),
    }
}

impl Reader for Model {
    fn identity(&self) -> Result<TargetIdentity, TargetError> {
        Ok(identity())
    }
    fn revision(&self) -> Result<Option<String>, TargetError> {
        Ok(None)
    }
    fn sources(&self) -> Result<Vec<SourceRecord>, TargetError> {
        Ok(self.sources.values().cloned().collect())
    }
    fn inventory(&self, source: &SourceId) -> Result<Arc<Inventory>, TargetError> {
        Ok(self.inventories.get(source).cloned().unwrap_or_else(|| Inventory::empty(source.clone())).into())
    }
    fn released(&self, source: &SourceId) -> Result<Vec<Released>, TargetError> {
        Ok(self.released.iter().filter(|(by, _)| by == source).map(|(_, released)| released.clone()).collect())
    }
    fn controls(&self, _: &SourceId) -> Result<Controls, TargetError> {
        Ok(Controls::default())
    }
    fn loop_record(&self, _: &SourceId) -> Result<LoopRecord, TargetError> {
        Ok(LoopRecord::default())
    }
    fn definitions(&self) -> Result<Definitions, TargetError> {
        let kind = GroupKind::new("apiextensions.k8s.io", "CustomResourceDefinition");
        let all = self.objects.iter().filter(|(id, _)| id.group_kind() == kind);
        Ok(all.map(|(id, object)| Live { head: head(id, object), object: object.clone() }).collect::<Vec<_>>().into())
    }
    fn heads(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Head>, TargetError> {
        Ok(ids.iter().filter_map(|id| Some(((*id).clone(), self.head(id)?))).collect())
    }
    fn objects(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Live>, TargetError> {
        let live = |id: &ResourceId| {
            let object = self.objects.get(id)?;
            Some((id.clone(), Live { head: head(id, object), object: object.clone() }))
        };
        Ok(ids.iter().filter_map(|id| live(id)).collect())
    }
    fn list(&self, contents: &Contents) -> Result<Vec<Head>, TargetError> {
        let is_in = |id: &ResourceId| match contents {
            Contents::Namespace(name) => id.namespace.as_ref() == Some(name),
            Contents::Kind(kind) => id.group_kind() == *kind,
            Contents::KindIn(kind, name) => id.group_kind() == *kind && id.namespace.as_ref() == Some(name),
        };
        Ok(self.objects.iter().filter(|(id, _)| is_in(id)).map(|(id, object)| head(id, object)).collect())
    }
    fn was_applied(&self, _: &PlanId) -> Result<bool, TargetError> {
        Ok(false)
    }
    fn history(&self, _: &History) -> Result<Vec<HistoryEntry>, TargetError> {
        Ok(Vec::new())
    }
    fn receipt(&self, _: &str) -> Result<Option<(HistoryEntry, Value)>, TargetError> {
        Ok(None)
    }
    fn log(&self, _: &ResourceId) -> Result<Vec<LogLine>, TargetError> {
        Ok(Vec::new())
    }
}
