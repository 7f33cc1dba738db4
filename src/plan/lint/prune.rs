//! Nothing is deleted without proof, and nothing goes along unasked.

use std::collections::BTreeSet;

use super::{Beside, order};
use crate::base::resource::ResourceId;
use crate::inventory::PrunePermission;
use crate::plan::document::{Action, ChangeEntry, Purpose};
use crate::plan::input::SourceInput;
use crate::source::spec::GitPermission;
use crate::target::Head;

pub(super) fn deletes_only_with_proof(
    beside: &Beside<'_>,
    change: &ChangeEntry,
    input: &SourceInput<'_>,
    broken: &mut Vec<String>,
) {
    if change.action != Action::Delete {
        return;
    }
    let id = &change.id;
    let mut say = |text: &str| broken.push(format!("{id} would be deleted although {text}"));
    if !beside.is_proven(id, input) {
        say("name, UID and owner mark don't agree");
    }
    if beside.inputs.iter().any(|input| input.set.get(id).is_some()) {
        say("a manifest names it");
    }
    if beside.others.iter().any(|other| other.wanted.as_ref().map_or(true, |wanted| wanted.contains(id))) {
        say("another Source wants it, or could want it");
    }
    if !input.spec.prune {
        say("prune is off");
    }
    if id.is_namespace() && (id.name == "default" || id.name.starts_with("kube-")) {
        say("the control plane needs it");
    }
    if beside.allowed(id).is_some() {
        return;
    }
    let permission = input.inventory.row(id).map(|row| row.permissions.prune);
    if input.inventory.row(id).is_some_and(|row| row.permissions.release_to.is_some()) {
        say("its manifest released it to another Source");
    }
    if permission == Some(PrunePermission::Keep) {
        say("its manifest said to keep it");
    }
    let by_manifest =
        permission == Some(PrunePermission::Allow) && input.spec.permit_in_git.contains(&GitPermission::Prune);
    let retention = beside
        .observed
        .objects
        .get(id)
        .map(|live| live.object.pointer("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted"));
    let holds_data = id.is("", "PersistentVolume")
        || id.is("", "PersistentVolumeClaim")
        || (id.is("apps", "StatefulSet") && retention.is_none_or(|when| when.is_some_and(|when| when == "Delete")));
    if holds_data && !by_manifest {
        say("data could go with it");
    }
}

pub(super) fn takes_nothing_along_unasked(beside: &Beside<'_>, change: &ChangeEntry, broken: &mut Vec<String>) {
    if change.action != Action::Delete {
        return;
    }
    let id = &change.id;
    let deleted = beside.deleted();
    let kind = order::defined(beside, id);
    let is_container = id.is_namespace() || id.is_definition();
    let lies_in = |head: &Head| match &kind {
        Some((group, kind)) => head.id.is(group, kind),
        None => id.is_namespace() && head.id.namespace.as_deref() == Some(&id.name),
    };
    let named = |id: &ResourceId| {
        beside.inputs.iter().any(|input| input.set.get(id).is_some())
            || beside.others.iter().any(|other| other.wanted.as_ref().is_ok_and(|wanted| wanted.contains(id)))
    };
    let shown: BTreeSet<&ResourceId> =
        beside.plan.changes.iter().filter(|c| c.action == Action::Delete).flat_map(|c| &c.holds).collect();
    let mut nobodys = 0;
    for head in beside.observed.contents.iter().filter(|h| !deleted.contains(&h.id)) {
        let along = change.holds.contains(&head.id);
        if lies_in(head) && !shown.contains(&head.id) {
            broken.push(format!("{} would go along with {id} and isn't shown", head.id));
        }
        if !along {
            continue;
        }
        let marked = !matches!(&head.mark, Ok(None)) && !matches!(&head.mark, Ok(Some(m)) if m.resource != head.id);
        if marked || named(&head.id) {
            broken.push(format!("{} is a Source's and would go along with {id}", head.id));
        }
        let counts = if is_container { !head.controlled && !is_of_every_namespace(&head.id) } else { false };
        if counts || head.id.is("", "PersistentVolumeClaim") {
            nobodys += 1;
        }
    }
    if nobodys > beside.allowed(id).unwrap_or(0) {
        broken.push(format!("{id} would take {nobodys} objects of nobody's along, more than allowed"));
    }
}

/// What a control plane puts into every Namespace, and what only tells of other objects.
fn is_of_every_namespace(id: &ResourceId) -> bool {
    match (id.group.as_str(), id.kind.as_str()) {
        ("", "ConfigMap") => id.name == "kube-root-ca.crt",
        ("", "ServiceAccount") => id.name == "default",
        ("" | "events.k8s.io", "Event")
        | ("", "Endpoints")
        | ("discovery.k8s.io", "EndpointSlice")
        | ("coordination.k8s.io", "Lease") => true,
        _ => false,
    }
}

/// An empty set, a Source bound anew and more deletes than the budget need `--allow-deletes`.
pub(super) fn keeps_the_budget(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let deletes: Vec<&ChangeEntry> = beside.plan.changes.iter().filter(|c| c.action == Action::Delete).collect();
    if let Some(allowed) = beside.plan.allowances.deletes {
        if deletes.len() > allowed {
            broken.push(format!("{} deletes, and {allowed} are allowed", deletes.len()));
        }
        return;
    }
    for input in beside.inputs {
        let name = &input.spec.name;
        let (rows, count) = (input.inventory.rows.len(), deletes.iter().filter(|c| c.source == *name).count());
        if input.purpose == Purpose::Apply && input.set.manifests().is_empty() && rows > 0 {
            broken.push(format!("Source {name} declares nothing although it owns {rows} objects"));
        }
        let budget = input.spec.prune_budget;
        let over = count as u64 > budget.objects && count * 100 > usize::from(budget.percent) * rows;
        if over || (input.rebinds && count > 0) {
            broken.push(format!("Source {name} would delete {count} objects, more than its budget"));
        }
    }
}
