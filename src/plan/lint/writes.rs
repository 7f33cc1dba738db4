//! Nothing is written that a Source can't prove is its own, or was given.

use super::{Beside, is_write};
use crate::admission::Checked;
use crate::base::resource::ResourceId;
use crate::inventory::{Emergency, OwnerMark};
use crate::plan::document::{Action, ChangeEntry, Purpose, UnchangedEntry};
use crate::plan::input::SourceInput;
use crate::plan::scope;

pub(super) fn writes_only_its_own(
    beside: &Beside<'_>,
    change: &ChangeEntry,
    input: &SourceInput<'_>,
    broken: &mut Vec<String>,
) {
    let (id, head) = (&change.id, beside.head(&change.id));
    let mut say = |text: &str| broken.push(format!("{id} {text}"));
    if (is_write(change.action) || change.action == Action::Delete) && !scope::may_write(input.spec, id) {
        say("lies outside the scope of its Source");
    }
    if is_write(change.action) {
        match input.set.get(id) {
            None => say("would be written although its Source doesn't declare it"),
            Some(checked) if checked.wants().use_ => say("would be written although its manifest says use"),
            Some(checked) if change.declared.as_ref() != Some(checked.digest()) => {
                say("would be written otherwise than declared");
            }
            Some(_) => {}
        }
    }
    if change.uid.as_ref() != head.map(|h| &h.uid) {
        say("has another UID than was read");
    }
    match change.action {
        Action::Create if head.is_some() => say("would be created although it exists"),
        Action::Update | Action::Own | Action::Replace if !beside.is_proven(id, input) => {
            say("would be written by a Source that can't prove that it owns it");
        }
        Action::Replace if beside.allowed(id).is_none() && !input.set.get(id).is_some_and(|c| c.wants().replace) => {
            say("would be made anew unasked");
        }
        Action::Transfer => transferred(beside, change, input, broken),
        Action::Adopt => adopted(beside, change, input, broken),
        Action::Release => {
            let asked = match change.rule.as_deref() {
                Some("released") => Some(beside.plan.allowances.release.iter().any(|given| *given == id.to_string())),
                Some("orphaned") => Some(input.purpose == Purpose::Orphan),
                _ => None,
            };
            match asked {
                Some(asked) if asked && beside.is_proven(id, input) => {}
                Some(_) => say("would be let go unasked, or by one that doesn't own it"),
                None if head.is_some() => say("would be let go as gone although it exists"),
                None => {}
            }
        }
        _ => {}
    }
    let reads = is_write(change.action) && change.action != Action::Create;
    if (reads || change.action == Action::Delete) && change.seen.is_none() {
        broken.push(format!("{id} is bound to nothing that was seen"));
    }
}

fn transferred(beside: &Beside<'_>, change: &ChangeEntry, input: &SourceInput<'_>, broken: &mut Vec<String>) {
    let id = &change.id;
    let us = &input.spec.name;
    let giver = beside.inputs.iter().find(|i| Some(&i.spec.name) == change.from.as_ref());
    let gives = match giver {
        Some(giver) => {
            let given = |c: &Checked| c.wants().use_ || c.wants().release_to.as_ref() == Some(us);
            beside.is_proven(id, giver) && giver.set.get(id).is_none_or(given)
        }
        None => is_given_across(beside, change, input),
    };
    if !gives {
        broken.push(format!("{id} would be transferred from a Source that doesn't own it or doesn't give it up"));
    }
}

/// Whether a Source outside the plan owns it and releases it to this one, which says that it takes it.
fn is_given_across(beside: &Beside<'_>, change: &ChangeEntry, input: &SourceInput<'_>) -> bool {
    let (id, us) = (&change.id, &input.spec.name);
    let other = beside.observed.outside.iter().find(|o| Some(&o.record.name) == change.from.as_ref());
    let (Some(other), Some(head)) = (other, beside.head(id)) else { return false };
    let marked = matches!(&head.mark, Ok(Some(mark)) if mark.source == other.record.id && mark.resource == *id);
    let released = other
        .inventory
        .rows
        .get(id)
        .is_some_and(|row| row.uid == head.uid && row.permissions.release_to.as_ref() == Some(us));
    marked && released && other.record.removed_at.is_none() && takes_from(beside, change, input)
}

/// Whether the manifest or a permission says that the object is taken from the Source that the Change names.
fn takes_from(beside: &Beside<'_>, change: &ChangeEntry, input: &SourceInput<'_>) -> bool {
    let Some(from) = &change.from else { return false };
    let by_manifest = input.set.get(&change.id).is_some_and(|c| c.wants().adopt_from.as_ref() == Some(from));
    by_manifest || beside.plan.allowances.adopt_from.iter().any(|name| name == from.as_str())
}

/// Whether an adoption is of what the Source that it names let go.
fn was_let_go(beside: &Beside<'_>, change: &ChangeEntry, input: &SourceInput<'_>) -> bool {
    let Some(head) = beside.head(&change.id) else { return false };
    let let_go =
        beside.observed.released.iter().any(|(by, released)| {
            Some(by) == change.from.as_ref() && released.id == change.id && released.uid == head.uid
        });
    let_go && matches!(head.mark, Ok(None)) && takes_from(beside, change, input)
}

fn adopted(beside: &Beside<'_>, change: &ChangeEntry, input: &SourceInput<'_>, broken: &mut Vec<String>) {
    let id = &change.id;
    let (head, live) = (beside.head(id), beside.observed.objects.get(id));
    let by_manifest = input.set.get(id).is_some_and(|c| c.wants().adopt);
    let asked = by_manifest || by_name(beside, id) || by_pattern(beside, id);
    if if change.from.is_some() { !was_let_go(beside, change, input) } else { !asked } {
        broken.push(format!("{id} would be adopted unasked"));
    }
    let of_another = |mark: &OwnerMark| mark.resource == *id && mark.source != input.id;
    let owned = head.is_none_or(|h| match &h.mark {
        Err(_) => true,
        Ok(mark) => mark.as_ref().is_some_and(of_another),
    });
    if owned {
        broken.push(format!("{id} would be adopted from its owner"));
    }
    let label = live.is_some_and(|l| l.object.pointer("/metadata/labels/kubernetes.io~1bootstrapping").is_some());
    let namespace = if id.is_namespace() { Some(&id.name) } else { id.namespace.as_ref() };
    let system = namespace.is_some_and(|ns| ns.starts_with("kube-"));
    if head.is_some_and(|h| h.controlled) || label || system {
        broken.push(format!("{id} would be adopted although the control plane or a controller owns it"));
    }
}

fn by_name(beside: &Beside<'_>, id: &ResourceId) -> bool {
    beside.plan.allowances.adopt.iter().any(|given| *given == id.to_string())
}

fn by_pattern(beside: &Beside<'_>, id: &ResourceId) -> bool {
    let pattern = ResourceId { name: "*".to_owned(), ..id.clone() }.to_string();
    beside.plan.allowances.adopt.contains(&pattern)
}

pub(super) fn adopts_as_many_as_allowed(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let rebuilt = |c: &ChangeEntry| beside.input(c).is_some_and(|input| input.purpose == Purpose::Rebuild);
    let adopted = beside.plan.changes.iter().filter(|c| c.action == Action::Adopt && !rebuilt(c));
    let by_manifest = |c: &ChangeEntry| {
        beside.input(c).and_then(|input| input.set.get(&c.id)).is_some_and(|checked| checked.wants().adopt)
    };
    let by_pattern = adopted.filter(|c| c.from.is_none() && !by_manifest(c) && !by_name(beside, &c.id)).count();
    if by_pattern > beside.plan.allowances.adoptions.unwrap_or(0) {
        broken.push(format!("{by_pattern} objects would be adopted by patterns, more than allowed"));
    }
}

pub(super) fn leaves_emergency_changes(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let counts = |emergency: Option<&Emergency>| {
        emergency.is_some_and(|emergency| emergency.fields.iter().any(|change| !change.contested))
    };
    let loses = |c: &&ChangeEntry| {
        let emergency = beside.input(c).and_then(|input| input.emergencies.get(&c.id));
        match c.action {
            Action::Delete | Action::Replace => counts(emergency),
            Action::Transfer => counts(emergency) || counts(givers(beside, c)),
            Action::Create => emergency.is_some_and(|emergency| emergency.deleted.is_some()),
            _ => false,
        }
    };
    for change in beside.plan.changes.iter().filter(loses) {
        broken.push(format!("{} would lose what was changed while its Source was paused", change.id));
    }
}

/// What was changed while the Source that gives an object was paused.
fn givers<'a>(beside: &Beside<'a>, change: &ChangeEntry) -> Option<&'a Emergency> {
    let from = change.from.as_ref()?;
    let planned = beside.inputs.iter().find(|input| input.spec.name == *from).map(|input| &input.emergencies);
    let outside = beside.observed.outside.iter().find(|other| other.record.name == *from).map(|o| &o.emergencies);
    planned.or(outside)?.get(&change.id)
}

/// Whether an object that is gone counts as it was.
fn went(input: &SourceInput<'_>, entry: &UnchangedEntry) -> bool {
    let Some(row) = input.inventory.row(&entry.id).filter(|row| row.uid == entry.uid) else { return false };
    // A Job that its TTL removed is not run again.
    let ran = entry.id.is("batch", "Job") && row.declared == entry.declared;
    // What was deleted in an emergency stays so.
    ran || input.emergencies.get(&entry.id).is_some_and(|emergency| emergency.deleted.is_some())
}

pub(super) fn unchanged_is_its_own(beside: &Beside<'_>, broken: &mut Vec<String>) {
    for entry in &beside.plan.unchanged {
        let id = &entry.id;
        let Some(input) = beside.inputs.iter().find(|i| i.spec.name == entry.source) else {
            broken.push(format!("{id} belongs to Source {}, which isn't planned", entry.source));
            continue;
        };
        let declared = input.set.get(id).is_some_and(|c| !c.wants().use_ && *c.digest() == entry.declared);
        let stays = match beside.head(id) {
            Some(head) => head.uid == entry.uid && beside.is_proven(id, input),
            None => went(input, entry),
        };
        if !declared || !stays {
            broken.push(format!("{id} would count as unchanged although it isn't its Source's, or not declared"));
        }
    }
}
