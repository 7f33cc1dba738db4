//! The applier: inside the writer's lock it plans anew, compares, and commits everything or nothing.

use std::borrow::Cow;
use std::time::Duration;

use rayon::prelude::*;

use super::context::Context;
use super::gates::{Written, gates};
use super::held::{Hold, held, holds};
use super::notices::{Subject, tell};
use super::prepare::{Prepared, source_id};
use super::receipt::{Receipt, receipt};
use super::rules::{SOURCE_MOVED, TARGET_MOVED};
use crate::admission::Rejection;
use crate::base::clock::Moment;
use crate::base::fault::Fault;
use crate::base::ids::{ApplyId, CommitId, PlanId, SourceId};
use crate::base::interrupt::Interrupt;
use crate::base::progress::{Counter, Stage};
use crate::base::resource::ResourceId;
use crate::inventory::{OwnerMark, Released, SourceRecord};
use crate::plan::document::{PlanDocument, Purpose};
use crate::plan::{EndedRow, Giver, Made, RowChange, SealedPlan, SealedSource, Step, binding};
use crate::target::{Batch, Operation, Reader, SourceCommit, Staged, TargetError, Write, Writer};

/// How an apply is done.
#[derive(Debug, Clone)]
pub struct ApplyOptions {
    /// Who applies.
    pub actor: String,
    /// The apply's ID: UUIDv7.
    pub apply: ApplyId,
    /// How long to wait for the target's lock.
    pub lock_timeout: Duration,
    /// A plan of a commit that its ref doesn't reach may be applied.
    pub allow_unmerged: bool,
    /// Sources that are paused are applied all the same; `reason` says why.
    pub while_paused: bool,
    /// Why, where a reason was given.
    pub reason: Option<String>,
    /// The plan was read from a file: one that was applied before is refused.
    pub single_use: bool,
}

/// Why an apply did not take place; nothing was written.
#[derive(Debug)]
pub struct Refused {
    /// Everything that stands in the way.
    pub rejection: Rejection,
    /// Whether it is that the plan is stale, and not that it is wrong.
    pub stale: bool,
}

/// Why an apply failed.
#[derive(Debug)]
pub enum ApplyError {
    /// It was refused; nothing was written.
    Refused(Box<Refused>),
    /// The target failed; the error says what is known of what was written.
    Target(TargetError),
    /// Somebody asked to stop before anything was written.
    Interrupted,
}

impl From<TargetError> for ApplyError {
    fn from(error: TargetError) -> Self {
        Self::Target(error)
    }
}

/// An apply that holds the writer's lock and found the reviewed plan still true. Dropped, it leaves everything as it was.
#[must_use = "a transaction that isn't committed writes nothing"]
pub struct Transaction<'t> {
    writer: Box<dyn Writer + 't>,
    staged: Staged,
    writes: usize,
}

impl<'t> Transaction<'t> {
    /// Takes the lock, plans anew and compares with what was reviewed.
    ///
    /// # Errors
    /// If the plan no longer holds, or was applied before, or the target fails. Nothing is written.
    pub fn begin(
        context: &Context<'t>,
        prepared: &Prepared<'_>,
        reviewed: &PlanDocument,
        options: ApplyOptions,
    ) -> Result<Self, ApplyError> {
        if context.target.reader()?.revision()?.is_none() {
            return Self::begin_inside(context, prepared, reviewed, &options);
        }
        // The plan is made on a snapshot, so that others aren't held up; it counts if nobody wrote until the lock was had.
        let early = anew(context, prepared, reviewed, context.target.reader()?.as_ref(), &options)?;
        Self::lock(context, prepared, reviewed, early, options)
    }

    /// The same for a plan that was just made here, of these same Sources: it is made anew only if the target was written
    /// since.
    ///
    /// # Errors
    /// As [`Transaction::begin`].
    pub fn begin_at_once(
        context: &Context<'t>,
        prepared: &Prepared<'_>,
        made: SealedPlan,
        options: ApplyOptions,
    ) -> Result<Self, ApplyError> {
        let (reviewed, made) = made.into_parts();
        if made.revision.is_none() {
            return Self::begin_inside(context, prepared, &reviewed, &options);
        }
        let early = {
            let reader = context.target.reader()?;
            let reader = reader.as_ref();
            if made.revision.is_some() && reader.revision()? == made.revision {
                check(reader, prepared, &reviewed, &options, context.clock.now())?;
                refuse(unmerged(&reviewed, &options))?;
                Early::of(context, prepared, (&reviewed, made, &reviewed.plan_id), reader, &options)?
            } else {
                anew(context, prepared, &reviewed, reader, &options)?
            }
        };
        Self::lock(context, prepared, &reviewed, early, options)
    }

    fn lock(
        context: &Context<'t>,
        prepared: &Prepared<'_>,
        reviewed: &PlanDocument,
        early: Early,
        options: ApplyOptions,
    ) -> Result<Self, ApplyError> {
        let Early { ids, revision, batch } = early;
        // If somebody writes meanwhile this may fail by what they wrote; then the plan made inside the lock says so better.
        let writes = batch.writes.len();
        let early = if revision.is_some() { context.target.stage(batch) } else { Ok(batch.into()) };
        let writer = context.target.writer(&ids, options.lock_timeout)?;
        let reader = writer.reader();
        let staged = if revision.is_some() && reader.revision()? == revision {
            early?
        } else {
            anew(context, prepared, reviewed, reader, &options)?.batch.into()
        };
        Ok(Self { writer, staged, writes })
    }

    /// On a target without a snapshot: all of it is done inside the lock.
    fn begin_inside(
        context: &Context<'t>,
        prepared: &Prepared<'_>,
        reviewed: &PlanDocument,
        options: &ApplyOptions,
    ) -> Result<Self, ApplyError> {
        let now = || context.clock.now();
        let mut ids = {
            let reader = context.target.reader()?;
            let reviewed = continued(reader.as_ref(), reviewed)?;
            check(reader.as_ref(), prepared, &reviewed, options, now())?;
            prepared.source_ids(reader.as_ref())?
        };
        loop {
            let writer = context.target.writer(&ids, options.lock_timeout)?;
            let reader = writer.reader();
            // The first apply on a target makes its state, and with it the IDs.
            let reviewed = continued(reader, reviewed)?;
            let early = anew(context, prepared, &reviewed, reader, options)?;
            if early.ids.iter().all(|id| ids.contains(id)) {
                return Ok(Self { writes: early.batch.writes.len(), staged: early.batch.into(), writer });
            }
            // What else has to be locked is known now; the next look is made with all of it.
            ids = early.ids;
        }
    }

    /// Commits everything, or nothing.
    ///
    /// # Errors
    /// If somebody asked to stop, or the target fails; the error says what was written: nothing, unless it says that it
    /// isn't known.
    pub fn commit(self, context: &Context<'_>) -> Result<Receipt, ApplyError> {
        let Self { writer, staged, writes } = self;
        if context.interrupt.is_raised() {
            return Err(ApplyError::Interrupted);
        }
        let counter = Counter::begin(context.progress, Stage::Apply, writes);
        let subject = Subject::of(context, staged.batch());
        let written = writer.commit(staged);
        drop(counter);
        if let Some(subject) = subject {
            let notices = match &written {
                Ok(written) => subject.applied(&written.receipt),
                Err(error) => subject.failed(error),
            };
            tell(context, &notices);
        }
        let written = written?;
        Ok(Receipt { json: written.receipt, held: written.held })
    }
}

/// A plan that was made before the target had any state, as the target knows it now.
fn continued<'p>(reader: &dyn Reader, reviewed: &'p PlanDocument) -> Result<Cow<'p, PlanDocument>, TargetError> {
    let (here, known) = (reader.identity()?, reader.sources()?);
    Ok(binding::continued(reviewed, &here, |name| source_id(&here, name, &known)))
}

/// What was worked out before the lock.
struct Early {
    /// The Sources whose records are written.
    ids: Vec<SourceId>,
    /// What the target's view, all of which it was worked out from, called its revision.
    revision: Option<String>,
    batch: Batch,
}

impl Early {
    /// Of a plan that stands, under the name of the one that was reviewed.
    fn of(
        context: &Context<'_>,
        prepared: &Prepared<'_>,
        (document, made, reviewed): (&PlanDocument, Made, &PlanId),
        reader: &dyn Reader,
        options: &ApplyOptions,
    ) -> Result<Self, ApplyError> {
        givers_held(reader, &made, options, context.clock.now())?;
        let mut ids = prepared.source_ids(reader)?;
        ids.extend(made.givers().into_iter().map(|at| made.outside[at].id.clone()));
        ids.sort();
        let revision = made.revision.clone();
        Ok(Self {
            ids,
            revision,
            batch: batch(document, made, reviewed, options, (context.clock.now(), context.interrupt)),
        })
    }
}

/// Plans anew, and compares with what was reviewed.
fn anew(
    context: &Context<'_>,
    prepared: &Prepared<'_>,
    reviewed: &PlanDocument,
    reader: &dyn Reader,
    options: &ApplyOptions,
) -> Result<Early, ApplyError> {
    check(reader, prepared, reviewed, options, context.clock.now())?;
    let (now, made) = planned(prepared, reader, context)?.into_parts();
    let mut moved = binding::moved(reviewed, &now);
    moved.extend(unmerged(&now, options));
    refuse(moved)?;
    Early::of(context, prepared, (&now, made, &reviewed.plan_id), reader, options)
}

/// Refuses what moved since the plan was reviewed, if anything did.
fn refuse(moved: Vec<Fault>) -> Result<(), ApplyError> {
    if moved.is_empty() {
        return Ok(());
    }
    let stale = moved.iter().any(|fault| fault.rule == binding::STALE_PLAN);
    Err(refused(stale, moved))
}

/// A pause holds back what takes objects from the paused Source, too.
fn givers_held(reader: &dyn Reader, made: &Made, options: &ApplyOptions, now: Moment) -> Result<(), ApplyError> {
    let givers = made.givers();
    if givers.is_empty() {
        return Ok(());
    }
    let givers = givers.iter().map(|at| (&made.outside[*at].name, &made.outside[*at].commit));
    let holds = holds(reader, &reader.sources()?, givers, now)?;
    // At which commit a Source is held is its own affair.
    let paused: Vec<Hold> = holds.into_iter().map(|hold| Hold { pin: None, ..hold }).collect();
    let held = held(&paused, options.while_paused);
    if held.is_empty() { Ok(()) } else { Err(refused(false, held)) }
}

/// What must be so before anything is planned: the first questions come first.
fn check(
    reader: &dyn Reader,
    prepared: &Prepared<'_>,
    reviewed: &PlanDocument,
    options: &ApplyOptions,
    now: Moment,
) -> Result<(), ApplyError> {
    let identity = reader.identity()?;
    if identity != reviewed.target.identity {
        return Err(refused(false, vec![binding::wrong_target(reviewed, &identity)]));
    }
    if options.single_use && reader.was_applied(&reviewed.plan_id)? {
        let text = "this plan was applied before; a plan is applied once";
        let fault =
            Fault::new(binding::STALE_PLAN, text).hint("make a new plan; if nothing changed there is nothing to do");
        return Err(refused(true, vec![fault]));
    }
    let not_given = binding::not_given(reviewed, prepared.grants().given());
    if !not_given.is_empty() {
        return Err(refused(false, not_given));
    }
    let held = prepared.held(reader, now, options.while_paused)?;
    if !held.is_empty() {
        return Err(refused(false, held));
    }
    if !prepared.serves_the_same(reader)? {
        let text = "a CustomResourceDefinition of the target changed while the manifests were checked";
        return Err(refused(true, vec![Fault::new(TARGET_MOVED, text).hint("try again")]));
    }
    Ok(())
}

fn planned(prepared: &Prepared<'_>, reader: &dyn Reader, context: &Context<'_>) -> Result<SealedPlan, ApplyError> {
    prepared.plan(context, reader).map_err(|rejection| {
        let stale = rejection.faults().any(|fault| is_stale(fault.rule));
        ApplyError::Refused(Box::new(Refused { rejection, stale }))
    })
}

/// Rules that say, at an apply, that the target moved on since the plan was reviewed.
fn is_stale(rule: crate::base::fault::RuleId) -> bool {
    matches!(rule.as_str(), "stale-plan" | "uid-mismatch" | "exists-unowned" | "owner-mismatch")
}

pub(super) fn refused(stale: bool, faults: Vec<Fault>) -> ApplyError {
    let mut rejection = Rejection::default();
    for fault in faults {
        rejection.push(fault);
    }
    ApplyError::Refused(Box::new(Refused { rejection, stale }))
}

fn unmerged(plan: &PlanDocument, options: &ApplyOptions) -> Vec<Fault> {
    if options.allow_unmerged {
        return Vec::new();
    }
    let previews = plan.sources.iter().filter(|s| s.preview);
    previews
        .map(|s| {
            let text = format!("commit {} of Source {} is not on its ref (any more)", s.commit, s.name);
            Fault::new(SOURCE_MOVED, text).hint("merge it first, or apply it as it is with --allow-unmerged")
        })
        .collect()
}

/// Everything of the apply. It bears the name of the plan that was reviewed: the report of the one that was made anew, and
/// with it the name, may differ, and the reviewed one is used up.
fn batch(
    document: &PlanDocument,
    made: Made,
    reviewed: &PlanId,
    options: &ApplyOptions,
    (at, interrupt): (Moment, &Interrupt),
) -> Batch {
    let gives = made.givers();
    let operation = operation(&made);
    let Made { steps, moved_rows, ended_rows, sources, outside, .. } = made;
    let mut commits: Vec<SourceCommit> = sources
        .iter()
        .zip(&document.sources)
        .map(|(source, entry)| source_commit(source, &entry.commit, reviewed, options, at))
        .collect();
    for (source, row) in moved_rows {
        commits[source].upserts.push(row);
    }
    for ended in ended_rows {
        let EndedRow { source, id, uid, reason, .. } = ended;
        commits[source].released.push(Released { id, uid, reason, apply: options.apply.clone(), at });
    }
    // A Source outside the plan has its row ended and nothing else; its record stays as it is.
    commits.extend(gives.iter().map(|at| giving(&outside[*at])));
    let place = |giver| match giver {
        Giver::Planned(at) => at,
        Giver::Outside(at) => sources.len() + gives.iter().position(|of| *of == at).unwrap_or_default(),
    };
    let mut intents = Vec::with_capacity(steps.len());
    for step in steps {
        let Step { id, source, from, intent, row } = step;
        if let Some(giver) = from {
            commits[place(giver)].removed.push(id.clone());
        }
        rows(&id, row, &mut commits[source], &options.apply, at);
        intents.push((id, intent, source));
    }
    let intents_of: Vec<usize> = intents.iter().map(|(_, _, source)| *source).collect();
    let patience: Vec<Duration> = intents_of.iter().map(|source| sources[*source].health_timeout).collect();
    let writes: Vec<Option<Write>> = intents
        .into_par_iter()
        .with_min_len(64)
        .map(|(id, intent, source)| {
            let mark = OwnerMark { source: sources[source].id.clone(), resource: id, apply: options.apply.clone() };
            intent.into_write(mark)
        })
        .collect();
    let accounts = intents_of.iter().zip(&writes).filter(|(_, write)| write.is_some());
    let accounts = accounts.map(|(source, _)| sources[*source].account.clone()).collect();
    let written = document.changes.iter().zip(&writes).zip(patience);
    let gates = gates(written.filter_map(|((change, write), time)| Some(Written::of(change, write.as_ref()?, time))));
    let unmerged = document.sources.iter().any(|s| s.preview);
    let mut receipt =
        receipt(document, reviewed, &options.apply, &options.actor, at, unmerged, options.reason.as_deref());
    if let (Some(map), true) = (receipt.as_object_mut(), options.while_paused) {
        map.insert("whilePaused".to_owned(), true.into());
    }
    Batch {
        apply: options.apply.clone(),
        at,
        actor: options.actor.clone(),
        operation,
        plan: Some(reviewed.clone()),
        single_use: options.single_use,
        writes: writes.into_iter().flatten().collect(),
        accounts,
        gates,
        interrupt: interrupt.clone(),
        sources: commits,
        receipt,
    }
}

fn operation(made: &Made) -> Operation {
    let any = |is: fn(Purpose) -> bool| made.sources.iter().any(|source| is(source.purpose));
    if any(Purpose::removes) {
        Operation::Remove
    } else if any(|purpose| purpose == Purpose::Rebuild) {
        Operation::Rebuild
    } else {
        Operation::Apply
    }
}

fn source_commit(
    source: &SealedSource,
    commit: &CommitId,
    reviewed: &PlanId,
    options: &ApplyOptions,
    at: Moment,
) -> SourceCommit {
    SourceCommit {
        record: SourceRecord {
            id: source.id.clone(),
            name: source.name.clone(),
            former_names: source.former_names.clone(),
            binding: source.binding.clone(),
            commit: commit.clone(),
            plan: reviewed.clone(),
            apply: options.apply.clone(),
            applied_at: at,
            spec: source.spec.clone(),
            serial: source.serial + u64::from(source.rises),
            removed_at: source.purpose.removes().then_some(at),
        },
        serial_before: source.serial,
        upserts: Vec::new(),
        removed: Vec::new(),
        released: Vec::new(),
    }
}

fn giving(record: &SourceRecord) -> SourceCommit {
    SourceCommit {
        record: SourceRecord { serial: record.serial + 1, ..record.clone() },
        serial_before: record.serial,
        upserts: Vec::new(),
        removed: Vec::new(),
        released: Vec::new(),
    }
}

fn rows(id: &ResourceId, row: RowChange, commit: &mut SourceCommit, apply: &ApplyId, at: Moment) {
    match row {
        RowChange::Upsert(row) => commit.upserts.push(*row),
        RowChange::Remove => commit.removed.push(id.clone()),
        RowChange::Release { uid, reason } => {
            commit.released.push(Released { id: id.clone(), uid, reason, apply: apply.clone(), at });
        }
        RowChange::Stay => {}
    }
}
