//! Reads of a target exactly what a plan needs: identities first, bodies only of what has to be compared.

use std::collections::BTreeSet;

use serde_json::Value;

use super::emergencies::emergencies;
use crate::base::ids::{ObjectUid, SourceId, SourceName};
use crate::base::map::{HashMap, HashSet};
use crate::base::progress::{Counter, NoProgress, Progress, Stage};
use crate::base::resource::{GroupKind, GroupVersionKind, ResourceId};
use crate::inventory::{Released, SourceRecord};
use crate::plan::document::TargetEntry;
use crate::plan::{Observed, OutsideSource, SourceInput, needs_body};
use crate::schema::crd::defined_kind;
use crate::source::scope::{ClusterKinds, Namespaces};
use crate::target::{Contents, Head, Reader, TargetError, TargetKind};

/// Reads what the planning of these Sources needs.
///
/// # Errors
/// If anything of it can't be read: it would count as absent.
pub fn observe(
    reader: &dyn Reader,
    kind: TargetKind,
    known: &[SourceRecord],
    inputs: &[SourceInput<'_>],
) -> Result<Observed, TargetError> {
    observe_telling(reader, kind, known, inputs, &NoProgress)
}

/// The same as [`observe`], told to somebody who waits.
///
/// # Errors
/// As [`observe`].
pub(crate) fn observe_telling(
    reader: &dyn Reader,
    kind: TargetKind,
    known: &[SourceRecord],
    inputs: &[SourceInput<'_>],
    progress: &dyn Progress,
) -> Result<Observed, TargetError> {
    let mut ids: Vec<&ResourceId> = Vec::new();
    for input in inputs {
        ids.extend(input.set.manifests().iter().map(|c| c.id()));
        ids.extend(input.inventory.rows.keys());
    }
    // Each of these runs is sorted.
    ids.sort();
    ids.dedup();
    let counter = Counter::begin(progress, Stage::Observation, ids.len());
    reader.prefer(&mut versions(inputs));
    let heads = reader.heads(&ids)?;
    let bodies: Vec<&ResourceId> = ids.iter().copied().filter(|id| needs_body(id, &heads, inputs)).collect();
    counter.more(ids.len() - bodies.len());
    let objects = if bodies.is_empty() { HashMap::default() } else { reader.objects(&bodies)? };
    let contents = contents(reader, &heads, inputs)?;
    let outside = outside(reader, &heads, known, inputs)?;
    let released = released(reader, &heads, known, inputs)?;
    let marked = marked(reader, inputs)?;
    let autoscalers = autoscalers(reader, inputs, &bodies)?;
    Ok(Observed {
        target: TargetEntry { kind, identity: reader.identity()? },
        known: known.to_vec(),
        outside,
        released,
        marked,
        heads,
        objects,
        contents,
        autoscalers,
    })
}

/// The declared resources that exist, with whether this Source has a row of each.
fn declared<'a>(
    heads: &'a HashMap<ResourceId, Head>,
    inputs: &'a [SourceInput<'_>],
) -> impl Iterator<Item = (&'a Head, &'a SourceInput<'a>)> {
    let manifests = inputs.iter().flat_map(|input| input.set.manifests().iter().map(move |checked| (checked, input)));
    manifests
        .filter(|(checked, _)| !checked.wants().use_)
        .filter_map(|(checked, input)| Some((heads.get(checked.id())?, input)))
}

/// The Sources outside the plan whose marks declared objects bear.
fn outside(
    reader: &dyn Reader,
    heads: &HashMap<ResourceId, Head>,
    known: &[SourceRecord],
    inputs: &[SourceInput<'_>],
) -> Result<Vec<OutsideSource>, TargetError> {
    let planned = |id: &SourceId| inputs.iter().any(|input| input.id == *id);
    let marks = declared(heads, inputs).filter_map(|(head, _)| match &head.mark {
        Ok(Some(mark)) if mark.resource == head.id && !planned(&mark.source) => Some(&mark.source),
        _ => None,
    });
    let ids: BTreeSet<&SourceId> = marks.collect();
    let records = ids.into_iter().filter_map(|id| known.iter().find(|record| record.id == *id));
    let read = |record: &SourceRecord| {
        let inventory = reader.inventory(&record.id)?;
        let emergencies = emergencies(reader, &reader.controls(&record.id)?, &inventory)?;
        Ok(OutsideSource { record: record.clone(), inventory, emergencies })
    };
    records.map(read).collect()
}

/// What any Source let go of the declared objects that nobody owns.
fn released(
    reader: &dyn Reader,
    heads: &HashMap<ResourceId, Head>,
    known: &[SourceRecord],
    inputs: &[SourceInput<'_>],
) -> Result<Vec<(SourceName, Released)>, TargetError> {
    let unowned: BTreeSet<(&ResourceId, &ObjectUid)> = declared(heads, inputs)
        .filter(|(head, input)| matches!(head.mark, Ok(None)) && !input.inventory.rows.contains_key(&head.id))
        .map(|(head, _)| (&head.id, &head.uid))
        .collect();
    let mut found = Vec::new();
    if unowned.is_empty() {
        return Ok(found);
    }
    for record in known {
        let theirs = reader.released(&record.id)?.into_iter().filter(|row| unowned.contains(&(&row.id, &row.uid)));
        found.extend(theirs.map(|row| (record.name.clone(), row)));
    }
    Ok(found)
}

/// What bears the mark of a Source that is rebuilt or removed, in the namespaces and of the cluster-scoped kinds that it may write.
fn marked(reader: &dyn Reader, inputs: &[SourceInput<'_>]) -> Result<Vec<Head>, TargetError> {
    let mut found = Vec::new();
    for input in inputs.iter().filter(|input| !input.purpose.is_apply()) {
        let namespaces: Vec<String> = match &input.spec.namespaces {
            Namespaces::Some(names) => names.iter().cloned().collect(),
            Namespaces::Any => {
                let all = reader.list(&Contents::Kind(GroupKind::new("", "Namespace")))?;
                all.into_iter().map(|head| head.id.name).collect()
            }
        };
        let owned = input.set.manifests().iter().map(|checked| checked.id()).chain(input.inventory.rows.keys());
        let mut kinds: BTreeSet<GroupKind> =
            owned.filter(|id| id.namespace.is_none()).map(ResourceId::group_kind).collect();
        if let ClusterKinds::Some(named) = &input.spec.cluster_kinds {
            kinds.extend(named.iter().map(|kind| kind.kind.clone()));
        }
        let ask = namespaces.into_iter().map(Contents::Namespace).chain(kinds.into_iter().map(Contents::Kind));
        for contents in ask {
            let ours = |head: &Head| matches!(&head.mark, Ok(Some(mark)) if mark.source == input.id && mark.resource == head.id);
            found.extend(reader.list(&contents)?.into_iter().filter(ours));
        }
    }
    Ok(found)
}

/// The API version that each resource is declared in, now or before.
fn versions<'a>(inputs: &'a [SourceInput<'_>]) -> impl Iterator<Item = (&'a ResourceId, String)> {
    let before = inputs.iter().flat_map(|i| i.inventory.rows.values()).map(|row| (&row.id, row.api_version.clone()));
    let now = inputs.iter().flat_map(|i| i.set.manifests()).map(|c| (c.id(), c.gvk().api_version()));
    before.chain(now)
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
            if id.is_namespace() {
                ask.insert(Contents::Namespace(id.name.clone()));
            } else if id.is_definition() {
                definitions.push(id);
            }
            if let Some(namespace) = &id.namespace {
                // Dependents by owner reference live in the same Namespace.
                ask.insert(Contents::Namespace(namespace.clone()));
            }
        }
    }
    for definition in reader.objects(&definitions)?.values() {
        ask.extend(defined_kind(&definition.object).map(Contents::Kind));
    }
    let mut found = Vec::new();
    for contents in &ask {
        found.extend(reader.list(contents)?);
    }
    // What instances of a definition own lies in their Namespaces.
    let instances = found.iter().filter_map(|head| head.id.namespace.clone()).map(Contents::Namespace);
    let more: BTreeSet<Contents> = instances.filter(|contents| !ask.contains(contents)).collect();
    for contents in &more {
        found.extend(reader.list(contents)?);
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found.dedup_by(|a, b| a.id == b.id);
    let owners = owners(reader, &found)?;
    found.extend(owners);
    Ok(found)
}

/// Those owners of these objects that exist elsewhere: what another owner holds goes with none of ours.
fn owners(reader: &dyn Reader, found: &[Head]) -> Result<Vec<Head>, TargetError> {
    let known: HashSet<&ObjectUid> = found.iter().map(|head| &head.uid).collect();
    let owned = found.iter().filter(|head| head.owners.iter().any(|owner| !known.contains(owner)));
    let owned: Vec<&ResourceId> = owned.map(|head| &head.id).collect();
    if owned.is_empty() {
        return Ok(Vec::new());
    }
    let mut ids: BTreeSet<ResourceId> = BTreeSet::new();
    for live in reader.objects(&owned)?.values() {
        let references = live.object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        for reference in references.into_iter().flatten() {
            let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
            let kind = GroupVersionKind::new(text("apiVersion"), text("kind"));
            // An owner is in the same namespace or cluster-scoped.
            for namespace in [live.head.id.namespace.clone(), None] {
                let (group, kind, name) = (kind.group.clone(), kind.kind.clone(), text("name").to_owned());
                ids.insert(ResourceId { group, kind, namespace, name });
            }
        }
    }
    let mut heads: Vec<Head> = reader.heads(&ids.iter().collect::<Vec<_>>())?.into_values().collect();
    heads.retain(|head| !known.contains(&head.uid));
    heads.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(heads)
}

/// Autoscalers matter where a workload's replicas have to be compared.
fn autoscalers(
    reader: &dyn Reader,
    inputs: &[SourceInput<'_>],
    bodies: &[&ResourceId],
) -> Result<Vec<crate::target::Live>, TargetError> {
    let bodies: BTreeSet<&ResourceId> = bodies.iter().copied().collect();
    let scaled = inputs.iter().flat_map(|i| i.set.manifests());
    let scaled = scaled.filter(|c| bodies.contains(c.id()) && c.declared().pointer("/spec/replicas").is_some());
    let namespaces: BTreeSet<&String> = scaled.filter_map(|c| c.id().namespace.as_ref()).collect();
    let mut heads = Vec::new();
    for namespace in namespaces {
        let kind = GroupKind::new("autoscaling", "HorizontalPodAutoscaler");
        heads.extend(reader.list(&Contents::KindIn(kind, namespace.clone()))?);
    }
    let ids: Vec<&ResourceId> = heads.iter().map(|h| &h.id).collect();
    let mut found: Vec<_> = reader.objects(&ids)?.into_values().collect();
    found.sort_by(|a, b| a.head.id.cmp(&b.head.id));
    Ok(found)
}
