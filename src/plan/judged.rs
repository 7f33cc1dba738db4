//! The Draft as admission sees and answers it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::change::{Change, Intent, RowChange, Unchanged};
use super::document::{Action, Admitted, ChangeEntry, Field, UnchangedEntry, Waiver};
use super::draft::Draft;
use super::input::SourceInput;
use super::warnings::entry as warning_entry;
use super::{FIELD_MANAGER, kinds, undo};
use crate::admission::{Checked, CheckedSet, Policies, on_draft::Considered};
use crate::base::fault::{Fault, Warning};
use crate::base::ids::{ApplyId, Manager};
use crate::base::resource::ResourceId;
use crate::inventory::{OWNER_ANNOTATION, OwnerMark, PrunePermission, Row};
use crate::merge::{FieldSet, ManagedFields};
use crate::schema::Catalog;
use crate::target::{Act, Asked, Deed, TargetKind};

impl<'a> Draft<'a> {
    /// The resources that would be written.
    pub(crate) fn written(&self) -> impl Iterator<Item = &ResourceId> {
        self.changes.iter().filter(|c| c.checked.is_some()).map(|c| &c.entry.id)
    }

    /// How many Sources are planned.
    pub(crate) fn sources(&self) -> usize {
        self.inputs.len()
    }

    /// The Changes of one Source, or of all.
    pub(crate) fn considered(&self, source: Option<usize>) -> impl Iterator<Item = Considered<'_>> {
        self.changes.iter().filter(move |c| source.is_none_or(|s| c.source == s)).map(|change| Considered {
            id: &change.entry.id,
            action: change.entry.action,
            checked: change.checked,
            live: change.live.map(|live| &live.object),
            after: change.after(),
        })
    }

    /// What would be changed, with the objects as they would be, for whoever only wants to know what differs.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&ChangeEntry, Option<&Value>)> {
        self.changes.iter().map(|change| (&change.entry, change.after()))
    }

    /// What is wrong so far.
    pub(crate) fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// What people should know, of Changes too where it has become theirs.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter()
    }

    /// Every write of an object, with the place of its Change.
    pub(crate) fn asks(&self) -> Vec<(usize, Asked)> {
        let nobody = ApplyId::nobody();
        let ask = |(place, change): (usize, &Change<'_>)| {
            if !matches!(change.intent, Intent::Create { .. } | Intent::Apply { .. } | Intent::Replace { .. }) {
                return None;
            }
            let SourceInput { id, spec, .. } = &self.inputs[change.source];
            let mark = OwnerMark { source: id.clone(), resource: change.entry.id.clone(), apply: nobody.clone() };
            let write = change.intent.clone().into_write(mark)?;
            let sensitive = change.checked.map(|checked| checked.sensitive().to_vec()).unwrap_or_default();
            Some((place, Asked { write, sensitive, account: spec.service_account.clone() }))
        };
        self.changes.iter().map(Box::as_ref).enumerate().filter_map(ask).collect()
    }

    /// What would be done to each object, as far as rights go.
    pub(crate) fn deeds(&self) -> Vec<Deed> {
        let deed = |change: &Change<'_>| {
            let act = match change.intent {
                Intent::Create { .. } => Act::Make,
                Intent::Apply { .. } | Intent::Unmark { .. } => Act::Change,
                Intent::Replace { .. } => Act::Remake,
                Intent::Delete { .. } => Act::Delete,
                Intent::Nothing => return None,
            };
            let account = self.inputs[change.source].spec.service_account.clone();
            Some(Deed { act, id: change.entry.id.clone(), account })
        };
        self.changes.iter().filter_map(|change| deed(change)).collect()
    }

    /// The manifest behind a Change.
    pub(crate) fn checked_at(&self, place: usize) -> Option<&'a Checked> {
        self.changes.get(place).and_then(|change| change.checked)
    }

    /// Says of a Change that the target itself admitted it.
    pub(crate) fn admitted_by_target(&mut self, place: usize) {
        if let Some(change) = self.changes.get_mut(place) {
            change.entry.admitted = Admitted::Server;
        }
    }

    /// Those of the webhooks that nobody waived; the others are noted. They take no dry run of an object.
    pub(crate) fn waive_dry_run(&mut self, webhooks: Vec<String>) -> Vec<String> {
        let (waived, others): (Vec<_>, Vec<_>) =
            webhooks.into_iter().partition(|webhook| self.grants.waives_dry_run(webhook));
        if others.is_empty() {
            self.deaf.extend(waived);
        }
        others
    }

    /// Says of a Draft for a target with admission of its own that it was not asked: which waivers that needs isn't known.
    pub(crate) fn not_asked(&mut self) {
        if self.observed.target.kind == TargetKind::Kubernetes {
            self.deaf.extend(self.grants.given().waive_dry_run.iter().cloned());
        }
    }

    /// Takes updates back by which, as the target says, no value changes: equal in a way that only it knows.
    pub(crate) fn nothing_to_do(&mut self, answers: Vec<(usize, Value)>) {
        let mut settled = BTreeSet::new();
        for (place, answer) in answers {
            let Some(change) = self.changes.get_mut(place).filter(|change| change.entry.action == Action::Update)
            else {
                continue;
            };
            let (Some(live), Some(checked)) = (change.live, change.checked) else { continue };
            if values(&answer) != values(&live.object) || !change.entry.taken.is_empty() {
                // Of what the merge says, what the target leaves as it is doesn't change.
                let changes =
                    |field: &Field| answer.pointer(field.path.as_str()) != live.object.pointer(field.path.as_str());
                if change.entry.fields.iter().any(changes) {
                    change.entry.fields.retain(changes);
                }
                continue;
            }
            change.entry.fields.clear();
            change.after = Some(live.object.clone().into());
            let (RowChange::Upsert(row), Some(seen)) = (&change.row, &change.entry.seen) else { continue };
            if held(&answer) != held(&live.object) || !change.entry.left.is_empty() {
                change.entry.action = Action::Own;
                continue;
            }
            let row = Row {
                version: live.head.version.clone(),
                uid: live.head.uid.clone(),
                seen: seen.clone(),
                ..Row::clone(row)
            };
            let entry = UnchangedEntry {
                id: change.entry.id.clone(),
                source: change.entry.source.clone(),
                uid: live.head.uid.clone(),
                seen: seen.clone(),
                declared: checked.digest().clone(),
            };
            self.unchanged.push(Unchanged { entry, source: change.source, row: Some(Box::new(row)) });
            settled.insert(place);
        }
        if settled.is_empty() {
            return;
        }
        let mut place = 0;
        self.changes.retain(|_| {
            place += 1;
            !settled.contains(&(place - 1))
        });
        self.unchanged.sort_by(|a, b| a.entry.id.cmp(&b.entry.id));
        self.order();
    }

    /// What planning itself found wrong.
    pub(crate) fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }

    /// Whether an object may be deleted and made anew: by name, or by its manifest; where that destroys data, the manifest
    /// must allow its prune too.
    pub(crate) fn may_replace(&self, considered: &Considered<'_>) -> bool {
        let protected = considered.live.and_then(|live| kinds::protected(considered.id, live)).is_some();
        let by_manifest = considered
            .checked
            .is_some_and(|c| c.wants().replace && (!protected || c.wants().prune == PrunePermission::Allow));
        by_manifest || self.grants.allow().contains_key(considered.id)
    }

    /// Whether an object has emergency changes, which a replace would lose.
    pub(crate) fn has_emergency(&self, id: &ResourceId) -> bool {
        self.inputs.iter().any(|input| input.emergencies.contains_key(id))
    }

    /// Turns updates that can't be made in place into replaces.
    pub(crate) fn replace(&mut self, ids: &[ResourceId]) {
        if ids.is_empty() {
            return;
        }
        let ids: BTreeSet<&ResourceId> = ids.iter().collect();
        for change in self.changes.iter_mut().filter(|c| ids.contains(&c.entry.id)) {
            replace(change);
        }
        self.order();
    }

    /// Faults by the set whose files they are in.
    pub(crate) fn by_source(&self, faults: Vec<Fault>) -> Vec<(Option<&'a CheckedSet>, Vec<Fault>)> {
        let mut grouped: BTreeMap<Option<usize>, Vec<Fault>> = BTreeMap::new();
        for fault in faults {
            let declares = |id: &ResourceId| self.inputs.iter().position(|input| input.set.get(id).is_some());
            grouped.entry(fault.id.as_ref().and_then(declares)).or_default().push(fault);
        }
        grouped.into_iter().map(|(source, faults)| (source.map(|s| self.inputs[s].set), faults)).collect()
    }

    /// The waivers that the manifests needed.
    pub(crate) fn waived(&self) -> Vec<Waiver> {
        self.inputs.iter().flat_map(|input| input.set.waived().iter().cloned()).collect()
    }

    /// Gives warnings to the Changes that they are about; the others to the plan.
    pub(crate) fn warn_changes(&mut self, warnings: Vec<Warning>) {
        let mut by_id: BTreeMap<ResourceId, Vec<Warning>> = BTreeMap::new();
        for warning in warnings {
            match &warning.id {
                Some(id) => by_id.entry(id.clone()).or_default().push(warning),
                None => self.warnings.push(warning),
            }
        }
        for change in &mut self.changes {
            if let Some(found) = by_id.remove(&change.entry.id) {
                change.entry.warnings.extend(found.iter().map(warning_entry));
                change.entry.warnings.sort();
                change.entry.warnings.dedup();
            }
        }
        self.warnings.extend(by_id.into_values().flatten());
    }

    /// Adds warnings that no single Change has.
    pub(crate) fn warn(&mut self, warnings: &[Warning]) {
        self.warnings.extend_from_slice(warnings);
        for input in self.inputs {
            self.warnings.extend_from_slice(input.set.warnings());
        }
    }

    /// The kinds that the first Source knows; all know those of the target.
    pub(crate) fn catalog(&self) -> Catalog {
        self.inputs.first().map_or_else(Catalog::builtin, |input| input.set.catalog().clone())
    }

    /// The policies of one Source.
    pub(crate) fn policies(&self, source: usize) -> &'a Policies {
        self.inputs[source].set.policies()
    }
}

/// An object without bookkeeping, status and the owner mark, which names an apply.
fn values(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(key);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(OWNER_ANNOTATION);
        }
    }
    object
}

/// What our applies hold of an object.
fn held(object: &Value) -> Option<FieldSet> {
    let managers = ManagedFields::of(object).ok()?;
    managers.applied_by(&Manager::new(FIELD_MANAGER)).map(|entry| entry.fields.clone())
}

fn replace(change: &mut Change<'_>) {
    let (Intent::Apply { uid, version, .. }, Some(checked)) = (&change.intent, change.checked) else { return };
    change.intent = Intent::Replace { uid: uid.clone(), version: version.clone(), declared: checked.shared() };
    change.entry.action = Action::Replace;
    change.entry.undo = undo::of_replace(&change.entry.id);
    change.entry.reason = Some("fields that can't be changed in place differ: it is deleted and made anew".to_owned());
    // It is made as declared, with nothing of the old one.
    change.entry.left.clear();
    change.entry.dropped_defaults.clear();
    if let RowChange::Upsert(row) = &mut change.row {
        row.left_alone = false;
        row.fields = checked.shared_fields();
    }
}
