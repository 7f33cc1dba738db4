//! The port's Reader on a cluster. There is no moment that all reads share: each says what was so when it was read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::connection::Connection;
use super::objects::{self, Depth, Manner, head};
use super::openapi;
use super::outside;
use super::request::{Ask, JSON, escaped};
use super::state::{self, Blob, Entry, Kind, Store};
use crate::base::ids::{PlanId, SourceId, TargetIdentity};
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::{GroupKind, ResourceId};
use crate::inventory::{Controls, Inventory, LogLine, LoopRecord, Released, Row, SourceRecord};
use crate::schema::crd::defined_kind;
use crate::source::spec::ServiceAccount;
use crate::target::{Contents, Definitions, Head, History, HistoryEntry, Interrupted, Live, Reader, TargetError};

/// What is read of a cluster.
pub(super) struct View<'c> {
    on: &'c Connection,
    manner: Mutex<Manner>,
    /// What inventories that were read here have: that it isn't there is asked for by name.
    owned: Mutex<HashSet<ResourceId>>,
    heads: Mutex<Option<Vec<state::Head>>>,
    /// Every body that was shown: what a plan was made on.
    shown: Mutex<HashMap<ResourceId, Value>>,
}

impl<'c> View<'c> {
    pub(super) fn new(on: &'c Connection) -> Self {
        Self { on, manner: Mutex::default(), owned: Mutex::default(), heads: Mutex::default(), shown: Mutex::default() }
    }

    fn store(&self) -> Store<'c> {
        Store { on: self.on }
    }

    /// The body of an object as this view last showed it.
    pub(super) fn shown(&self, id: &ResourceId) -> Option<Value> {
        lock(&self.shown).get(id).cloned()
    }

    /// The heads of the Sources, read once.
    fn sources_heads(&self) -> Result<Vec<state::Head>, TargetError> {
        if let Some(known) = lock(&self.heads).clone() {
            return Ok(known);
        }
        let read = self.on.wait(self.store().heads())?;
        let heads: Vec<state::Head> = read.into_iter().map(|(head, _)| head).collect();
        *lock(&self.heads) = Some(heads.clone());
        Ok(heads)
    }

    fn read(&self, ids: &[&ResourceId], depth: Depth) -> Result<HashMap<ResourceId, Value>, TargetError> {
        if ids.is_empty() {
            return Ok(HashMap::default());
        }
        let manner = lock(&self.manner).clone();
        let owned = lock(&self.owned).clone();
        self.on.wait(objects::read(self.on, ids, depth, &manner, &owned))
    }

    fn find(&self, id: &str) -> Result<Option<Entry>, TargetError> {
        let mut found: Vec<Entry> =
            self.on.wait(self.store().entries(None))?.into_iter().filter(|e| e.entry.id.starts_with(id)).collect();
        if let Some(exact) = found.iter().position(|e| e.entry.id == id) {
            return Ok(Some(found.swap_remove(exact)));
        }
        match found.len() {
            0 => Ok(None),
            1 => Ok(found.pop()),
            count => Err(TargetError::Ambiguous { asked: id.to_owned(), count }),
        }
    }

    fn details(&self, entry: &Entry) -> Result<Value, TargetError> {
        let text = self.on.wait(self.store().read_blob(Kind::ConfigMap, &entry.details))?;
        serde_json::from_slice(&text).map_err(|e| self.on.damaged(format!("entry {}: {e}", entry.entry.id)))
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The UID of a Namespace; `None` if it isn't there.
pub(super) async fn namespace_uid(on: &Connection, name: &str) -> Result<Option<String>, TargetError> {
    let answer = on.send(&Ask::get(format!("/api/v1/namespaces/{}", escaped(name)), JSON)).await;
    match answer {
        Ok(answer) => {
            let object: Value = serde_json::from_slice(&answer.body).map_err(|e| on.damaged(e.to_string()))?;
            Ok(object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned))
        }
        Err(failed) if failed.code() == Some(404) => Ok(None),
        Err(failed) => Err(on.unavailable(&format!("Namespace {name} can't be read"), &failed)),
    }
}

impl Reader for View<'_> {
    fn identity(&self) -> Result<TargetIdentity, TargetError> {
        self.on.wait(identity(self.on))
    }

    fn revision(&self) -> Result<Option<String>, TargetError> {
        Ok(None)
    }

    fn prefer(&self, versions: &mut dyn Iterator<Item = (&ResourceId, String)>) {
        lock(&self.manner).versions.extend(versions.map(|(id, version)| (id.clone(), version)));
    }

    fn read_as(&self, account: &ServiceAccount, ids: &[&ResourceId]) {
        lock(&self.manner).accounts.extend(ids.iter().map(|id| ((*id).clone(), account.clone())));
    }

    fn sources(&self) -> Result<Vec<SourceRecord>, TargetError> {
        Ok(self.sources_heads()?.into_iter().map(|head| head.record).collect())
    }

    fn inventory(&self, source: &SourceId) -> Result<Arc<Inventory>, TargetError> {
        let heads = self.sources_heads()?;
        let Some(head) = heads.iter().find(|head| head.record.id == *source) else {
            return Ok(Arc::new(Inventory::empty(source.clone())));
        };
        let rows = self.on.wait(rows(self.on, head))?;
        lock(&self.owned).extend(rows.iter().map(|row| row.id.clone()));
        let rows = rows.into_iter().map(Arc::new).collect();
        Ok(Arc::new(Inventory { source: source.clone(), serial: head.record.serial, rows }))
    }

    fn released(&self, source: &SourceId) -> Result<Vec<Released>, TargetError> {
        let head = self.sources_heads()?.into_iter().find(|head| head.record.id == *source);
        Ok(head.map(|head| head.released).unwrap_or_default())
    }

    fn controls(&self, source: &SourceId) -> Result<Controls, TargetError> {
        Ok(self.on.wait(self.store().told(source))?.map(|(told, _)| told.controls).unwrap_or_default())
    }

    fn loop_record(&self, source: &SourceId) -> Result<LoopRecord, TargetError> {
        Ok(self.on.wait(self.store().told(source))?.map(|(told, _)| told.loop_record).unwrap_or_default())
    }

    fn definitions(&self) -> Result<Definitions, TargetError> {
        self.on.wait(definitions(self.on))
    }

    fn interrupted(&self) -> Result<Vec<Interrupted>, TargetError> {
        self.on.wait(super::apply::unfinished(self.on))
    }

    fn heads(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Head>, TargetError> {
        let found = self.read(ids, Depth::Head)?;
        Ok(found.into_iter().filter_map(|(id, object)| Some((id.clone(), head(id, &object)?))).collect())
    }

    fn objects(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Live>, TargetError> {
        let found = self.read(ids, Depth::Whole)?;
        lock(&self.shown).extend(found.iter().map(|(id, object)| (id.clone(), object.clone())));
        let live = |(id, object): (ResourceId, Value)| Some((id.clone(), Live { head: head(id, &object)?, object }));
        Ok(found.into_iter().filter_map(live).collect())
    }

    fn list(&self, contents: &Contents) -> Result<Vec<Head>, TargetError> {
        match contents {
            Contents::Namespace(name) => self.on.wait(objects::in_namespace(self.on, name)),
            Contents::Kind(kind) => self.on.wait(objects::of_kind(self.on, kind, None)),
            Contents::KindIn(kind, namespace) => self.on.wait(objects::of_kind(self.on, kind, Some(namespace))),
        }
    }

    fn was_applied(&self, plan: &PlanId) -> Result<bool, TargetError> {
        self.on.wait(was_applied(self.on, plan))
    }

    fn history(&self, ask: &History) -> Result<Vec<HistoryEntry>, TargetError> {
        let all = self.on.wait(self.store().entries(None))?;
        Ok(all.into_iter().map(|entry| entry.entry).take(ask.limit).collect())
    }

    fn receipt(&self, id: &str) -> Result<Option<(HistoryEntry, Value)>, TargetError> {
        let Some(found) = self.find(id)? else { return Ok(None) };
        let mut details = self.details(&found)?;
        let receipt = details.get_mut("receipt").map(Value::take).unwrap_or_default();
        Ok(Some((found.entry, receipt)))
    }

    fn log(&self, id: &ResourceId) -> Result<Vec<LogLine>, TargetError> {
        let mut lines = Vec::new();
        for entry in self.on.wait(self.store().entries(None))? {
            if !entry.entry.objects.is_empty() && !entry.entry.objects.contains(id) {
                continue;
            }
            let details = self.details(&entry)?;
            let all = details.get("lines").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let bad = || self.on.damaged(format!("entry {}: a line can't be read", entry.entry.id));
            for line in all {
                let line: Line = serde_json::from_value(line.clone()).map_err(|_| bad())?;
                if line.id == *id {
                    lines.push(LogLine {
                        entry: entry.entry.id.clone(),
                        at: entry.entry.at,
                        until: entry.entry.at,
                        actor: entry.entry.actor.clone(),
                        claimed: entry.entry.claimed,
                        applied: true,
                        operation: line.operation,
                        uid: line.uid,
                        version: line.version,
                        fields: line.fields,
                    });
                }
            }
        }
        let live = self.read(&[id], Depth::Whole)?.remove(id);
        let outside = live.map(|live| outside::lines(id, &live)).unwrap_or_default();
        let (older, newer): (Vec<LogLine>, Vec<LogLine>) =
            outside.into_iter().partition(|line| line.version == outside::BEFORE);
        Ok(newer.into_iter().chain(lines).chain(older).collect())
    }
}

/// What was written of one object, as the log keeps it.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) id: ResourceId,
    pub(super) operation: String,
    pub(super) uid: crate::base::ids::ObjectUid,
    pub(super) version: String,
    #[serde(default)]
    pub(super) fields: Vec<crate::base::pointer::Pointer>,
}

/// The UID of `kube-system` with the state namespace's name, and once there is state its UID too.
pub(super) async fn identity(on: &Connection) -> Result<TargetIdentity, TargetError> {
    let cluster = namespace_uid(on, "kube-system").await?;
    let cluster = cluster.ok_or_else(|| on.damaged("the cluster has no Namespace kube-system"))?;
    let text = match namespace_uid(on, &on.state_namespace).await? {
        Some(state) => format!("{cluster}/{}.{state}", on.state_namespace),
        None => format!("{cluster}/{}", on.state_namespace),
    };
    TargetIdentity::parse(&text).map_err(|e| on.damaged(e.to_string()))
}

/// The rows of an inventory, in order.
pub(super) async fn rows(on: &Connection, head: &state::Head) -> Result<Vec<Row>, TargetError> {
    rows_of(on, head.inventory.as_ref(), &head.record.name).await
}

/// The same, of an inventory that no head names yet.
pub(super) async fn rows_of(
    on: &Connection,
    blob: Option<&Blob>,
    name: &crate::base::ids::SourceName,
) -> Result<Vec<Row>, TargetError> {
    let Some(blob) = blob else { return Ok(Vec::new()) };
    let text = Store { on }.read_blob(Kind::ConfigMap, blob).await?;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let bad = |e: serde_json::Error| on.damaged(format!("the inventory of {name} can't be read: {e}"));
    lines.map(|line| crate::base::json::read(line).map_err(bad)).collect()
}

/// Whether a plan was applied here.
pub(super) async fn was_applied(on: &Connection, plan: &PlanId) -> Result<bool, TargetError> {
    let found = Store { on }.entries(Some(plan.as_str())).await?;
    Ok(found.iter().any(|entry| entry.entry.plan.as_ref() == Some(plan) && entry.entry.operation == "apply"))
}

/// The kinds that the cluster serves: by its definitions, and by what it publishes of all others.
pub(super) async fn definitions(on: &Connection) -> Result<Definitions, TargetError> {
    let kind = GroupKind::new("apiextensions.k8s.io", "CustomResourceDefinition");
    let discovery = on.discovery().await?;
    let mut found = Vec::new();
    let Some(served) = discovery.find(&kind, Some("apiextensions.k8s.io/v1")) else {
        return Ok(Definitions::new(openapi::catalog(on, &BTreeSet::new()).await?, found));
    };
    objects::list(on, served, None, (Depth::Whole, None), |object| {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = ResourceId { group: kind.group.clone(), kind: kind.kind.clone(), namespace: None, name };
        found.extend(head(id, &object).map(|head| Live { head, object }));
    })
    .await?;
    let custom: BTreeSet<GroupKind> = found.iter().filter_map(|live| defined_kind(&live.object)).collect();
    Ok(Definitions::new(openapi::catalog(on, &custom).await?, found))
}

/// Makes the namespace of the state, if it isn't there.
pub(super) async fn make_state_namespace(on: &Connection) -> Result<(), TargetError> {
    let name = &on.state_namespace;
    if namespace_uid(on, name).await?.is_some() {
        return Ok(());
    }
    let object = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let ask = Ask::send(http::Method::POST, "/api/v1/namespaces?fieldManager=holdfast", JSON, &object);
    match on.send(&ask).await {
        Ok(_) => Ok(()),
        Err(failed) if failed.code() == Some(409) => Ok(()),
        Err(failed) => Err(on.write_failed(format!("the Namespace {name} can't be made: {}", failed.text()))),
    }
}
