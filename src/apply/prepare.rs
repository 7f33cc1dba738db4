//! Planning: Sources are read and checked once; against a Reader they can be planned any number of times.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::Context;
use super::emergencies::emergencies;
use super::held::{Hold, held, holds};
use super::observe::observe_telling;
use super::read::{SourceRead, Wanted};
use super::ready::{Reading, Ready, versions};
use super::removal::{self, Leaving, Removal};
use super::rename::unknown;
use super::rules::SOURCE_BINDING;
use crate::admission::{self, CheckedSet, Rejection};
use crate::base::clock::Moment;
use crate::base::fault::{Class, Fault, Warning};
use crate::base::ids::{CommitId, SourceId, SourceName, TargetIdentity};
use crate::base::map::HashSet;
use crate::base::progress::Progress;
use crate::base::resource::ResourceId;
use crate::inventory::{Emergency, Inventory, Pin, SourceRecord, present};
use crate::plan::binding::STALE_PLAN;
use crate::plan::document::{Purpose, Waiver};
use crate::plan::{CommitFacts, Draft, Grants, OtherSource, SealedPlan, SourceInput, draft};
use crate::source::refs::RefSpec;
use crate::source::spec::SourceSpec;
use crate::target::{Definitions, Reader, TargetError, TargetKind};

/// What to plan.
pub struct Request<'a> {
    /// The Sources, planned together.
    pub sources: Vec<&'a SourceSpec>,
    /// The configuration's other Sources on the same target: what they declare is never deleted.
    pub others: Vec<&'a SourceSpec>,
    /// Another commit than the Sources' refs name (`--ref`).
    pub at: Option<RefSpec>,
    /// For each Source the commit that a reviewed plan names; its ref decides only whether that is merged.
    pub commits: Vec<(SourceName, crate::base::ids::CommitId)>,
    /// Permissions.
    pub grants: Grants,
    /// Waivers of user policies.
    pub waivers: Vec<Waiver>,
    /// What is planned of the Sources: [`Purpose::Apply`] or [`Purpose::Rebuild`].
    pub purpose: Purpose,
    /// A Source that is removed; then there are no others to plan.
    pub removal: Option<Removal>,
}

/// Sources that were read and checked, ready to be planned against what a Reader shows.
pub struct Prepared<'a> {
    kind: TargetKind,
    sources: Vec<Arc<Ready<'a>>>,
    others: Vec<OtherSource>,
    definitions: Vec<(String, String)>,
    grants: Grants,
    warnings: Vec<Warning>,
    /// What is left alone beside what was written in pauses.
    left: BTreeMap<ResourceId, Emergency>,
    progress: &'a dyn Progress,
    purpose: Purpose,
    removal: Option<Removal>,
}

/// Fetches, reads and checks.
///
/// # Errors
/// Every fault of every Source that could be read, and each Source that could not, in one Rejection.
pub fn prepare<'a>(context: &Context<'a>, request: Request<'a>) -> Result<Prepared<'a>, Rejection> {
    let served = context.target.reader().and_then(|reader| {
        let known = reader.sources()?;
        let pins = pins(reader.as_ref(), &known, &request.sources, context.clock.now())?;
        Ok((reader.definitions()?, known, pins))
    });
    let (definitions, known, pins) = served.map_err(|error| Rejection::of(target_fault(&error)))?;
    let mut rejection = Rejection::default();
    let mut sources = Vec::new();
    for (spec, pin) in request.sources.into_iter().zip(pins) {
        let commit = request.commits.iter().find(|(name, _)| *name == spec.name).map(|(_, commit)| commit);
        let is_applied = commit.is_some() && present(&known, &spec.name).map(|record| &record.commit) == commit;
        let commit = commit.map(if is_applied { Wanted::Applied } else { Wanted::Commit });
        let wanted =
            commit.or(request.at.as_ref().map(Wanted::Ref)).or(pin.as_ref().map(|pin| Wanted::Pinned(&pin.commit)));
        let by = Reading { wanted, definitions: &definitions, waivers: &request.waivers, uncommitted: true };
        match Ready::read(context, spec, &by) {
            Ok(ready) => sources.push(Arc::new(ready)),
            Err(refused) => rejection.join(refused),
        }
    }
    if !rejection.is_empty() {
        return Err(rejection);
    }
    let others = match &request.removal {
        Some(removal) => removal::others(context, removal, &request.others, &definitions),
        None => request.others.iter().map(|spec| other(context, spec, &definitions)).collect(),
    };
    let prepared = Prepared::of(context, sources, others, &definitions, request.grants);
    Ok(Prepared { purpose: request.purpose, removal: request.removal, ..prepared })
}

/// The pins of the Sources, in their order.
fn pins(
    reader: &dyn Reader,
    known: &[SourceRecord],
    specs: &[&SourceSpec],
    now: Moment,
) -> Result<Vec<Option<Pin>>, TargetError> {
    let identity = reader.identity()?;
    let pin = |spec: &&SourceSpec| {
        let controls = reader.controls(&source_id(&identity, &spec.name, known))?;
        Ok(controls.pinned(now).cloned())
    };
    specs.iter().map(pin).collect()
}

/// What another Source declares at its newest commit; that it can't be read is an answer too, never "nothing".
pub(super) fn other(context: &Context<'_>, spec: &SourceSpec, definitions: &Definitions) -> OtherSource {
    let by = Reading { wanted: None, definitions, waivers: &[], uncommitted: false };
    let wanted = Ready::read(context, spec, &by).map_err(|refused| refused.first_text());
    OtherSource { name: spec.name.clone(), wanted: wanted.map(|ready| declared(&ready)) }
}

/// What a Source declares.
pub fn declared(ready: &Ready<'_>) -> HashSet<ResourceId> {
    ready.set.manifests().iter().map(|c| c.id().clone()).collect()
}

/// Has the objects that a Source declares or owns read as its account.
pub(crate) fn read_as_account(reader: &dyn Reader, spec: &SourceSpec, set: &CheckedSet, inventory: &Inventory) {
    let Some(account) = &spec.service_account else { return };
    let declared = set.manifests().iter().map(|checked| checked.id());
    reader.read_as(account, &declared.chain(inventory.rows.keys()).collect::<Vec<_>>());
}

fn joined(
    mut found: BTreeMap<ResourceId, Emergency>,
    more: &BTreeMap<ResourceId, Emergency>,
) -> BTreeMap<ResourceId, Emergency> {
    for (id, more) in more {
        let emergency = found.entry(id.clone()).or_default();
        emergency.fields.extend(more.fields.iter().cloned());
        emergency.deleted = emergency.deleted.take().or_else(|| more.deleted.clone());
    }
    found
}

/// Applies that are neither finished nor undone: what is seen may be the middle of one.
fn interrupted(reader: &dyn Reader) -> Result<Vec<Warning>, TargetError> {
    let told = |one: crate::target::Interrupted| {
        let then = if one.committed { "finished" } else { "undone" };
        let text = format!(
            "apply {} of {}, begun at {}, is not done: it is {then} by the next apply or holdfast recover",
            one.apply,
            one.sources.join(", "),
            one.at
        );
        Warning::new(super::rules::INTERRUPTED, text)
    };
    Ok(reader.interrupted()?.into_iter().map(told).collect())
}

/// A failure at the target as a line of the one report.
pub(crate) fn target_fault(error: &TargetError) -> Fault {
    let rule = match error {
        TargetError::Locked { .. } => super::rules::LOCKED,
        _ => admission::TARGET_UNREADABLE,
    };
    Fault::new(rule, error.to_string()).class(Class::Target)
}

impl<'a> Prepared<'a> {
    /// Sources that were read by the same definitions of the target, to be planned together.
    pub fn of(
        context: &Context<'a>,
        mut sources: Vec<Arc<Ready<'a>>>,
        others: Vec<OtherSource>,
        definitions: &Definitions,
        grants: Grants,
    ) -> Self {
        sources.sort_by(|a, b| a.read.spec.name.cmp(&b.read.spec.name));
        let warnings = sources.iter().flat_map(|ready| ready.read.warnings.iter().cloned()).collect();
        let (kind, progress) = (context.target.kind(), context.progress);
        let definitions = versions(definitions);
        let (purpose, removal) = (Purpose::Apply, None);
        let left = BTreeMap::new();
        Self { kind, sources, others, definitions, grants, warnings, left, progress, purpose, removal }
    }

    /// Plans against what `reader` shows: observe, draft, judge, seal.
    ///
    /// # Errors
    /// Everything that is wrong, in one Rejection.
    pub fn plan(&self, context: &Context<'_>, reader: &dyn Reader) -> Result<SealedPlan, Rejection> {
        self.plan_inner(context, reader).unwrap_or_else(|error| Err(Rejection::of(target_fault(&error))))
    }

    fn plan_inner(
        &self,
        context: &Context<'_>,
        reader: &dyn Reader,
    ) -> Result<Result<SealedPlan, Rejection>, TargetError> {
        let identity = reader.identity()?;
        let known = reader.sources()?;
        let mut rejection = Rejection::default();
        let ids: Vec<SourceId> =
            self.sources.iter().map(|ready| source_id(&identity, &ready.read.spec.name, &known)).collect();
        let inventories: Vec<Arc<Inventory>> = ids.iter().map(|id| reader.inventory(id)).collect::<Result<_, _>>()?;
        for (ready, inventory) in self.sources.iter().zip(&inventories) {
            read_as_account(reader, ready.read.spec, &ready.set, inventory);
        }
        let pending =
            |(id, inventory): (&SourceId, &Arc<Inventory>)| emergencies(reader, &reader.controls(id)?, inventory);
        let pending: Vec<_> = ids.iter().zip(&inventories).map(pending).collect::<Result<_, TargetError>>()?;
        let pending = pending.into_iter().map(|found| joined(found, &self.left));
        let leaving = match self.removal.as_ref().map(|removal| Leaving::read(removal, reader, &known)).transpose()? {
            Some(Err(rejection)) => return Ok(Err(rejection)),
            Some(Ok(leaving)) => Some(leaving),
            None => None,
        };
        let mut inputs: Vec<SourceInput<'_>> = leaving.iter().map(Leaving::input).collect();
        for (((ready, id), inventory), emergencies) in self.sources.iter().zip(&ids).zip(&inventories).zip(pending) {
            let (read, set) = (&ready.read, &ready.set);
            let record = known.iter().find(|record| record.id == *id && record.removed_at.is_none());
            let rebinds = record.is_some_and(|record| !read.is_same_binding(&record.binding));
            if let (true, Some(record)) = (rebinds && !self.grants.allows_source(&read.spec.name), record) {
                rejection.push(rebound(read, record));
            }
            if let Some(record) = record.filter(|r| self.purpose == Purpose::Rebuild && r.commit != read.commit) {
                rejection.push(not_applied(record, &read.commit));
            }
            let facts = read.facts(record.map(|r| &r.commit));
            match facts {
                Ok(facts) => inputs.push(SourceInput {
                    spec: read.spec,
                    purpose: self.purpose,
                    id: id.clone(),
                    record,
                    inventory,
                    set,
                    facts: self.rebuilding(facts, record),
                    binding: read.binding.clone(),
                    rebinds,
                    emergencies,
                }),
                Err(fault) => rejection.push(*fault),
            }
        }
        if !rejection.is_empty() {
            return Ok(Err(rejection));
        }
        let observed = observe_telling(reader, self.kind, &known, &inputs, self.progress)?;
        let mut drafted: Draft<'_> = draft(&inputs, &self.others, &observed, &self.grants);
        drafted.warn(&self.warnings);
        let forgotten = |input: &&SourceInput<'_>| input.purpose == Purpose::Rebuild && input.record.is_none();
        if let Some(input) = inputs.iter().find(forgotten)
            && drafted.entries().next().is_none()
        {
            // Nothing on the target tells of such a Source: it would be made out of nothing.
            return Ok(Err(Rejection::of(unknown(&input.spec.name, &known))));
        }
        drafted.warn(&interrupted(reader)?);
        let facts = admission::facts(reader, &drafted)?;
        let dry_runner = if context.read_only { None } else { context.target.dry_runner()? };
        let plan = match admission::judge(drafted, &facts, dry_runner.as_deref())? {
            Ok(plan) => plan,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let revision = reader.revision()?;
        Ok(plan
            .seal(context.clock.now().rfc3339())
            .map(|sealed| sealed.made_on(revision))
            .map_err(|broken| Rejection::of(Fault::new(admission::BROKEN_PLAN, broken.to_string()))))
    }

    /// What a rebuild takes back was brought by the applied commit, whatever became of its branch.
    fn rebuilding(&self, facts: CommitFacts, record: Option<&SourceRecord>) -> CommitFacts {
        let applied = record.is_some_and(|record| record.commit == facts.commit);
        CommitFacts { preview: facts.preview && !(applied && self.purpose == Purpose::Rebuild), ..facts }
    }

    /// Whether the target serves the same definitions of the kinds that the manifests use as when they were checked.
    pub(crate) fn serves_the_same(&self, reader: &dyn Reader) -> Result<bool, TargetError> {
        let groups: HashSet<&str> =
            self.sources.iter().flat_map(|ready| ready.set.manifests()).map(|c| c.id().group.as_str()).collect();
        let used = |all: &[(String, String)]| -> Vec<(String, String)> {
            // Without a name it is what the target publishes of all other kinds.
            let of =
                |name: &str| name.is_empty() || name.split_once('.').is_some_and(|(_, group)| groups.contains(group));
            all.iter().filter(|(name, _)| of(name)).cloned().collect()
        };
        Ok(used(&versions(&reader.definitions()?)) == used(&self.definitions))
    }

    /// The IDs of the Sources on this target.
    ///
    /// # Errors
    /// If the target can't be read.
    pub fn source_ids(&self, reader: &dyn Reader) -> Result<Vec<SourceId>, TargetError> {
        let (identity, known) = (reader.identity()?, reader.sources()?);
        let mut ids: Vec<SourceId> = self.names().map(|name| source_id(&identity, name, &known)).collect();
        ids.sort();
        Ok(ids)
    }

    /// Leaves more alone than what was written in pauses.
    pub fn leave(&mut self, left: BTreeMap<ResourceId, Emergency>) {
        self.left = left;
    }

    /// What holds its Sources now: an apply of them would be refused.
    ///
    /// # Errors
    /// If the target can't be read.
    pub fn holds(&self, reader: &dyn Reader, now: Moment) -> Result<Vec<Hold>, TargetError> {
        let known = reader.sources()?;
        let leaving = self.removal.as_ref().and_then(|removal| present(&known, &removal.name));
        let leaving = leaving.map(|record| (&record.name, &record.commit));
        let read = self.sources.iter().map(|ready| (&ready.read.spec.name, &ready.read.commit));
        holds(reader, &known, read.chain(leaving), now)
    }

    fn names(&self) -> impl Iterator<Item = &SourceName> {
        let read = self.sources.iter().map(|ready| &ready.read.spec.name);
        read.chain(self.removal.as_ref().map(|removal| &removal.name))
    }

    /// Gives the permission for so many deletes: whoever asks for a removal with all objects, and sees it, gives it.
    pub fn allow_deletes(&mut self, deletes: usize) {
        self.grants.allow_deletes(deletes);
    }

    /// The same as an apply would say it; with `while_paused` no pause counts.
    ///
    /// # Errors
    /// If the target can't be read.
    pub fn held(&self, reader: &dyn Reader, now: Moment, while_paused: bool) -> Result<Vec<Fault>, TargetError> {
        Ok(held(&self.holds(reader, now)?, while_paused))
    }

    /// The permissions that it was prepared with.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The Sources as they were read.
    pub fn reads(&self) -> impl Iterator<Item = &SourceRead<'a>> {
        self.sources.iter().map(|ready| &ready.read)
    }

    /// The checked manifests of each Source.
    pub fn sets(&self) -> impl Iterator<Item = (&SourceName, &CheckedSet)> {
        self.sources.iter().map(|ready| (&ready.read.spec.name, &ready.set))
    }
}

/// The ID of a Source: that of the record which bears its name, else the first that was never given away.
pub fn source_id(target: &TargetIdentity, name: &SourceName, known: &[SourceRecord]) -> SourceId {
    if let Some(record) = present(known, name) {
        return record.id.clone();
    }
    let mut earlier = 0;
    loop {
        let id = SourceId::derive(target, name, earlier);
        if known.iter().all(|record| record.id != id) {
            return id;
        }
        earlier += 1;
    }
}

/// A rebuild says nothing new of git: it is of the applied commit, and of no other.
fn not_applied(record: &SourceRecord, commit: &CommitId) -> Fault {
    let (name, applied) = (&record.name, &record.commit);
    let text = format!("a rebuild of Source {name} is of its applied commit, which is {applied} and not {commit}");
    Fault::new(STALE_PLAN, text).hint("make the plan again")
}

fn rebound(read: &SourceRead<'_>, record: &SourceRecord) -> Fault {
    let name = &read.spec.name;
    let (was, is) = (&record.binding, &read.binding);
    let what = if was.repository != is.repository {
        format!("repository {}, not {}", was.repository, is.repository)
    } else if was.path != is.path {
        format!("path {:?}, not {:?}", was.path, is.path)
    } else {
        "a history that this repository doesn't share".to_owned()
    };
    Fault::new(SOURCE_BINDING, format!("on this target Source {name} is bound to {what}"))
        .hint(format!("choose another name; or, if it really moved, say so with --allow source/{name}"))
}
