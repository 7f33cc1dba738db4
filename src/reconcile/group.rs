//! Which Sources are planned together, and what is known of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::engine::Engine;
use super::newest::Newest;
use crate::apply::{Ready, declared, source_id};
use crate::base::clock::Moment;
use crate::base::ids::{CommitId, SourceId, SourceName, TargetIdentity};
use crate::base::resource::ResourceId;
use crate::inventory::SourceRecord;
use crate::plan::OtherSource;
use crate::source::spec::{ApplyMode, SourceSpec};
use crate::target::{Definitions, Reader, TargetError};

/// A Source with those that it moves objects to or from, and what the others declare.
pub(super) struct Company {
    pub(super) members: Vec<Arc<Ready<'static>>>,
    pub(super) others: Vec<OtherSource>,
    /// Whether the plan depends on other Sources at all.
    pub(super) needed: bool,
    /// Whether one of them is about to be looked at, and the plan would say more then.
    pub(super) stale: bool,
}

/// What the target showed.
pub(super) struct Beside<'v> {
    pub(super) reader: &'v dyn Reader,
    pub(super) identity: &'v TargetIdentity,
    pub(super) known: &'v [SourceRecord],
    pub(super) definitions: &'v Definitions,
    /// When the Source's commit was first seen: what another declares must be known from later than that.
    pub(super) since: Moment,
}

impl Engine {
    /// Finds the company of a Source at a commit.
    pub(super) fn company(&self, ready: &Arc<Ready<'static>>, beside: &Beside<'_>) -> Result<Company, TargetError> {
        let alone = |needed, others, stale| Company { members: vec![Arc::clone(ready)], others, needed, stale };
        let spec = ready.spec();
        let id = source_id(beside.identity, &spec.name, beside.known);
        let (lost, foreign) = moves(ready, &id, beside)?;
        if lost.is_empty() && foreign.is_empty() {
            return Ok(alone(false, Vec::new(), false));
        }
        let mut stale = false;
        let mut read: BTreeMap<SourceName, Result<Arc<Ready<'static>>, String>> = BTreeMap::new();
        for other in self.all_but(&spec.name) {
            let found = self.other(spec, other, beside);
            stale |= found.is_none();
            let found = found.unwrap_or_else(|| Err("it was not read since".to_owned()));
            read.insert(other.name.clone(), found);
        }
        let mut members = vec![Arc::clone(ready)];
        let partner = |other: &Ready<'_>| {
            let other_id = source_id(beside.identity, &other.spec().name, beside.known);
            foreign.contains(&other_id) || lost.iter().any(|id| other.set().get(id).is_some_and(|c| !c.wants().use_))
        };
        for other in read.values().flatten() {
            if partner(other) && self.is_free(other.spec(), beside)? {
                members.push(Arc::clone(other));
            }
        }
        if members.len() > 1 && !self.is_free(spec, beside)? {
            members.truncate(1);
        }
        let named: BTreeSet<SourceName> = members.iter().map(|member| member.spec().name.clone()).collect();
        let others = read.into_iter().filter(|(name, _)| !named.contains(name));
        let others = others.map(|(name, found)| OtherSource { name, wanted: found.map(|ready| declared(&ready)) });
        Ok(Company { members, others: others.collect(), needed: true, stale })
    }

    /// What is known of another Source; `None` if it is about to be looked at.
    fn other(
        &self,
        spec: &SourceSpec,
        other: &'static SourceSpec,
        beside: &Beside<'_>,
    ) -> Option<Result<Arc<Ready<'static>>, String>> {
        if other.repository.normalised() == spec.repository.normalised() {
            // The mirror was just fetched.
            return Some(self.mirrored(other, beside.definitions).map_err(|refused| refused.first_text()));
        }
        if self.others.iter().any(|one| one.name == other.name) {
            // No tick of its own looks at it.
            return Some(match self.newest(other, None, beside.definitions, |_| false) {
                Newest::Ready(ready) => Ok(ready),
                Newest::Unreachable(refused) | Newest::Refused(_, refused) => Err(refused.first_text()),
                Newest::StillRefused(commit) => Err(format!("its commit {commit} was refused")),
            });
        }
        let slot = self.slot(&other.name);
        let fresh = slot.looked_at.is_some_and(|at| at >= beside.since);
        slot.ready.filter(|ready| fresh && ready.knows(beside.definitions)).map(Ok)
    }

    /// Whether the loop may apply a Source by itself now.
    fn is_free(&self, spec: &SourceSpec, beside: &Beside<'_>) -> Result<bool, TargetError> {
        let controls = beside.reader.controls(&source_id(beside.identity, &spec.name, beside.known))?;
        let now = self.now();
        Ok(spec.apply == ApplyMode::Auto && controls.paused(now).is_none() && controls.pinned(now).is_none())
    }

    /// The commits of the other Sources that are in memory.
    pub(super) fn commits_of_others(&self, name: &SourceName) -> Vec<(SourceName, Option<CommitId>)> {
        let commit = |spec: &SourceSpec| self.slot(&spec.name).ready.map(|ready| ready.commit().clone());
        self.all_but(name).map(|spec| (spec.name.clone(), commit(spec))).collect()
    }
}

/// What a Source owns and no longer declares, and which Sources own what it declares newly.
fn moves(
    ready: &Ready<'_>,
    id: &SourceId,
    beside: &Beside<'_>,
) -> Result<(Vec<ResourceId>, BTreeSet<SourceId>), TargetError> {
    let inventory = beside.reader.inventory(id)?;
    let is_declared = |id: &ResourceId| ready.set().get(id).is_some_and(|checked| !checked.wants().use_);
    let lost = inventory.rows.keys().filter(|id| !is_declared(id)).cloned().collect();
    let manifests = ready.set().manifests().iter().filter(|checked| !checked.wants().use_);
    let new: Vec<&ResourceId> =
        manifests.map(|checked| checked.id()).filter(|id| !inventory.rows.contains_key(id)).collect();
    let heads = if new.is_empty() { Default::default() } else { beside.reader.heads(&new)? };
    let owners = heads.into_values().filter_map(|head| head.mark.ok().flatten()).map(|mark| mark.source);
    Ok((lost, owners.filter(|owner| owner != id).collect()))
}
