//! Reads and writes the objects that hold the state.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::connection::Connection;
use super::super::request::{Ask, Failed, JSON, escaped};
use super::blob::Blob;
use crate::base::ids::{ApplyId, SourceId};
use crate::inventory::{Controls, LoopRecord, Released, SourceRecord};
use crate::target::{HistoryEntry, TargetError};

/// The label that says what a piece of state is.
pub(in super::super) const LABEL: &str = "holdfast.dev/state";
/// The label of a journal's parts with the ID of its apply.
pub(in super::super) const APPLY_LABEL: &str = "holdfast.dev/apply";
/// The label of an entry with the beginning of the PlanId.
const PLAN_LABEL: &str = "holdfast.dev/plan";

/// What kind of object holds a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// What holds no value of any object.
    ConfigMap,
    /// What may: the journal of an apply.
    Secret,
}

/// What a target knows of a Source, as its head has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Head {
    /// The record.
    pub(in super::super) record: SourceRecord,
    /// The apply that last switched the head.
    pub(in super::super) by: ApplyId,
    /// The inventory's rows; none is the empty one.
    pub(in super::super) inventory: Option<Blob>,
    /// Rows that were released, newest first.
    pub(in super::super) released: Vec<Released>,
}

/// A line of the operation log, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Entry {
    pub(in super::super) entry: HistoryEntry,
    /// The receipt or other details, and the lines of each object.
    pub(in super::super) details: Blob,
}

/// What people and the loop told about a Source.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Told {
    #[serde(default)]
    pub(in super::super) controls: Controls,
    #[serde(default)]
    pub(in super::super) loop_record: LoopRecord,
}

/// The state namespace.
#[derive(Clone, Copy)]
pub(in super::super) struct Store<'c> {
    pub(in super::super) on: &'c Connection,
}

/// The form of a PlanId as a label, which has 63 characters at most.
pub(in super::super) fn label(plan: &str) -> String {
    plan.chars().take(63).collect()
}

impl<'c> Store<'c> {
    fn url(&self, kind: Kind) -> String {
        let plural = match kind {
            Kind::ConfigMap => "configmaps",
            Kind::Secret => "secrets",
        };
        format!("/api/v1/namespaces/{}/{plural}", escaped(&self.on.state_namespace))
    }

    /// A piece of state; `None` if it isn't there.
    pub(in super::super) async fn get(&self, kind: Kind, name: &str) -> Result<Option<Value>, TargetError> {
        match self.on.send(&Ask::get(format!("{}/{}", self.url(kind), escaped(name)), JSON)).await {
            Ok(answer) => self.parse(&answer.body).map(Some),
            Err(Failed::Status(status)) if status.code == 404 => Ok(None),
            Err(failed) => Err(self.on.unavailable(&format!("the state {name} can't be read"), &failed)),
        }
    }

    fn parse(&self, body: &[u8]) -> Result<Value, TargetError> {
        crate::target::kubernetes::request::object(body)
            .map_err(|e| self.on.damaged(format!("an answer can't be read: {e}")))
    }

    /// Everything with a label, whole.
    pub(in super::super) async fn all(&self, what: &str, more: &str) -> Result<Vec<Value>, TargetError> {
        let mut found = Vec::new();
        let mut token = String::new();
        loop {
            let next = if token.is_empty() { String::new() } else { format!("&continue={}", escaped(&token)) };
            let selector = escaped(&format!("{LABEL}={what}{more}"));
            let url = format!("{}?labelSelector={selector}&limit=500{next}", self.url(Kind::ConfigMap));
            let answer = self.on.send(&Ask::get(url, JSON)).await;
            let answer = answer.map_err(|failed| self.on.unavailable("the state can't be read", &failed))?;
            let mut page = self.parse(&answer.body)?;
            token = page.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_owned();
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                found.extend(items);
            }
            if token.is_empty() {
                return Ok(found);
            }
        }
    }

    /// Makes a piece of state with these texts. One of that name that is there already with the same content is an answer
    /// that got lost.
    pub(in super::super) async fn make(
        &self,
        kind: Kind,
        metadata: &Value,
        data: &Map<String, Value>,
        immutable: bool,
    ) -> Result<Value, Failed> {
        let mut object = json!({"apiVersion": "v1", "metadata": metadata, "immutable": immutable});
        match kind {
            Kind::ConfigMap => {
                object["kind"] = "ConfigMap".into();
                let (binary, texts): (Map<_, _>, Map<_, _>) =
                    data.clone().into_iter().partition(|(key, _)| key == "part");
                object["data"] = Value::Object(texts);
                object["binaryData"] = Value::Object(binary);
            }
            Kind::Secret => {
                object["kind"] = "Secret".into();
                object["type"] = "holdfast.dev/journal".into();
                object["data"] = Value::Object(data.clone());
            }
        }
        let url = format!("{}?fieldManager=holdfast", self.url(kind));
        let ask = Ask::send(Method::POST, url, JSON, &object);
        match self.on.send(&ask).await {
            Ok(answer) => read(&answer.body),
            Err(failed) => self.made_after_all(kind, metadata, data, failed).await,
        }
    }

    async fn made_after_all(
        &self,
        kind: Kind,
        metadata: &Value,
        data: &Map<String, Value>,
        failed: Failed,
    ) -> Result<Value, Failed> {
        let name = metadata.get("name").and_then(Value::as_str);
        let (Some(name), true) = (name, failed.code().is_none() || failed.code() == Some(409)) else {
            return Err(failed);
        };
        let ask = Ask::get(format!("{}/{}", self.url(kind), escaped(name)), JSON);
        let there = read(&self.on.send(&ask).await?.body)?;
        let same = data.iter().all(|(key, value)| {
            let place = if key == "part" && kind == Kind::ConfigMap { "binaryData" } else { "data" };
            there.get(place).and_then(|data| data.get(key)) == Some(value)
        });
        if same { Ok(there) } else { Err(failed) }
    }

    /// Writes a piece of state that was read before, if nobody wrote it since.
    pub(in super::super) async fn swap(&self, kind: Kind, object: &Value) -> Result<Value, Failed> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let url = format!("{}/{}", self.url(kind), escaped(name));
        let ask = Ask::send(Method::PUT, format!("{url}?fieldManager=holdfast"), JSON, object);
        match self.on.send(&ask).await {
            Ok(answer) => read(&answer.body),
            Err(Failed::Lost(text)) => {
                // Whether it was written, the object says.
                let there = read(&self.on.send(&Ask::get(url, JSON)).await?.body)?;
                let same = there.get("data") == object.get("data");
                if same { Ok(there) } else { Err(Failed::Lost(text)) }
            }
            Err(failed) => Err(failed),
        }
    }

    /// Deletes a piece of state; that it is gone already is as good.
    pub(in super::super) async fn delete(&self, kind: Kind, name: &str) -> Result<(), Failed> {
        let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let ask = Ask::send(Method::DELETE, format!("{}/{}", self.url(kind), escaped(name)), JSON, &body);
        for _ in 0..3 {
            match self.on.send(&ask).await {
                Ok(_) => return Ok(()),
                Err(failed) if failed.code() == Some(404) => return Ok(()),
                Err(Failed::Lost(_)) => {}
                Err(failed) => return Err(failed),
            }
        }
        Err(Failed::Lost(format!("{name} could not be deleted")))
    }

    /// Writes a text in parts; those of an apply's journal bear its ID.
    pub(in super::super) async fn write_blob(
        &self,
        kind: Kind,
        what: &str,
        stem: &str,
        text: &[u8],
        apply: Option<&ApplyId>,
    ) -> Result<Blob, TargetError> {
        let (blob, parts) = Blob::pack(stem, text).map_err(|e| self.on.write_failed(format!("{stem}: {e}")))?;
        let writes = parts.into_iter().map(|(name, bytes)| async move {
            let mut labels = json!({ LABEL: what });
            if let Some(apply) = apply {
                labels[APPLY_LABEL] = apply.as_str().into();
            }
            let metadata = json!({"name": name, "labels": labels});
            let data = Map::from_iter([("part".to_owned(), Value::String(BASE64.encode(bytes)))]);
            let made = self.make(kind, &metadata, &data, true).await;
            made.map(drop).map_err(|e| self.on.write_failed(format!("the state {name} can't be written: {}", e.text())))
        });
        stream::iter(writes).buffer_unordered(4).try_collect::<Vec<()>>().await?;
        Ok(blob)
    }

    /// Reads a text in parts.
    pub(in super::super) async fn read_blob(&self, kind: Kind, blob: &Blob) -> Result<Vec<u8>, TargetError> {
        let place = if kind == Kind::ConfigMap { "/binaryData/part" } else { "/data/part" };
        let reads = blob.parts.iter().map(|name| async move {
            let part = self.get(kind, name).await?;
            let part = part.ok_or_else(|| self.on.damaged(format!("the part {name} of the state is gone")))?;
            let bytes = part.pointer(place).and_then(Value::as_str).map(|text| BASE64.decode(text));
            match bytes {
                Some(Ok(bytes)) => Ok(bytes),
                _ => Err(self.on.damaged(format!("the part {name} of the state can't be read"))),
            }
        });
        let parts = stream::iter(reads).buffered(4).try_collect::<Vec<_>>().await?;
        blob.unpack(&parts).map_err(|e| self.on.damaged(format!("{}: {e}", blob.parts.join(", "))))
    }

    /// Takes the parts of a text away that nothing names any more. What stays is garbage.
    pub(in super::super) async fn delete_blob(&self, kind: Kind, blob: &Blob) {
        for part in &blob.parts {
            drop(self.delete(kind, part).await);
        }
    }

    /// Takes all but the newest lines of the operation log away.
    pub(in super::super) async fn forget_entries(&self, keep: usize) -> Result<(), TargetError> {
        let all = self.entries(None).await?;
        for old in all.into_iter().skip(keep) {
            let name = format!("entry.{}", old.entry.id);
            let deleted = self.delete(Kind::ConfigMap, &name).await;
            deleted.map_err(|e| self.on.write_failed(format!("{name} can't be deleted: {}", e.text())))?;
            self.delete_blob(Kind::ConfigMap, &old.details).await;
        }
        Ok(())
    }

    /// The heads of all Sources, each with the object that holds it.
    pub(in super::super) async fn heads(&self) -> Result<Vec<(Head, Value)>, TargetError> {
        let mut all = Vec::new();
        for object in self.all("source", "").await? {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let head: Head = self.decode(&object, "head", &name)?;
            if name != source_name(&head.record.id) {
                return Err(self.on.damaged(format!("the state {name} is another Source's")));
            }
            all.push((head, object));
        }
        all.sort_by(|(a, _), (b, _)| a.record.id.cmp(&b.record.id));
        Ok(all)
    }

    /// A JSON text inside a piece of state.
    pub(in super::super) fn decode<T: serde::de::DeserializeOwned>(
        &self,
        object: &Value,
        key: &str,
        name: &str,
    ) -> Result<T, TargetError> {
        let text = object.get("data").and_then(|data| data.get(key)).and_then(Value::as_str).unwrap_or_default();
        serde_json::from_str(text).map_err(|e| self.on.damaged(format!("the state {name} can't be read: {e}")))
    }

    /// What people and the loop told about a Source, with the object that holds it.
    pub(in super::super) async fn told(&self, source: &SourceId) -> Result<Option<(Told, Value)>, TargetError> {
        let name = told_name(source);
        let Some(object) = self.get(Kind::ConfigMap, &name).await? else { return Ok(None) };
        Ok(Some((self.decode(&object, "told", &name)?, object)))
    }

    /// The operation log, newest first; of one plan alone where that is asked for.
    pub(in super::super) async fn entries(&self, plan: Option<&str>) -> Result<Vec<Entry>, TargetError> {
        let more = plan.map(|plan| format!(",{PLAN_LABEL}={}", label(plan))).unwrap_or_default();
        let mut all = Vec::new();
        for object in self.all("entry", &more).await? {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut entry: Entry = self.decode(&object, "entry", &name)?;
            entry.entry.id = name.strip_prefix("entry.").unwrap_or(&name).to_owned();
            all.push(entry);
        }
        all.sort_by(|a, b| (b.entry.at, &b.entry.id).cmp(&(a.entry.at, &a.entry.id)));
        Ok(all)
    }

    /// Adds a line to the operation log; one without an ID gets one.
    pub(in super::super) async fn write_entry(
        &self,
        mut entry: HistoryEntry,
        details: &Value,
    ) -> Result<(), TargetError> {
        if entry.id.is_empty() {
            entry.id = format!("n-{}", uuid::Uuid::new_v4());
        }
        let stem = format!("details.{}", entry.id);
        let text = details.to_string();
        let details = self.write_blob(Kind::ConfigMap, "details", &stem, text.as_bytes(), None).await?;
        let kept = Entry { entry, details };
        let entry = &kept.entry;
        let text = serde_json::to_string(&kept).map_err(|e| self.on.write_failed(e.to_string()))?;
        let mut labels = json!({ LABEL: "entry" });
        if let Some(plan) = &entry.plan {
            labels[PLAN_LABEL] = label(plan.as_str()).into();
        }
        let metadata = json!({"name": format!("entry.{}", entry.id), "labels": labels});
        let data = Map::from_iter([("entry".to_owned(), Value::String(text))]);
        let made = self.make(Kind::ConfigMap, &metadata, &data, true).await;
        made.map(drop).map_err(|e| self.on.write_failed(format!("the operation log can't be written: {}", e.text())))
    }
}

fn read(body: &[u8]) -> Result<Value, Failed> {
    crate::target::kubernetes::request::object(body).map_err(|e| Failed::Lost(format!("the answer can't be read: {e}")))
}

/// The name of the object that holds a Source's head.
pub(in super::super) fn source_name(id: &SourceId) -> String {
    format!("source.{id}")
}

/// The name of the object that holds what was told about a Source.
pub(in super::super) fn told_name(id: &SourceId) -> String {
    format!("told.{id}")
}
