//! Plays a history: each step on the engine and on the model, and compares.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use holdfast::base::ids::{PlanId, SourceId};
use holdfast::plan::document::PlanDocument;

use super::check::{self, Uids};
use super::engine::{Dump, End, Engine, Refusal};
use super::reference::{Outcome, World};
use super::step::{Data, Given, Res, Side, Step, Who};

/// A plan that was kept, and what the world was like then.
struct Saved {
    who: Who,
    given: Given,
    plan: PlanDocument,
    outcome: Outcome,
    declared: BTreeMap<Side, BTreeMap<Res, Data>>,
    /// Whether nothing happened since.
    fresh: bool,
}

struct Play {
    engine: Engine,
    world: World,
    uids: Uids,
    ids: BTreeMap<Side, SourceId>,
    saved: BTreeMap<u8, Saved>,
    /// Plans that were applied: a kept one of the same name is refused, though nothing moved.
    applied: BTreeSet<PlanId>,
    last: Dump,
}

/// A promise that a history broke.
#[derive(Debug)]
pub struct Broken {
    /// The number of the step, from 1.
    pub at: usize,
    step: Step,
    why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}: {}", self.at, self.step, self.why)
    }
}

/// Plays a history on a new world.
///
/// # Errors
/// The first step after which something isn't as it must be, and what.
pub fn play(steps: &[Step]) -> Result<(), Broken> {
    let engine = Engine::new();
    let ids = Side::BOTH.into_iter().map(|side| (side, engine.source_id(side))).collect();
    let last = engine.dump();
    let mut play = Play {
        engine,
        world: World::new(),
        uids: Uids::default(),
        ids,
        saved: BTreeMap::new(),
        applied: BTreeSet::new(),
        last,
    };
    for (at, step) in steps.iter().enumerate() {
        play.step(step).map_err(|why| Broken { at: at + 1, step: step.clone(), why })?;
    }
    Ok(())
}

impl Play {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let moves = !matches!(step, Step::Save(..) | Step::ApplySaved(_) | Step::Cut(..));
        if moves {
            self.saved.values_mut().for_each(|saved| saved.fresh = false);
        }
        match step {
            Step::Declare(side, res, data) => {
                let mut next = self.world.sources[side].declared().clone();
                next.insert(*res, data.clone());
                self.commit(*side, next);
            }
            Step::Withdraw(side, res) => {
                let mut next = self.world.sources[side].declared().clone();
                if next.remove(res).is_some() {
                    self.commit(*side, next);
                }
            }
            Step::Rewind(side) => {
                let branch = &mut self.world.sources.get_mut(side).unwrap().branch;
                if branch.len() > 1 {
                    branch.pop();
                    self.engine.rewind(*side);
                }
            }
            Step::Prune(side, on) => {
                self.world.sources.get_mut(side).unwrap().prune = *on;
                let prune = self.world.sources.iter().map(|(side, source)| (*side, source.prune)).collect();
                self.engine.configure(&prune);
            }
            Step::Apply(who, given) => self.apply(*who, *given, End::Commit)?,
            Step::Cut(who, given) => self.apply(*who, *given, End::Cut)?,
            Step::Save(slot, who, given) => self.save(*slot, *who, *given)?,
            Step::ApplySaved(slot) => self.apply_saved(*slot)?,
            Step::Kill(who, at) => self.kill(*who, at)?,
            Step::Put(hand, res, key, value, mark) => {
                self.engine.put(*hand, *res, *key, *value, *mark);
                self.world.put(*hand, *res, *key, *value, *mark);
            }
            Step::Delete(hand, res) => {
                if self.world.live.contains_key(res) {
                    self.world.delete(*res);
                    self.engine.delete(*hand, *res);
                }
            }
            Step::Remake(hand, res) => {
                if self.world.live.contains_key(res) {
                    self.engine.remake(*hand, *res);
                    self.world.remake(*hand, *res);
                }
            }
            Step::Pause(side) => {
                self.engine.pause(*side);
                self.world.sources.get_mut(side).unwrap().paused = true;
            }
            Step::Resume(side, revert) => {
                self.engine.resume(*side, *revert);
                self.world.resume(*side, *revert);
            }
        }
        let dump = self.engine.dump();
        check::same(&self.world, &dump, &mut self.uids, &self.ids)?;
        self.last = dump;
        Ok(())
    }

    fn commit(&mut self, side: Side, declared: BTreeMap<Res, Data>) {
        self.engine.commit(side, &declared);
        self.world.sources.get_mut(&side).unwrap().branch.push(declared);
    }

    /// Nothing at all may be different: no value, no version, no row.
    fn nothing_changed(&self) -> Result<(), String> {
        if self.engine.dump() == self.last { Ok(()) } else { Err("it was refused, and something changed".to_owned()) }
    }

    fn apply(&mut self, who: Who, given: Given, end: End) -> Result<(), String> {
        let expected = self.world.applied(who, given);
        match self.engine.apply(who, given, None, end) {
            Err(refusal) => {
                check::refusal(&refusal, &expected)?;
                return self.nothing_changed();
            }
            Ok(plan) => {
                check::plan(who, &plan, &expected)?;
                if end == End::Cut {
                    return self.nothing_changed();
                }
                self.applied.insert(plan.plan_id);
            }
        }
        if let Outcome::Planned(acts) = &expected {
            self.world.apply(acts);
        }
        self.saved.values_mut().for_each(|saved| saved.fresh = false);
        self.is_done(who, given)
    }

    /// After an apply there is nothing to do.
    fn is_done(&mut self, who: Who, given: Given) -> Result<(), String> {
        let again = self.engine.plan(who, given, None, |context, prepared| self.engine.planned(context, prepared));
        match again {
            // What is left may need a permission once more, such as a Source that now declares nothing.
            Err(refusal) => check::refusal(&refusal, &self.world.plan(who, given)),
            Ok(plan) => {
                check::plan(who, &plan, &self.world.plan(who, given))?;
                let pending = plan.changes.iter().find(|c| c.action.is_pending() || c.action.as_str() == "own");
                pending.map_or(Ok(()), |change| {
                    Err(format!("after the apply there is still to do: {} {}", change.action.as_str(), change.id))
                })
            }
        }
    }

    fn save(&mut self, slot: u8, who: Who, given: Given) -> Result<(), String> {
        let outcome = self.world.plan(who, given);
        match self.engine.plan(who, given, None, |context, prepared| self.engine.planned(context, prepared)) {
            Err(refusal) => check::refusal(&refusal, &outcome)?,
            Ok(plan) => {
                check::plan(who, &plan, &outcome)?;
                let declared =
                    who.sides().into_iter().map(|s| (s, self.world.sources[&s].declared().clone())).collect();
                self.saved.insert(slot, Saved { who, given, plan, outcome, declared, fresh: true });
            }
        }
        self.nothing_changed()
    }

    fn apply_saved(&mut self, slot: u8) -> Result<(), String> {
        let Some(saved) = self.saved.get_mut(&slot) else { return Ok(()) };
        let fresh = std::mem::take(&mut saved.fresh);
        let saved = &self.saved[&slot];
        match self.engine.apply(saved.who, saved.given, Some(&saved.plan), End::Commit) {
            Err(Refusal::Failed(why)) => return Err(format!("it failed: {why}")),
            Err(Refusal::Rejected(rejection)) => {
                let single_use = self.applied.contains(&saved.plan.plan_id);
                if fresh && !single_use && !self.world.is_paused(saved.who) {
                    return Err(format!("nothing happened since, and it is refused: {}", check::texts(&rejection)));
                }
                return self.nothing_changed();
            }
            Ok(plan) => self.applied.insert(plan.plan_id),
        };
        // What was reviewed is what was applied: at its commit, and to the same Changes.
        let mut then = self.world.clone();
        for (side, declared) in &saved.declared {
            then.sources.get_mut(side).unwrap().branch.push(declared.clone());
        }
        let now = then.plan(saved.who, saved.given);
        if now != saved.outcome {
            return Err(format!("a stale plan was applied: reviewed was {:?}, and it came to {now:?}", saved.outcome));
        }
        if self.world.is_paused(saved.who) {
            return Err("a paused Source was applied".to_owned());
        }
        if let Outcome::Planned(acts) = &now {
            then.apply(acts);
        }
        for (side, source) in &mut then.sources {
            source.branch.clone_from(&self.world.sources[side].branch);
        }
        self.world = then;
        self.saved.values_mut().for_each(|saved| saved.fresh = false);
        Ok(())
    }

    /// A process that dies leaves all old or all new.
    fn kill(&mut self, who: Who, at: &str) -> Result<(), String> {
        let expected = self.world.applied(who, Given::default());
        self.engine.kill(who, at);
        let Outcome::Planned(acts) = expected else { return self.nothing_changed() };
        let mut after = self.world.clone();
        after.apply(&acts);
        let dump = self.engine.dump();
        let mut uids = self.uids.clone();
        let new = check::same(&after, &dump, &mut uids, &self.ids);
        if at == "after-commit" || dump != self.last {
            new.map_err(|why| format!("it is neither all old nor all new: {why}"))?;
            self.world = after;
            self.uids = uids;
        }
        Ok(())
    }
}
