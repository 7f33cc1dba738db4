//! The hand of somebody outside: objects written and deleted without any plan, as with kubectl.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::object::{self, Stamp, meta_text};
use super::store::Formed;
use super::view::{Stored, View};
use super::{Embedded, strict, writer};
use crate::base::clock::Moment;
use crate::base::fault::Fault;
use crate::base::ids::{Manager, ObjectUid};
use crate::base::pointer::Pointer;
use crate::base::resource::{GroupKind, ResourceId};
use crate::base::sensitive;
use crate::base::server_owned::METADATA;
use crate::merge;
use crate::schema::{Catalog, KindSchema, meaning};
use crate::target::paths;
use crate::target::{HistoryEntry, Live, Reader as _, TargetError};

/// Somebody who reads and writes single objects. Each write is in the operation log under the actor's name.
#[derive(Debug)]
pub struct Hand<'t> {
    pub(super) target: &'t Embedded,
    pub(super) actor: String,
    pub(super) claimed: bool,
    pub(super) wait: Duration,
}

/// What a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// Objects of this kind alone.
    pub kind: Option<GroupKind>,
    /// Objects in this namespace alone.
    pub namespace: Option<String>,
    /// The target's own objects too.
    pub system: bool,
}

/// What came of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutResult {
    /// It is new.
    Created,
    /// It replaced what was there.
    Configured,
    /// It was so already: nothing was written.
    Unchanged,
}

/// One object that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The resource.
    pub id: ResourceId,
    /// What came of it.
    pub result: PutResult,
    /// Its UID.
    pub uid: ObjectUid,
    /// Its resourceVersion.
    pub version: String,
}

impl Hand<'_> {
    /// Notes in the operation log that the actor is only what somebody said: a claim.
    #[must_use]
    pub fn claimed(mut self, claimed: bool) -> Self {
        self.claimed = claimed;
        self
    }

    /// The objects, sorted by resource.
    ///
    /// # Errors
    /// If the target can't be read.
    pub fn list(&self, ask: &Ask) -> Result<Vec<Live>, TargetError> {
        let view = self.target.view()?;
        let system = view.system()?;
        let heads = view.all_heads()?;
        let shown = |id: &ResourceId| {
            ask.kind.as_ref().is_none_or(|kind| id.is(&kind.group, &kind.kind))
                && ask.namespace.as_ref().is_none_or(|namespace| id.namespace.as_ref() == Some(namespace))
                && (ask.system || !system.contains(id))
        };
        let ids: Vec<&ResourceId> = heads.iter().map(|head| &head.id).filter(|id| shown(id)).collect();
        let mut found: Vec<Live> = view.objects(&ids)?.into_values().collect();
        found.sort_by(|a, b| a.head.id.cmp(&b.head.id));
        Ok(found)
    }

    /// One object; `None` if it isn't there.
    ///
    /// # Errors
    /// If the target can't be read.
    pub fn get(&self, id: &ResourceId) -> Result<Option<Live>, TargetError> {
        Ok(self.target.view()?.objects(&[id])?.remove(id))
    }

    /// Creates or replaces whole objects, all or none of them, in order.
    ///
    /// UID, resourceVersion, generation, creationTimestamp and managedFields are the target's: a UID or resourceVersion
    /// in the body must be the live one's. A status that the body leaves out stays. Finalizers are stored and hold
    /// nothing back, since no controller is there to clear them.
    ///
    /// # Errors
    /// [`TargetError::Refused`] with all faults of all objects; then nothing was written.
    pub fn put(&self, objects: &[Value], at: Moment) -> Result<Vec<Put>, TargetError> {
        let view = self.target.begin(self.wait)?;
        let mut work = Work::new(self, &view, at)?;
        let mut faults = Vec::new();
        let mut done = Vec::with_capacity(objects.len());
        for object in objects {
            match work.put(object) {
                Ok(put) => done.push(put),
                Err(TargetError::Refused { faults: more }) => faults.extend(more),
                Err(other) => return Err(other),
            }
        }
        if !faults.is_empty() {
            return Err(TargetError::Refused { faults });
        }
        let count = |result| done.iter().filter(|put| put.result == result).count();
        let (created, configured) = (count(PutResult::Created), count(PutResult::Configured));
        if created + configured == 0 {
            return Ok(done);
        }
        let id = work.close("put", format!("{created} created, {configured} configured"))?;
        writer::finish(self.target, view, &id, at)?;
        Ok(done)
    }

    /// Deletes objects with all that goes along, all or none of them; what was deleted, in order.
    ///
    /// # Errors
    /// [`TargetError::Refused`] if one isn't there or can't be deleted; then nothing was written.
    pub fn delete(&self, ids: &[ResourceId], at: Moment) -> Result<Vec<ResourceId>, TargetError> {
        let view = self.target.begin(self.wait)?;
        let mut work = Work::new(self, &view, at)?;
        let mut faults = Vec::new();
        let mut roots = Vec::new();
        for id in ids {
            match view.find_heads(&[id])?.remove(id) {
                _ if strict::is_immortal(id) => {
                    let text = "no control plane deletes it";
                    faults.push(Fault::new(strict::SYSTEM_OBJECT, text).id(id.clone()));
                }
                Some(head) => roots.push(head),
                None => faults.push(Fault::new(strict::NOT_FOUND, "it isn't there").id(id.clone())),
            }
        }
        if !faults.is_empty() {
            return Err(TargetError::Refused { faults });
        }
        roots.dedup_by(|a, b| a.id == b.id);
        let mut gone = view.cascade(&roots)?;
        gone.extend(roots.into_iter().map(|head| (head.id.clone(), head)));
        for head in gone.values() {
            let Some(key) = view.key(&head.id)? else { continue };
            work.counter += 1;
            view.remove(key)?;
            work.line(key, &head.id, ("deleted", head.uid.as_str(), work.counter), &[])?;
        }
        let id = work.close("delete", format!("{} deleted", gone.len()))?;
        writer::finish(self.target, view, &id, at)?;
        Ok(gone.into_keys().collect())
    }
}

/// One write by hand inside its transaction.
struct Work<'w> {
    hand: &'w Hand<'w>,
    view: &'w View,
    at: Moment,
    catalog: Catalog,
    counter: i64,
    entry: i64,
    lines: BTreeMap<ResourceId, Value>,
}

impl<'w> Work<'w> {
    fn new(hand: &'w Hand<'w>, view: &'w View, at: Moment) -> Result<Self, TargetError> {
        let (counter, entry) = (view.counter()?, view.next_entry()?);
        Ok(Self { hand, view, at, catalog: view.catalog()?, counter, entry, lines: BTreeMap::new() })
    }

    fn put(&mut self, object: &Value) -> Result<Put, TargetError> {
        let refused = |faults| TargetError::Refused { faults };
        let (id, schema) = strict::identify(&self.catalog, object).map_err(refused)?;
        if self.lines.contains_key(&id) {
            return Err(refused(vec![Fault::new(strict::CONFLICT, "it is there twice").id(id)]));
        }
        let live = self.view.stored(&id)?;
        let old = match &live {
            None => None,
            Some(live) => Some(live.object().ok_or_else(|| self.view.name.damaged(format!("{id} can't be read")))?),
        };
        let mut faults = conflicts(&id, object, live.as_ref());
        if let Some(namespace) = &id.namespace {
            let namespace =
                ResourceId { group: String::new(), kind: "Namespace".into(), namespace: None, name: namespace.clone() };
            if self.view.find_heads(&[&namespace])?.is_empty() {
                faults.push(strict::missing_namespace(&id));
            }
        }
        let new = self.formed(&id, &schema, object, old.as_ref())?;
        faults.extend(strict::judge(&schema, &id, &new, old.as_ref()));
        if !faults.is_empty() {
            return Err(refused(faults));
        }
        let put = self.store(id, new, live, old.as_ref())?;
        if put.id.is_definition() && put.result != PutResult::Unchanged {
            self.catalog = self.view.catalog()?;
        }
        Ok(put)
    }

    /// The object as it is to be stored, with its field owners.
    fn formed(
        &self,
        id: &ResourceId,
        schema: &KindSchema,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Value, TargetError> {
        let mut new = object.clone();
        if let (true, Some(map)) = (sensitive::is_secret(object), new.as_object_mut()) {
            meaning::fold_string_data(map);
        }
        if schema.has_status
            && new.get("status").is_none()
            && let (Some(status), Some(map)) = (old.and_then(|old| old.get("status")), new.as_object_mut())
        {
            map.insert("status".to_owned(), status.clone());
        }
        if let Some(metadata) = object::metadata(&mut new) {
            for key in METADATA {
                metadata.remove(key);
            }
            if let Some(namespace) = &id.namespace {
                metadata.insert("namespace".into(), namespace.as_str().into());
            }
            if let Some(old) = old {
                for key in ["uid", "creationTimestamp", "generation"] {
                    if let Some(value) = old.get("metadata").and_then(|m| m.get(key)) {
                        metadata.insert(key.into(), value.clone());
                    }
                }
            }
        }
        let manager = Manager::new(&self.hand.actor);
        merge::update(Some(schema), old, &new, &manager, self.at)
            .map_err(|e| TargetError::Precondition { id: id.clone(), reason: e.to_string() })
    }

    fn store(
        &mut self,
        id: ResourceId,
        mut new: Value,
        live: Option<Stored>,
        old: Option<&Value>,
    ) -> Result<Put, TargetError> {
        let version = self.counter + 1;
        let (Some(live), Some(old)) = (live, old) else {
            let uid = uuid::Uuid::new_v4().to_string();
            object::stamp(&mut new, &Stamp { uid: &uid, generation: 1, created: &self.at.rfc3339() });
            let formed = Formed::new(&mut new, &uid, version);
            let key = self.view.puts()?.object(&id, self.view.key(&id)?, &formed)?.ok_or_else(|| exists(&id))?;
            self.counter = version;
            self.line(key, &id, ("created", &uid, version), &[])?;
            return self.done(id, PutResult::Created, &uid, version);
        };
        object::set_version(&mut new, live.version);
        if new == *old {
            return self.done(id, PutResult::Unchanged, &live.uid, live.version);
        }
        let generation = object::generation(old, &new);
        if let Some(metadata) = object::metadata(&mut new) {
            metadata.insert("generation".into(), generation.into());
        }
        let cut: Vec<Pointer> = [old, &new].iter().flat_map(|object| sensitive::pointers(object, &[])).collect();
        let fields = paths::changed(old, &new, &cut);
        let formed = Formed::new(&mut new, &live.uid, version);
        if !self.view.replace(live.key, &live.uid, live.version, &formed)? {
            return Err(exists(&id));
        }
        self.counter = version;
        self.line(live.key, &id, ("updated", &live.uid, version), &fields)?;
        self.done(id, PutResult::Configured, &live.uid, version)
    }

    fn done(&self, id: ResourceId, result: PutResult, uid: &str, version: i64) -> Result<Put, TargetError> {
        let uid = ObjectUid::parse(uid).map_err(|_| self.view.name.damaged("a UID can't be read"))?;
        Ok(Put { id, result, uid, version: version.to_string() })
    }

    fn line(
        &mut self,
        key: i64,
        id: &ResourceId,
        (operation, uid, version): (&str, &str, i64),
        fields: &[Pointer],
    ) -> Result<(), TargetError> {
        let text = if fields.is_empty() { None } else { Some(self.view.written(&fields)?) };
        self.view.puts()?.line(key, self.entry, (operation, uid, version), text.as_deref())?;
        let line = json!({
            "id": id, "operation": operation, "uid": uid, "version": version.to_string(), "fields": fields,
        });
        self.lines.insert(id.clone(), line);
        Ok(())
    }

    /// Writes the entry and the counter; the entry's ID.
    fn close(self, operation: &str, result: String) -> Result<String, TargetError> {
        let entry = HistoryEntry {
            id: String::new(),
            at: self.at,
            actor: self.hand.actor.clone(),
            claimed: self.hand.claimed,
            operation: operation.to_owned(),
            sources: Vec::new(),
            commits: Vec::new(),
            plan: None,
            result,
            objects: self.lines.keys().cloned().collect(),
        };
        let details = json!({ "objects": self.lines.into_values().collect::<Vec<_>>() });
        self.view.set_counter(self.counter)?;
        self.view.put_entry(self.entry, entry, &details.to_string())
    }
}

fn exists(id: &ResourceId) -> TargetError {
    TargetError::Precondition { id: id.clone(), reason: "it was written meanwhile".to_owned() }
}

/// A UID or resourceVersion in the body that isn't the live one's.
fn conflicts(id: &ResourceId, object: &Value, live: Option<&Stored>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut conflict = |key: &str, text: String| {
        let at = Pointer::of(["metadata", key]);
        faults.push(Fault::new(strict::CONFLICT, text).path(at).id(id.clone()));
    };
    let (uid, version) = (meta_text(object, "uid"), meta_text(object, "resourceVersion"));
    match live {
        Some(live) => {
            if !uid.is_empty() && uid != live.uid {
                conflict("uid", format!("the live object has UID {}", live.uid));
            }
            if !version.is_empty() && version != live.version.to_string() {
                conflict("resourceVersion", format!("the live object has {}: it was written since", live.version));
            }
        }
        None if !version.is_empty() => {
            conflict("resourceVersion", "there is no such object any more; leave it out to make a new one".to_owned());
        }
        None => {}
    }
    faults
}
