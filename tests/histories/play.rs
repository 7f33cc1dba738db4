//! Plays a history: each step on the engine and on the model, and compares.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use holdfast::base::ids::PlanId;
use holdfast::plan::document::{Action, ChangeEntry, PlanDocument};

use super::check::{self, Known};
use super::engine::{Applied, Dump, End, Engine, Refusal};
use super::reference::{Act, Commit, Outcome, World};
use super::step::{Given, Job, Res, Side, Step, Tree};
use super::tally;

/// A plan that was kept, and what the world was like then.
struct Saved {
    job: Job,
    given: Given,
    plan: PlanDocument,
    outcome: Outcome,
    commits: BTreeMap<Side, Commit>,
    /// Whether nothing happened since.
    fresh: bool,
}

struct Play {
    engine: Engine,
    world: World,
    known: Known,
    saved: BTreeMap<u8, Saved>,
    /// Plans that were applied: a kept one of the same name is refused, though nothing moved.
    applied: BTreeSet<PlanId>,
    last: Rc<Dump>,
    /// Sources of which the loop may remember a refusal.
    refused: BTreeSet<Side>,
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
    let last = engine.dump();
    let mut play = Play {
        engine,
        world: World::new(),
        known: Known::default(),
        saved: BTreeMap::new(),
        applied: BTreeSet::new(),
        last,
        refused: BTreeSet::new(),
    };
    for (at, step) in steps.iter().enumerate() {
        play.step(step).map_err(|why| Broken { at: at + 1, step: step.clone(), why })?;
    }
    Ok(())
}

impl Play {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.world.now += 1;
        self.engine.at(self.world.now);
        if !matches!(step, Step::Save(..) | Step::ApplySaved(_) | Step::Cut(..)) {
            self.something_moves();
        }
        match step {
            Step::Declare(side, res, manifest) => {
                let mut next = self.world.sources[side].newest().tree.clone();
                next.insert(*res, manifest.clone());
                self.commit(*side, next);
            }
            Step::Withdraw(side, res) => {
                let mut next = self.world.sources[side].newest().tree.clone();
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
                self.configure();
            }
            Step::Apply(job, given) => self.apply(*job, *given, End::Commit)?,
            Step::Cut(job, given) => self.apply(*job, *given, End::Cut)?,
            Step::Save(slot, job, given) => self.save(*slot, *job, *given)?,
            Step::ApplySaved(slot) => self.apply_saved(*slot)?,
            Step::Kill(job, at) => self.kill(*job, at)?,
            Step::Put(hand, res, key, value, mark) => {
                self.engine.put(&self.last, *hand, (*res, *key), *value, *mark);
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
                    self.engine.remake(&self.last, *hand, *res);
                    self.world.remake(*hand, *res);
                }
            }
            Step::Pause(side, seconds) => {
                self.engine.pause(*side, *seconds);
                self.world.pause(*side, *seconds);
            }
            Step::Resume(side, revert) => {
                self.engine.resume(*side, *revert);
                self.world.resume(*side, *revert);
            }
            Step::Pin(side, back, seconds) => {
                if let Some(commit) = self.world.pin(*side, *back, *seconds) {
                    self.engine.pin(*side, commit, *seconds);
                }
            }
            Step::Unpin(side) => {
                self.world.sources.get_mut(side).unwrap().pin = None;
                self.engine.unpin(*side);
            }
            Step::Rename(side) => self.rename(*side)?,
            Step::Tick(side) => self.tick(*side)?,
            Step::Wait(seconds) => self.world.now += i64::from(*seconds),
        }
        // Where Holdfast and the store had no part in it there is nothing new to read.
        let aside =
            matches!(step, Step::Declare(..) | Step::Withdraw(..) | Step::Rewind(_) | Step::Prune(..) | Step::Wait(_));
        if !aside {
            let dump = self.engine.dump();
            self.known.same(&self.world, &dump, &self.engine)?;
            // What a process applied counts, too.
            self.applied.extend(dump.sources.iter().map(|(record, _)| record.plan.clone()));
            self.last = dump;
        }
        Ok(())
    }

    fn something_moves(&mut self) {
        self.saved.values_mut().for_each(|saved| saved.fresh = false);
    }

    fn configure(&mut self) {
        let sources = self.world.sources.iter().map(|(side, source)| (*side, (source.name, source.prune))).collect();
        self.engine.configure(&sources);
    }

    fn commit(&mut self, side: Side, tree: Tree) {
        self.engine.commit(side, &tree);
        self.world.commit(side, tree);
    }

    /// Nothing at all may be different: no value, no version, no row.
    fn nothing_changed(&self) -> Result<(), String> {
        let dump = self.engine.dump();
        if Rc::ptr_eq(&dump, &self.last) || dump == self.last {
            Ok(())
        } else {
            Err("it was refused, and something changed".to_owned())
        }
    }

    fn rename(&mut self, side: Side) -> Result<(), String> {
        let name = self.world.sources[&side].name;
        let renamed = self.engine.rename(name, name.next());
        match (renamed, self.world.rename(side)) {
            (Ok(()), true) => {
                tally::count("renamed");
                self.configure();
            }
            (Err(Refusal::Rejected(_)), false) => {}
            (Err(Refusal::Failed(why)), _) => return Err(format!("it failed: {why}")),
            (outcome, known) => return Err(format!("{outcome:?}, and that the target knows it is {known}")),
        }
        // A rename writes no object.
        if self.engine.dump().objects == self.last.objects { Ok(()) } else { Err("a rename wrote objects".to_owned()) }
    }

    fn apply(&mut self, job: Job, given: Given, end: End) -> Result<(), String> {
        let expected = self.world.applied(job, given);
        let commits = self.world.commits_of(job).unwrap_or_default();
        let Applied { plan, again } = match self.engine.apply(job, given, None, end) {
            Err(refusal) => {
                check::refusal(&refusal, &expected)?;
                tally::count(format!("refused {:?}", job.what));
                check::rules(&refusal).into_iter().for_each(|rule| tally::count(format!("refused by {rule}")));
                return self.nothing_changed();
            }
            Ok(applied) => applied,
        };
        check::plan(job, &plan, &expected)?;
        check::order(&plan, &self.world, &commits)?;
        let Some(again) = again else { return self.nothing_changed() };
        self.applied.insert(plan.plan_id);
        tally::count(format!("applied {:?}", job.what));
        if let Outcome::Planned(acts) = &expected {
            acts.values().for_each(|act| tally::count(format!("{:?} by {:?}", act, job.what)));
            self.world.apply(job, &commits, acts);
        }
        self.something_moves();
        let let_go = match expected {
            Outcome::Planned(acts) => {
                acts.into_iter().filter(|(_, act)| *act == Act::Release).map(|((_, res), _)| res).collect()
            }
            Outcome::Refused(_) => BTreeSet::new(),
        };
        self.is_done(job, given, again, &let_go)
    }

    /// After an apply there is nothing to do, but that what was let go may be adopted: both permissions were given.
    fn is_done(
        &self,
        job: Job,
        given: Given,
        again: Result<PlanDocument, Refusal>,
        let_go: &BTreeSet<Res>,
    ) -> Result<(), String> {
        // Of a Source that is removed there is nothing to plan.
        let expected = self.world.plan(job, given);
        match again {
            // What is left may need a permission once more, such as a Source that now declares nothing.
            Err(refusal) => check::refusal(&refusal, &expected),
            Ok(plan) => {
                check::plan(job, &plan, &expected)?;
                let adopted = |change: &ChangeEntry| {
                    change.action == Action::Adopt && check::res_of(&change.id).is_some_and(|res| let_go.contains(&res))
                };
                let left = |change: &&ChangeEntry| change.action.is_pending() || change.action == Action::Own;
                match plan.changes.iter().find(|change| left(change) && !adopted(change)) {
                    None => Ok(()),
                    Some(change) => {
                        Err(format!("after the apply there is still to do: {} {}", change.action.as_str(), change.id))
                    }
                }
            }
        }
    }

    fn save(&mut self, slot: u8, job: Job, given: Given) -> Result<(), String> {
        let outcome = self.world.plan(job, given);
        match self.engine.plan(job, given) {
            Err(refusal) => check::refusal(&refusal, &outcome)?,
            Ok(plan) => {
                check::plan(job, &plan, &outcome)?;
                let commits = self.world.commits_of(job).unwrap_or_default();
                check::order(&plan, &self.world, &commits)?;
                self.saved.insert(slot, Saved { job, given, plan, outcome, commits, fresh: true });
            }
        }
        self.nothing_changed()
    }

    fn apply_saved(&mut self, slot: u8) -> Result<(), String> {
        let Some(saved) = self.saved.get_mut(&slot) else { return Ok(()) };
        let fresh = std::mem::take(&mut saved.fresh);
        let Saved { job, given, plan, outcome, commits, .. } = &self.saved[&slot];
        let (job, given) = (*job, *given);
        let held = match outcome {
            Outcome::Planned(acts) => self.world.is_held(job, true, commits, acts),
            Outcome::Refused(_) => return Err("a refused plan was kept".to_owned()),
        };
        match self.engine.apply(job, given, Some(plan), End::Commit) {
            Err(Refusal::Failed(why)) => return Err(format!("it failed: {why}")),
            Err(Refusal::Asked(_)) if !fresh => return self.nothing_changed(),
            Err(Refusal::Asked(why)) => return Err(format!("nothing happened since, and it is refused: {why}")),
            Err(Refusal::Rejected(rejection)) => {
                let single_use = self.applied.contains(&plan.plan_id);
                tally::count("a kept plan was refused");
                if fresh && !single_use && !held {
                    return Err(format!("nothing happened since, and it is refused: {}", check::texts(&rejection)));
                }
                return self.nothing_changed();
            }
            Ok(applied) => self.applied.insert(applied.plan.plan_id),
        };
        // What was reviewed is what was applied: at its commit, and to the same Changes.
        let now = self.world.plan_of(job, given, commits);
        if now != *outcome {
            return Err(format!("a stale plan was applied: reviewed was {outcome:?}, and it came to {now:?}"));
        }
        if held {
            return Err("a Source that is held was applied".to_owned());
        }
        tally::count("a kept plan was applied");
        if let Outcome::Planned(acts) = &now {
            let commits = commits.clone();
            self.world.apply(job, &commits, acts);
        }
        self.something_moves();
        Ok(())
    }

    /// A process that dies leaves all old or all new.
    fn kill(&mut self, job: Job, at: &str) -> Result<(), String> {
        // By its clock every pause and pin with an end has ended.
        let now = std::mem::replace(&mut self.world.now, i64::MAX);
        let expected = self.world.applied(job, Given::default());
        let commits = self.world.commits_of(job).unwrap_or_default();
        self.world.now = now;
        self.engine.kill(job, at);
        let Outcome::Planned(acts) = expected else { return self.nothing_changed() };
        let mut after = World { now: i64::MAX, ..self.world.clone() };
        after.apply(job, &commits, &acts);
        after.now = now;
        let dump = self.engine.dump();
        let mut known = self.known.clone();
        let new = known.same(&after, &dump, &self.engine);
        tally::count(if dump == self.last { "killed: all old" } else { "killed: all new" });
        if at == "after-commit" || dump != self.last {
            new.map_err(|why| format!("it is neither all old nor all new: {why}"))?;
            self.world = after;
            self.known = known;
        }
        Ok(())
    }

    /// The loop does what is to be done, or leaves everything as it is where it was refused before.
    fn tick(&mut self, side: Side) -> Result<(), String> {
        let now = self.world.now;
        let mut after = World { now: i64::MAX, ..self.world.clone() };
        let refused = after.tick(side);
        after.now = now;
        self.engine.tick(side);
        let dump = self.engine.dump();
        let mut known = self.known.clone();
        match known.same(&after, &dump, &self.engine) {
            Ok(()) => {
                tally::count(if after == self.world { "looked at: nothing to do" } else { "looked at: applied" });
                (self.world, self.known) = (after, known);
            }
            // What was refused is not tried again at once.
            Err(_) if self.refused.contains(&side) => return self.nothing_changed(),
            Err(why) => return Err(format!("the loop did something else: {why}")),
        }
        if refused {
            self.refused.insert(side);
        } else {
            self.refused.remove(&side);
        }
        Ok(())
    }
}
