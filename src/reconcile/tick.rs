//! One tick of one Source.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::contested::contested;
use super::decide::{Decision, Facts, decide};
use super::engine::{Engine, Settled};
use super::event::{Event, Level};
use super::group::{Beside, Company};
use super::memory::Memory;
use super::newest::Newest;
use super::schedule::{Outcome, after};
use crate::admission::Rejection;
use crate::apply::{
    ApplyError, ApplyOptions, Prepared, Ready, Transaction, recovered, source_id, target_fault, tell_refused,
};
use crate::base::clock::Moment;
use crate::base::digest;
use crate::base::ids::{CommitId, Digest, PlanId, SourceId, TargetIdentity};
use crate::inventory::{Controls, SourceRecord};
use crate::plan::document::{Action, PlanDocument};
use crate::plan::{Grants, SealedPlan};
use crate::source::spec::SourceSpec;
use crate::target::{Definitions, HistoryEntry, Interrupted, Reader, TargetError};

/// So often a plan that went stale while it was made is made anew.
const ATTEMPTS: usize = 4;
/// Then others write faster than plans are made: a little later.
const PATIENCE: Duration = Duration::from_secs(5);
/// For so many milliseconds what a target without a revision refused is taken to be refused still.
const LOOK_AGAIN: i64 = 600_000;
/// So many faults of a refusal are kept in the operation log.
const NOTED: usize = 100;

/// What a tick came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticked {
    pub(super) outcome: Outcome,
    /// Something was refused or could not be reached.
    pub(super) failed: bool,
    /// More can be said once the other Sources have been looked at.
    pub(super) after_others: bool,
    /// It wrote to the target.
    pub(super) applied: bool,
    /// A plan was refused by what the target showed: another Source's apply may change that.
    pub(super) on_target: bool,
}

/// What the target showed at the start.
struct View {
    identity: TargetIdentity,
    id: SourceId,
    record: Option<SourceRecord>,
    controls: Controls,
    definitions: Definitions,
    revision: Option<String>,
}

/// What became of going for a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pursued {
    /// Nothing is left to do.
    Done,
    /// It was applied.
    Applied { after_others: bool },
    /// It is left to people.
    Waits,
    /// It was refused, now or before.
    Refused,
    /// Others wrote all the time.
    Stale,
    /// Somebody asked to stop.
    Stopped,
}

impl Engine {
    /// Looks at one Source, and does what is to be done.
    pub(super) fn tick(&self, spec: &'static SourceSpec) -> Ticked {
        self.try_tick(spec).unwrap_or_else(|error| {
            self.tell(&self.line(Level::Error, "unreachable", spec, error.to_string()));
            ticked(true, false, None)
        })
    }

    fn view(&self, spec: &SourceSpec) -> Result<(View, Memory), TargetError> {
        let reader = self.context.target.reader()?;
        let (identity, known) = (reader.identity()?, reader.sources()?);
        let id = source_id(&identity, &spec.name, &known);
        let record = known.iter().find(|record| record.id == id && record.removed_at.is_none()).cloned();
        let memory = Memory::new(reader.loop_record(&id)?);
        let view = View {
            record,
            controls: reader.controls(&id)?,
            definitions: reader.definitions()?,
            revision: reader.revision()?,
            identity,
            id,
        };
        Ok((view, memory))
    }

    fn try_tick(&self, spec: &'static SourceSpec) -> Result<Ticked, TargetError> {
        let now = self.now();
        if !self.recover(spec)? {
            return Ok(ticked(false, false, Some(after(now, PATIENCE))));
        }
        let (view, mut memory) = self.view(spec)?;
        let retry = memory.take_retry();
        let pin = view.controls.pinned(now);
        let rules = rules(spec, &view.definitions);
        let stands = |commit: &CommitId| !retry && memory.stands(commit, &rules, now);
        let newest = self.newest(spec, pin, &view.definitions, stands);
        let (goal, commit, mut failed) = match newest {
            Newest::Ready(ready) => (Some(Arc::clone(&ready)), Some(ready.commit().clone()), false),
            Newest::Unreachable(rejection) => {
                self.refused(spec, &mut memory, &rejection, (None, None), None)?;
                (None, None, true)
            }
            Newest::Refused(commit, rejection) => {
                memory.saw(&commit, now);
                self.refused(spec, &mut memory, &rejection, (Some(&commit), None), Some(&rules))?;
                (None, Some(commit), true)
            }
            Newest::StillRefused(commit) => {
                self.still_refused(spec, &memory, &commit);
                (None, Some(commit), true)
            }
        };
        if let (Some(commit), None) = (&commit, pin) {
            memory.saw(commit, now);
        }
        let settled = self.settled(spec, &view, commit.clone(), now, failed);
        let before = self.slot(&spec.name).settled;
        if let (Some(settled), false) = (&settled, retry)
            && before.as_ref().is_some_and(|before| *before == Settled { failed: before.failed, ..settled.clone() })
            && memory.record.refusal.as_ref().is_none_or(|refusal| refusal.next_try.is_none_or(|next| now < next))
        {
            failed |= before.is_some_and(|before| before.failed);
            memory.write(self.context.target, &view.id)?;
            self.tell(
                &self.line(Level::Debug, "unchanged", spec, "nothing changed".to_owned()).commit(commit.as_ref()),
            );
            return Ok(ticked(failed, false, None));
        }
        let mut last = Pursued::Done;
        if let Some(goal) = &goal {
            last = self.pursue(spec, goal, &view, &mut memory, (retry, &rules))?;
            failed |= matches!(last, Pursued::Refused);
        }
        let is_there = |record: &&SourceRecord| commit.as_ref() != Some(&record.commit) || goal.is_none();
        let left = matches!(last, Pursued::Waits | Pursued::Refused) || goal.is_none();
        if let Some(record) = view.record.as_ref().filter(is_there).filter(|_| left) {
            let healed = self.heal(spec, record, &view, &mut memory, &rules)?;
            failed |= matches!(healed, Pursued::Refused);
            if matches!(healed, Pursued::Applied { .. } | Pursued::Stale | Pursued::Stopped) {
                last = healed;
            }
        }
        let next = memory.record.refusal.as_ref().and_then(|refusal| refusal.next_try);
        memory.write(self.context.target, &view.id)?;
        if matches!(last, Pursued::Done | Pursued::Waits | Pursued::Refused) {
            let settled = self.settled_after(spec, &view, commit, now, failed)?;
            self.update(&spec.name, |slot| slot.settled = settled);
        }
        let after_others = matches!(last, Pursued::Applied { after_others: true });
        let again = match last {
            Pursued::Stale => Some(after(now, PATIENCE)),
            _ => next,
        };
        let applied = matches!(last, Pursued::Applied { .. });
        let on_target = goal.is_some() && matches!(last, Pursued::Refused);
        Ok(Ticked { applied, on_target, ..ticked(failed, after_others, again) })
    }

    /// Finishes or undoes what an earlier apply of the Source left half done; false if somebody else is at work on it.
    /// A pause holds that back as it does any apply.
    fn recover(&self, spec: &SourceSpec) -> Result<bool, TargetError> {
        let paused = {
            let reader = self.context.target.reader()?;
            let is_of_it = |one: &Interrupted| one.sources.iter().any(|name| name == spec.name.as_str());
            if !reader.interrupted()?.iter().any(is_of_it) {
                return Ok(true);
            }
            let (identity, known) = (reader.identity()?, reader.sources()?);
            reader.controls(&source_id(&identity, &spec.name, &known))?.paused(self.now()).is_some()
        };
        if paused {
            let text = "an apply of it was cut off: it is finished or undone once the pause is over";
            self.tell(&self.line(Level::Debug, "paused", spec, text.to_owned()));
            return Ok(true);
        }
        match self.writing(|| recovered(&self.context, &[&spec.name], self.lock_timeout)) {
            Ok(done) => {
                for one in done {
                    let (apply, word) = (one.apply, if one.committed { "finished" } else { "undone" });
                    let text = format!("apply {apply}, begun at {}, had been cut off: it was {word}", one.at);
                    self.tell(&self.line(Level::Warn, "recovered", spec, text));
                }
                Ok(true)
            }
            Err(TargetError::Locked { reason, .. }) => {
                self.tell(&self.line(Level::Debug, "waiting", spec, reason));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Goes for a commit: plans it, decides, and applies it if that is the decision.
    fn pursue(
        &self,
        spec: &'static SourceSpec,
        goal: &Arc<Ready<'static>>,
        view: &View,
        memory: &mut Memory,
        (retry, rules): (bool, &Digest),
    ) -> Result<Pursued, TargetError> {
        let now = self.now();
        let commit = goal.commit();
        let since = memory.record.seen_at.unwrap_or(now);
        for _ in 0..ATTEMPTS {
            let reader = self.context.target.reader()?;
            let on = self.on(spec, rules, reader.as_ref())?;
            if !retry && memory.stands(commit, &on, now) {
                self.still_refused(spec, memory, commit);
                return Ok(Pursued::Refused);
            }
            let (identity, known, definitions) = (&view.identity, &reader.sources()?, &view.definitions);
            let beside = Beside { reader: reader.as_ref(), identity, known, definitions, since };
            let Company { members, others, needed, stale } = self.company(goal, &beside)?;
            self.update(&spec.name, |slot| slot.needs_others = needed);
            let mut prepared = Prepared::of(&self.context, members, others, definitions, Grants::default());
            let sealed = match prepared.plan(&self.context, reader.as_ref()) {
                Ok(sealed) => sealed,
                Err(rejection) => {
                    drop(reader);
                    self.refused_on(spec, memory, &rejection, (commit, None), rules)?;
                    return Ok(Pursued::Refused);
                }
            };
            let facts = facts(spec, &prepared, sealed.document(), view, beside.reader, beside.known, now)?;
            let sealed = match decide(&facts) {
                Decision::Nothing => {
                    self.nothing(spec, memory, sealed.document(), commit);
                    return Ok(Pursued::Done);
                }
                Decision::Wait(reason) => {
                    self.waits(spec, memory, reason, sealed.document());
                    return Ok(Pursued::Waits);
                }
                Decision::Apply => sealed,
                Decision::Repair => {
                    let left = contested(reader.as_ref(), sealed.document())?;
                    if left.is_empty() {
                        sealed
                    } else {
                        self.contested(spec, &left, commit);
                        prepared.leave(left);
                        match prepared.plan(&self.context, reader.as_ref()) {
                            Ok(sealed) if is_pending(sealed.document()) => sealed,
                            Ok(_) => {
                                memory.fine();
                                return Ok(Pursued::Done);
                            }
                            Err(rejection) => {
                                drop(reader);
                                self.refused_on(spec, memory, &rejection, (commit, None), rules)?;
                                return Ok(Pursued::Refused);
                            }
                        }
                    }
                }
            };
            drop(reader);
            if facts.only_drift {
                self.tell_drift(spec, sealed.document(), "it is put back");
            }
            let plan = sealed.document().plan_id.clone();
            let line = self.applied_line(spec, sealed.document(), facts.is_new);
            let rejection = match self.apply(&prepared, sealed) {
                Ok(()) => {
                    memory.fine();
                    self.tell(&Event { at: self.now(), ..line });
                    return Ok(Pursued::Applied { after_others: stale });
                }
                Err(ApplyError::Interrupted) => return Ok(Pursued::Stopped),
                Err(ApplyError::Refused(refused)) if refused.stale => continue,
                Err(ApplyError::Target(TargetError::Precondition { .. })) => continue,
                Err(ApplyError::Refused(refused)) => refused.rejection,
                Err(ApplyError::Target(error)) => Rejection::of(target_fault(&error)),
            };
            self.refused_on(spec, memory, &rejection, (commit, Some(&plan)), rules)?;
            return Ok(Pursued::Refused);
        }
        Ok(Pursued::Stale)
    }

    fn apply(&self, prepared: &Prepared<'static>, plan: SealedPlan) -> Result<(), ApplyError> {
        let options = ApplyOptions {
            actor: self.actor.clone(),
            apply: (self.new_apply)(self.now()),
            lock_timeout: self.lock_timeout,
            allow_unmerged: true,
            while_paused: false,
            reason: None,
            single_use: false,
        };
        self.writing(|| {
            Transaction::begin_at_once(&self.context, prepared, plan, options)?.commit(&self.context)?;
            for read in prepared.reads() {
                // The apply is done; the mirror only keeps its commit from being collected.
                if let Err(error) = read.keep() {
                    self.tell(&self.line(Level::Warn, "mirror", read.spec, error.to_string()));
                }
            }
            Ok(())
        })
    }

    /// Brings back what is applied, while the newest commit is waited for, refused or out of reach.
    fn heal(
        &self,
        spec: &'static SourceSpec,
        record: &SourceRecord,
        view: &View,
        memory: &mut Memory,
        rules: &Digest,
    ) -> Result<Pursued, TargetError> {
        let applied = match self.applied(spec, record, &view.definitions) {
            Ok(applied) => applied,
            Err(rejection) => {
                let text =
                    format!("what is applied can't be read, so drift is not looked for: {}", rejection.first_text());
                self.tell(&self.line(Level::Error, "refused", spec, text).commit(Some(&record.commit)));
                return Ok(Pursued::Refused);
            }
        };
        // What is remembered is about the newest commit.
        let kept = (memory.record.refusal.clone(), memory.record.waiting.clone());
        let healed = self.pursue(spec, &applied, view, memory, (true, rules))?;
        if healed != Pursued::Refused || kept.0.is_some() {
            (memory.record.refusal, memory.record.waiting) = kept;
        }
        Ok(healed)
    }

    fn settled(
        &self,
        spec: &SourceSpec,
        view: &View,
        commit: Option<CommitId>,
        now: Moment,
        failed: bool,
    ) -> Option<Settled> {
        let others = if self.slot(&spec.name).needs_others { self.commits_of_others(&spec.name) } else { Vec::new() };
        let pin = view.controls.pinned(now).map(|pin| pin.commit.clone());
        let held = (view.controls.paused(now).is_some(), pin);
        Some(Settled { revision: view.revision.clone()?, commit, held, others, failed })
    }

    fn settled_after(
        &self,
        spec: &SourceSpec,
        view: &View,
        commit: Option<CommitId>,
        now: Moment,
        failed: bool,
    ) -> Result<Option<Settled>, TargetError> {
        let settled = self.settled(spec, view, commit, now, failed);
        let revision = self.context.target.reader()?.revision()?;
        // Somebody wrote while it was planned: only what this tick noted itself is known.
        Ok(settled.filter(|settled| revision.as_ref() == Some(&settled.revision)))
    }

    /// What a refused plan was made on.
    fn on(&self, spec: &SourceSpec, rules: &Digest, reader: &dyn Reader) -> Result<Digest, TargetError> {
        let others: Vec<String> =
            self.commits_of_others(&spec.name).into_iter().map(|(name, commit)| format!("{name}={commit:?}")).collect();
        // What a target can't say of itself is looked at again after a while.
        let revision = reader.revision()?.unwrap_or_else(|| (self.now().as_millis() / LOOK_AGAIN).to_string());
        Ok(digest::of_value(&json!([rules.as_str(), revision, others])))
    }

    fn refused_on(
        &self,
        spec: &'static SourceSpec,
        memory: &mut Memory,
        rejection: &Rejection,
        (commit, plan): (&CommitId, Option<&PlanId>),
        rules: &Digest,
    ) -> Result<(), TargetError> {
        self.refused(spec, memory, rejection, (Some(commit), plan), None)?;
        // The note in the operation log is a write too.
        let on = self.on(spec, rules, self.context.target.reader()?.as_ref())?;
        if let Some(refusal) = &mut memory.record.refusal {
            refusal.on = Some(on);
        }
        Ok(())
    }

    fn refused(
        &self,
        spec: &'static SourceSpec,
        memory: &mut Memory,
        rejection: &Rejection,
        (commit, plan): (Option<&CommitId>, Option<&PlanId>),
        on: Option<&Digest>,
    ) -> Result<(), TargetError> {
        let now = self.now();
        let news = memory.refused(rejection, commit, plan, on, spec.interval, now);
        let event = if commit.is_some() { "refused" } else { "unreachable" };
        let level = if news || !self.slot(&spec.name).told { Level::Error } else { Level::Debug };
        self.update(&spec.name, |slot| slot.told = true);
        let rule = rejection.faults().next().map_or("refused", |fault| fault.rule.as_str());
        let line = self.line(level, event, spec, format!("{rule}: {}", rejection.in_a_line()));
        let refusal = memory.record.refusal.as_ref();
        let next = refusal.and_then(|refusal| refusal.next_try).map(Moment::rfc3339);
        let line = line.commit(commit).plan(plan).with("rule", json!(rule)).with("nextTry", json!(next));
        self.tell(&line.with("class", json!(super::memory::class_of(rejection).as_str())));
        let (true, Some(commit)) = (news, commit) else { return Ok(()) };
        let each = rejection.refusals().iter().take(NOTED).map(|refusal| &refusal.fault);
        let each =
            each.map(|fault| json!({"rule": fault.rule.as_str(), "text": fault.text, "class": fault.class.as_str()}));
        let entry = HistoryEntry {
            id: (self.new_apply)(now).to_string(),
            at: now,
            actor: self.actor.clone(),
            claimed: false,
            operation: "refused".to_owned(),
            sources: vec![spec.name.to_string()],
            commits: vec![commit.to_string()],
            plan: plan.cloned(),
            result: rule.to_owned(),
            objects: Vec::new(),
        };
        let details = json!({"refusals": each.collect::<Vec<_>>()});
        tell_refused(&self.context, &entry, rejection);
        self.context.target.note(entry, details)
    }

    fn still_refused(&self, spec: &SourceSpec, memory: &Memory, commit: &CommitId) {
        let text = memory.record.refusal.as_ref().map_or_else(String::new, |r| format!("{}: {}", r.rule, r.text));
        let level = if self.slot(&spec.name).told { Level::Debug } else { Level::Error };
        self.update(&spec.name, |slot| slot.told = true);
        self.tell(&self.line(level, "refused", spec, format!("still {text}")).commit(Some(commit)));
    }

    /// There is nothing to do but what is left alone.
    fn nothing(&self, spec: &SourceSpec, memory: &mut Memory, plan: &PlanDocument, commit: &CommitId) {
        let of_changes = plan.changes.iter().flat_map(|change| &change.warnings);
        let pending = plan.warnings.iter().chain(of_changes).filter(|w| w.rule == "emergency-pending").count();
        if pending == 0 {
            let text = "everything is as the commit declares it".to_owned();
            self.tell(&self.line(Level::Debug, "unchanged", spec, text).commit(Some(commit)));
            return memory.fine();
        }
        let news = memory.waits("emergency", commit, Some(&plan.plan_id), self.now());
        let text = format!(
            "{pending} fields or objects were changed by hand in a pause: they are left alone until they are in git, or given \
             up with holdfast source resume {} --revert",
            spec.name
        );
        let line = self.line(if news { Level::Warn } else { Level::Debug }, "drift", spec, text).commit(Some(commit));
        self.tell(&line.with("reason", json!("emergency")).with("pending", json!(pending)));
    }

    fn waits(&self, spec: &SourceSpec, memory: &mut Memory, reason: &str, plan: &PlanDocument) {
        let commit = plan.sources.iter().find(|s| s.name == spec.name).map(|s| s.commit.clone());
        let Some(commit) = commit else { return };
        let news = memory.waits(reason, &commit, Some(&plan.plan_id), self.now());
        let pending = plan.changes.iter().filter(|change| change.action.is_pending()).count();
        let text = match reason {
            "paused" => format!("paused: {pending} objects differ, nothing is applied"),
            "drift" => format!("{pending} objects drifted; the Source's drift is warn"),
            "rewind" => {
                "the commit doesn't descend from the applied one: a person applies it, or allowRewind".to_owned()
            }
            "unmerged" => "the commit is not on the Source's ref: a person applies it".to_owned(),
            "reviewed" => format!(
                "a plan of {pending} changes waits for a person: holdfast apply {} --expect {}",
                spec.name, plan.content_id
            ),
            _ => format!("{pending} changes wait: the Source's apply is {reason}"),
        };
        let event = if reason == "drift" || (reason == "paused" && pending > 0) { "drift" } else { "waiting" };
        if news && reason == "drift" {
            self.tell_drift(spec, plan, "it is left as it is");
        }
        let level = if news { Level::Warn } else { Level::Debug };
        let line = self.line(level, event, spec, text).commit(Some(&commit)).plan(Some(&plan.plan_id));
        self.tell(&line.with("reason", json!(reason)).with("pending", json!(pending)));
    }

    fn contested(
        &self,
        spec: &SourceSpec,
        left: &std::collections::BTreeMap<crate::base::resource::ResourceId, crate::inventory::Emergency>,
        commit: &CommitId,
    ) {
        for (id, emergency) in left {
            for change in emergency.fields.iter().chain(&emergency.deleted) {
                let text =
                    format!("{} of {id} is left alone: contested by {} since {}", change.path, change.actor, change.at);
                self.tell(&self.line(Level::Warn, "contested", spec, text).commit(Some(commit)));
            }
        }
    }

    fn applied_line(&self, spec: &SourceSpec, plan: &PlanDocument, is_new: bool) -> Event {
        let commit = plan.sources.iter().find(|source| source.name == spec.name).map(|source| &source.commit);
        let s = &plan.summary;
        let counts = [
            (s.create, "created"),
            (s.update, "updated"),
            (s.own, "owned"),
            (s.replace, "replaced"),
            (s.adopt, "adopted"),
            (s.transfer, "transferred"),
            (s.delete, "deleted"),
            (s.release, "released"),
            (s.keep, "kept"),
            (s.unchanged, "unchanged"),
        ];
        let counts: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let text = if counts.is_empty() { "nothing to change".to_owned() } else { counts.join(", ") };
        let others: Vec<&str> =
            plan.sources.iter().map(|source| source.name.as_str()).filter(|name| *name != spec.name.as_str()).collect();
        let event = if is_new { "applied" } else { "repaired" };
        let mut line = self.line(Level::Info, event, spec, text).commit(commit).plan(Some(&plan.plan_id));
        if !others.is_empty() {
            line = line.with("together", json!(others));
        }
        line
    }
}

pub(super) fn ticked(failed: bool, after_others: bool, again: Option<Moment>) -> Ticked {
    let outcome = match (failed, again) {
        (_, Some(at)) => Outcome::Again(at),
        (true, None) => Outcome::Failed,
        (false, None) => Outcome::Fine,
    };
    Ticked { outcome, failed, after_others, applied: false, on_target: false }
}

/// The rules that a commit is judged by, before anything is asked of live objects.
fn rules(spec: &SourceSpec, definitions: &Definitions) -> Digest {
    let served: Vec<(&str, &str)> =
        definitions.iter().map(|d| (d.head.id.name.as_str(), d.head.version.as_str())).collect();
    digest::of_value(&json!([spec.digest().as_str(), served, definitions.catalog().base(), env!("CARGO_PKG_VERSION")]))
}

fn is_pending(plan: &PlanDocument) -> bool {
    plan.changes.iter().any(|change| change.action.is_pending())
}

fn facts(
    spec: &SourceSpec,
    prepared: &Prepared<'static>,
    plan: &PlanDocument,
    view: &View,
    reader: &dyn Reader,
    known: &[SourceRecord],
    now: Moment,
) -> Result<Facts, TargetError> {
    let ids: Vec<SourceId> = prepared.reads().map(|read| source_id(&view.identity, &read.spec.name, known)).collect();
    let is_new = prepared.reads().zip(&ids).any(|(read, id)| {
        let record = known.iter().find(|record| record.id == *id);
        record.is_none_or(|record| record.commit != read.commit || record.spec != read.spec.digest())
    });
    let pending = is_pending(plan);
    // It is asked only of a plan that brings nothing new and yet would change something.
    let only_drift = !is_new && pending && is_drift(plan, &ids, reader)?;
    let pinned = view.controls.pinned(now).is_some();
    Ok(Facts {
        apply: spec.apply,
        drift: spec.drift,
        may_rewind: spec.allow_rewind || pinned,
        paused: view.controls.paused(now).is_some(),
        is_new,
        rewind: plan.sources.iter().any(|source| source.rewind),
        preview: plan.sources.iter().any(|source| source.preview),
        pending,
        only_drift,
    })
}

/// Whether all that a plan would change is what others did to objects that these Sources own.
fn is_drift(plan: &PlanDocument, sources: &[SourceId], reader: &dyn Reader) -> Result<bool, TargetError> {
    let owned: Vec<_> = sources.iter().map(|id| reader.inventory(id)).collect::<Result<_, _>>()?;
    let is_owned = |id| owned.iter().any(|inventory| inventory.rows.contains_key(id));
    let mut pending = plan.changes.iter().filter(|change| change.action.is_pending());
    Ok(pending.all(|change| matches!(change.action, Action::Create | Action::Update) && is_owned(&change.id)))
}
