//! What the rules on the Draft need to know of the target, read once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::on_draft::NamespaceState;
use crate::base::resource::{GroupKind, ResourceId};
use crate::plan::Draft;
use crate::target::{Contents, Live, Reader, TargetError};

/// The facts, owned.
#[derive(Debug, Default)]
pub struct TargetFacts {
    pub(super) namespaces: BTreeMap<String, NamespaceState>,
    pub(super) contents: Vec<Live>,
}

/// Reads the Namespaces that the Draft writes into, and everything in those that have a ResourceQuota.
///
/// # Errors
/// If the target can't be read.
pub fn facts(reader: &dyn Reader, draft: &Draft<'_>) -> Result<TargetFacts, TargetError> {
    let written: Vec<&ResourceId> = draft.written().collect();
    let touched: BTreeSet<&str> = written.iter().filter_map(|id| id.namespace.as_deref()).collect();
    if touched.is_empty() {
        return Ok(TargetFacts::default());
    }
    let names: Vec<ResourceId> = touched.iter().map(|name| namespace(name)).collect();
    let live = reader.objects(&names.iter().collect::<Vec<_>>())?;
    let namespaces = live.into_iter().map(|(id, live)| (id.name, state(&live.object))).collect();

    let planned = written.iter().filter(|id| id.is("", "ResourceQuota")).filter_map(|id| id.namespace.clone());
    let mut limited: BTreeSet<String> = planned.collect();
    for namespace in &touched {
        // Namespace by namespace: an account may see its own alone.
        let quotas = Contents::KindIn(GroupKind::new("", "ResourceQuota"), (*namespace).to_owned());
        if !reader.list(&quotas)?.is_empty() {
            limited.insert((*namespace).to_owned());
        }
    }
    let mut contents = Vec::new();
    for namespace in limited.iter().filter(|name| touched.contains(name.as_str())) {
        let heads = reader.list(&Contents::Namespace(namespace.clone()))?;
        let ids: Vec<&ResourceId> = heads.iter().map(|head| &head.id).collect();
        contents.extend(reader.objects(&ids)?.into_values());
    }
    contents.sort_by(|a, b| a.head.id.cmp(&b.head.id));
    Ok(TargetFacts { namespaces, contents })
}

fn namespace(name: &str) -> ResourceId {
    ResourceId { group: String::new(), kind: "Namespace".to_owned(), namespace: None, name: name.to_owned() }
}

fn state(namespace: &Value) -> NamespaceState {
    let ending = namespace.pointer("/metadata/deletionTimestamp").is_some()
        || namespace.pointer("/status/phase").and_then(Value::as_str) == Some("Terminating");
    if ending { NamespaceState::Terminating } else { NamespaceState::Active }
}
