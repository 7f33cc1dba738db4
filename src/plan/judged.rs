//! The Draft as admission sees and answers it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::change::{Change, Intent, RowChange};
use super::document::{Action, ChangeEntry, Waiver};
use super::draft::Draft;
use super::warnings::entry as warning_entry;
use super::{kinds, undo};
use crate::admission::{CheckedSet, Policies, on_draft::Considered};
use crate::base::fault::{Fault, Warning};
use crate::base::resource::ResourceId;
use crate::inventory::PrunePermission;
use crate::schema::Catalog;

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
