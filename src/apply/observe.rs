//! Reads of a target exactly what a plan needs: identities first, bodies only of what has to be compared.

use std::collections::{BTreeSet, HashMap};

use crate::base::resource::{GroupKind, ResourceId};
use crate::inventory::SourceRecord;
use crate::plan::document::TargetEntry;
use crate::plan::{Observed, SourceInput, needs_body};
use crate::target::{Contents, Head, Reader, TargetError, TargetKind};

/// Reads what the planning of these Sources needs.
///
/// # Errors
/// If anything of it can't be read: it would count as absent.
pub(crate) fn observe(
    reader: &dyn Reader,
    kind: TargetKind,
    known: &[SourceRecord],
    inputs: &[SourceInput<'_>],
) -> Result<Observed, TargetError> {
    let mut ids: BTreeSet<&ResourceId> = BTreeSet::new();
    for input in inputs {
        ids.extend(input.set.manifests().iter().map(|c| c.id()));
        ids.extend(input.inventory.rows.keys());
    }
    let ids: Vec<&ResourceId> = ids.into_iter().collect();
    let heads = reader.heads(&ids)?;
    let bodies: Vec<&ResourceId> = ids.iter().copied().filter(|id| needs_body(id, &heads, inputs)).collect();
    let objects = if bodies.is_empty() { HashMap::new() } else { reader.objects(&bodies)? };
    let contents = contents(reader, &heads, inputs)?;
    let autoscalers = autoscalers(reader, inputs, &bodies)?;
    Ok(Observed {
        target: TargetEntry { kind, identity: reader.identity()? },
        known: known.to_vec(),
        heads,
        objects,
        contents,
        autoscalers,
    })
}

/// Everything that the removals could take along.
fn contents(
    reader: &dyn Reader,
    heads: &HashMap<ResourceId, Head>,
    inputs: &[SourceInput<'_>],
) -> Result<Vec<Head>, TargetError> {
    let mut ask: BTreeSet<Contents> = BTreeSet::new();
    let mut definitions: Vec<&ResourceId> = Vec::new();
    for input in inputs.iter().filter(|i| i.spec.prune) {
        let removed = input.inventory.rows.keys().filter(|id| input.set.get(id).is_none() && heads.contains_key(*id));
        for id in removed {
            if id.is("", "Namespace") {
                ask.insert(Contents::Namespace(id.name.clone()));
            } else if id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
                definitions.push(id);
            }
            if let Some(namespace) = &id.namespace {
                // Dependents by owner reference live in the same Namespace.
                ask.insert(Contents::Namespace(namespace.clone()));
            }
        }
    }
    for definition in reader.objects(&definitions)?.values() {
        let field = |pointer: &str| definition.object.pointer(pointer).and_then(serde_json::Value::as_str);
        if let (Some(group), Some(kind)) = (field("/spec/group"), field("/spec/names/kind")) {
            ask.insert(Contents::Kind(GroupKind::new(group, kind)));
        }
    }
    let mut found = Vec::new();
    for contents in &ask {
        found.extend(reader.list(contents)?);
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found.dedup_by(|a, b| a.id == b.id);
    Ok(found)
}

/// Autoscalers matter where a workload's replicas have to be compared.
fn autoscalers(
    reader: &dyn Reader,
    inputs: &[SourceInput<'_>],
    bodies: &[&ResourceId],
) -> Result<Vec<crate::target::Live>, TargetError> {
    let bodies: BTreeSet<&ResourceId> = bodies.iter().copied().collect();
    let scaled = inputs
        .iter()
        .flat_map(|i| i.set.manifests())
        .any(|c| bodies.contains(c.id()) && c.declared().pointer("/spec/replicas").is_some());
    if !scaled {
        return Ok(Vec::new());
    }
    let heads = reader.list(&Contents::Kind(GroupKind::new("autoscaling", "HorizontalPodAutoscaler")))?;
    let ids: Vec<&ResourceId> = heads.iter().map(|h| &h.id).collect();
    let mut found: Vec<_> = reader.objects(&ids)?.into_values().collect();
    found.sort_by(|a, b| a.head.id.cmp(&b.head.id));
    Ok(found)
}
