//! `crash`: `kill -9` in the middle of an apply.

use std::time::Duration;

use super::{Course, apply, live, plan};
use crate::command::Output;
use crate::failpoints;
use crate::random::Random;
use crate::steps::{Crash, State};
use crate::verdict::{Done, Stop};
use crate::world::{Config, Saved, World, strings};

/// How many random moments the bank asks for at least.
const MOMENTS: u32 = 20;
/// How many changes of the store's files are tried: the moments that a random one seldom meets.
const CHANGES: u32 = 8;

/// When an apply is cut off.
enum Cut {
    /// At a named sync point, at its n-th passing.
    At(String),
    /// After a time.
    After(Duration),
    /// When the store's files have changed so many times.
    Change(u32),
}

/// The `crash` action: each cut on a fresh target, brought there by the steps before.
pub(super) fn perform(world: &mut World<'_>, course: &mut Course<'_>, step: &Crash, index: usize) -> Done {
    let whole = uncut(world, step)?;
    let most = u32::try_from(world.lab.most).unwrap_or(u32::MAX);
    let mut passed = 0;
    for name in failpoints::names(world.lab)? {
        for nth in 1..=failpoints::MOST_PASSINGS.min(most) {
            let point = failpoints::at(&name, nth);
            let crashed = one(world, course, step, index, &Cut::At(point))?;
            if !crashed {
                break;
            }
            passed += 1;
        }
    }
    let mut random = Random::new(world.lab.seed);
    let moments = MOMENTS.min(most);
    for _ in 0..moments {
        let moment = whole.mul_f64(random.fraction());
        one(world, course, step, index, &Cut::After(moment))?;
    }
    let mut changes = 0;
    for nth in 1..=CHANGES {
        if !one(world, course, step, index, &Cut::Change(nth))? {
            break;
        }
        changes += 1;
    }
    course.notes.push(format!(
        "killed at {passed} sync points, {changes} changes of the store, {moments} random moments of {} ms, seed {}",
        whole.as_millis(),
        world.lab.seed
    ));
    Ok(())
}

/// How long the apply takes if nobody kills it. It is done on the course's own target, which is not used again.
fn uncut(world: &mut World<'_>, step: &Crash) -> Done<Duration> {
    let saved = saved(world, step)?;
    world.configure(Config { target: saved.target.as_deref(), ..Config::default() })?;
    let output = apply::run(world, &saved, &saved.file, false)?;
    if output.code == Some(0) {
        Ok(output.took)
    } else {
        Err(Stop::Failed(format!("{}: {}", output.line, output.brief())))
    }
}

fn saved(world: &World<'_>, step: &Crash) -> Done<Saved> {
    world.plans.get(&step.plan).cloned().ok_or_else(|| Stop::Failed(format!("no plan {} was saved", step.plan)))
}

/// One cut; tells whether the apply was killed before its end.
fn one(world: &World<'_>, course: &mut Course<'_>, step: &Crash, index: usize, cut: &Cut) -> Done<bool> {
    let mut fresh = World::fresh(world.lab, world.case, world.case_path, course.templates)?;
    course.perform(&mut fresh, index)?;
    let saved = saved(&fresh, step)?;
    fresh.configure(Config { target: saved.target.as_deref(), ..Config::default() })?;
    *fresh.seen.borrow_mut() = None;
    let args = apply::arguments(&saved, &saved.file, false);
    let (name, output) = match cut {
        Cut::At(point) => {
            let env = failpoints::environment(point);
            (format!("at {point}"), fresh.prepared(&args, &[env]).start()?.finish()?)
        }
        Cut::After(moment) => {
            let output = fresh.prepared(&args, &[]).start()?.kill_when(|since| since >= *moment)?;
            (format!("after {} µs", moment.as_micros()), output)
        }
        Cut::Change(nth) => {
            let (mut seen, mut count) = (fresh.store_state(), 0);
            let changed = |_| {
                let state = fresh.store_state();
                if state != seen {
                    seen = state;
                    count += 1;
                }
                count >= *nth
            };
            (format!("at change {nth} of the store"), fresh.prepared(&args, &[]).start()?.kill_when(changed)?)
        }
    };
    let crashed = output.code.is_none();
    judge(&fresh, course, step, &saved, &output).map_err(|stop| match stop {
        Stop::Failed(why) => Stop::Failed(format!("killed {name}: {why}")),
        other => other,
    })?;
    Ok(crashed)
}

fn judge(world: &World<'_>, course: &mut Course<'_>, step: &Crash, saved: &Saved, output: &Output) -> Done {
    world.heard(output)?;
    if !matches!(output.code, None | Some(0)) {
        return Err(Stop::Failed(output.brief()));
    }
    for _ in 0..2 {
        if !world.lab.has(&["recover"])? {
            // The embedded target has nothing half done; the state is judged all the same.
            course.missing.push("recover".to_owned());
            break;
        }
        let recover = world.holdfast(&strings(&["recover"]))?;
        if recover.code != Some(0) {
            return Err(Stop::Failed(format!("{}: {}", recover.line, recover.brief())));
        }
    }
    let mut closest: Option<Vec<String>> = None;
    for state in &step.states {
        let problems = differing(world, state, saved)?;
        if problems.is_empty() {
            return plans_again(world, saved);
        }
        if closest.as_ref().is_none_or(|least| problems.len() < least.len()) {
            closest = Some(problems);
        }
    }
    Err(Stop::Failed(format!("none of the states: {}", closest.unwrap_or_default().join("; "))))
}

fn differing(world: &World<'_>, state: &State, saved: &Saved) -> Done<Vec<String>> {
    let mut problems = live::compare(world, &state.live)?;
    problems.extend(apply::last_applied(world, &saved.sources, &state.last_applied)?);
    Ok(problems)
}

/// Planning works after the crash, with no lock that needs a human.
fn plans_again(world: &World<'_>, saved: &Saved) -> Done {
    let asked = plan::Asked {
        sources: &saved.sources,
        allow: &[],
        adopt: &[],
        allow_deletes: None,
        with: None,
        target: saved.target.as_deref(),
    };
    let (output, _) = plan::run(world, &asked)?;
    if output.code == Some(0) { Ok(()) } else { Err(Stop::Failed(format!("{}: {}", output.line, output.brief()))) }
}
