//! An object as it is stored: what the target itself sets, and what stands in columns beside the body.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ids::ObjectUid;
use crate::base::resource::{GroupVersionKind, ResourceId};
use crate::inventory::{OWNER_ANNOTATION, OwnerMark};
use crate::target::Head;

/// What the target sets in `metadata`.
pub(super) struct Stamp<'a> {
    pub(super) uid: &'a str,
    pub(super) generation: u64,
    /// RFC 3339.
    pub(super) created: &'a str,
}

/// An object's metadata, made where there is none.
pub(super) fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new())).as_object_mut()
}

/// Sets what the target sets.
pub(super) fn stamp(object: &mut Value, stamp: &Stamp<'_>) {
    if let Some(metadata) = metadata(object) {
        metadata.insert("uid".into(), stamp.uid.into());
        metadata.insert("generation".into(), stamp.generation.into());
        metadata.insert("creationTimestamp".into(), stamp.created.into());
    }
}

/// Sets the resourceVersion, which no body has.
pub(super) fn set_version(object: &mut Value, version: i64) {
    if let Some(metadata) = metadata(object) {
        metadata.insert("resourceVersion".into(), version.to_string().into());
    }
}

/// A text in `metadata`; empty if it isn't there.
pub(super) fn meta_text<'v>(object: &'v Value, key: &str) -> &'v str {
    object.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// The generation after a write: it rises with anything but metadata and status.
pub(super) fn generation(live: &Value, new: &Value) -> u64 {
    let now = live.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(1);
    if same_but(live, new, &["metadata", "status"]) { now } else { now.saturating_add(1) }
}

fn same_but(a: &Value, b: &Value, left_out: &[&str]) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else { return a == b };
    let mut left = a.iter().filter(|(key, _)| !left_out.contains(&key.as_str()));
    let mut right = b.iter().filter(|(key, _)| !left_out.contains(&key.as_str()));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x == y => {}
            _ => return false,
        }
    }
}

/// One owner reference, as far as garbage collection needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnerRef {
    /// The owner's UID.
    #[serde(rename = "u")]
    pub(super) uid: String,
    /// Its group.
    #[serde(rename = "g")]
    pub(super) group: String,
    /// Its kind.
    #[serde(rename = "k")]
    pub(super) kind: String,
    /// Its name.
    #[serde(rename = "n")]
    pub(super) name: String,
    /// Whether it is the controller.
    #[serde(rename = "c")]
    pub(super) controller: bool,
}

/// What stands in columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    /// The text of the owner mark, whatever it is.
    pub(super) mark: Option<String>,
    /// The owner references as JSON, the controller's first; none is null.
    pub(super) owners: Option<String>,
}

impl Columns {
    pub(super) fn of(object: &Value) -> Self {
        let mark = object.pointer("/metadata/annotations").and_then(|a| a.get(OWNER_ANNOTATION));
        // One that is no text can't be read either.
        let mark = mark.map(|mark| mark.as_str().unwrap_or_default().to_owned());
        let owners = owner_refs(object);
        let owners = if owners.is_empty() { None } else { serde_json::to_string(&owners).ok() };
        Self { mark, owners }
    }
}

fn owner_refs(object: &Value) -> Vec<OwnerRef> {
    let Some(list) = object.pointer("/metadata/ownerReferences").and_then(Value::as_array) else { return Vec::new() };
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut owners: Vec<OwnerRef> = list
        .iter()
        .map(|entry| OwnerRef {
            uid: text(entry, "uid"),
            group: GroupVersionKind::new(&text(entry, "apiVersion"), "").group,
            kind: text(entry, "kind"),
            name: text(entry, "name"),
            controller: entry.get("controller") == Some(&Value::Bool(true)),
        })
        .filter(|owner| !owner.uid.is_empty())
        .collect();
    owners.sort_by_key(|owner| !owner.controller);
    owners
}

/// The identity from columns; `None` if they make none, which is damage.
pub(super) fn head(id: ResourceId, uid: &str, version: i64, mark: Option<&str>, owners: Option<&str>) -> Option<Head> {
    let owners: Vec<OwnerRef> = match owners {
        None => Vec::new(),
        Some(text) => serde_json::from_str(text).ok()?,
    };
    let controlled = owners.first().is_some_and(|owner| owner.controller);
    let owners = owners.iter().map(|owner| ObjectUid::parse(&owner.uid)).collect::<Result<_, _>>().ok()?;
    Some(Head {
        id,
        uid: ObjectUid::parse(uid).ok()?,
        version: version.to_string(),
        mark: mark.map(OwnerMark::parse).transpose(),
        owners,
        controlled,
    })
}
