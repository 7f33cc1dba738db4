//! `drift`, `auto-revert`, `rename-source` and `remove-source`.

use super::{apply, live, plan};
use crate::judge;
use crate::reading;
use crate::steps::{AutoRevert, Drift, RemoveOutcome, RemoveSource, RenameSource};
use crate::verdict::{Done, Stop, none_of};
use crate::world::{Config, World, strings};

/// The `drift` action.
pub(super) fn drift(world: &World<'_>, step: &Drift) -> Done {
    world.lab.need(&["drift"])?;
    world.configure(Config::default())?;
    let before = live::look(world)?;
    let document = world.json_of(&["drift"])?;
    let found = reading::drifted(&document, &step.source)?;
    none_of(judge::updates("drift", &step.drift, &found))?;
    live::untouched(world, &before)
}

/// The `auto-revert` action.
pub(super) fn auto_revert(world: &World<'_>, step: &AutoRevert) -> Done {
    world.lab.need(&["repair"])?;
    world.configure(Config::default())?;
    *world.seen.borrow_mut() = None;
    let receipt = world.json_of(&["repair", &step.source, "--yes"])?;
    let mut problems = Vec::new();
    if let Some(expected) = step.writes {
        let found = reading::count(&receipt, "writes");
        if found != Some(expected) {
            problems.push(format!("writes is {found:?}, not {expected}"));
        }
    }
    problems.extend(live::compare(world, &step.live_after)?);
    none_of(problems)
}

/// The `rename-source` action.
pub(super) fn rename(world: &World<'_>, step: &RenameSource) -> Done {
    world.lab.need(&["source", "rename"])?;
    world.configure(Config { sources: step.config.as_deref(), ..Config::default() })?;
    let uids = live::uids(world, &step.same_uid)?;
    *world.seen.borrow_mut() = None;
    let output = world.holdfast(&strings(&["source", "rename", &step.source, &step.to]))?;
    if output.code != Some(0) {
        return Err(Stop::Failed(format!("{}: {}", output.line, output.brief())));
    }
    none_of(live::same_uids(&uids, &live::uids(world, &step.same_uid)?))
}

/// The `remove-source` action.
pub(super) fn remove(world: &World<'_>, step: &RemoveSource) -> Done {
    world.lab.need(&["source", "remove"])?;
    world.configure(Config::default())?;
    let before = live::look(world)?;
    let mut args = strings(&["source", "remove", &step.source, "--prune", "--yes", "-o", "json"]);
    args.extend(plan::permissions(&step.allow, &[], step.allow_deletes));
    let output = world.holdfast(&args)?;
    match step.outcome {
        RemoveOutcome::Applied => {
            *world.seen.borrow_mut() = None;
            if output.code == Some(0) {
                Ok(())
            } else {
                Err(Stop::Failed(format!("{}: {}", output.line, output.brief())))
            }
        }
        RemoveOutcome::Refused => {
            let document = output.json()?;
            let mut problems = apply::refusal(&output, &document, None);
            if !step.refusals.is_empty() {
                problems.extend(judge::refusals(&step.refusals, reading::refusals(&document)));
            }
            none_of(problems)?;
            live::untouched(world, &before)
        }
    }
}
