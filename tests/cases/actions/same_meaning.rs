//! `same-meaning`: two spellings of one value.

use super::plan;
use crate::judge;
use crate::steps::{PlanOutcome, SameMeaning};
use crate::verdict::{Done, Stop};
use crate::world::{Config, World};

/// The `same-meaning` action: each pair on a target of its own, so that nothing is left of the pair before.
pub(super) fn perform(world: &World<'_>, step: &SameMeaning) -> Done {
    for (first, second) in &step.pairs {
        pair(world, step, first, second).map_err(|stop| match stop {
            Stop::Failed(why) => Stop::Failed(format!("{first:?} and {second:?}: {why}")),
            other => other,
        })?;
    }
    Ok(())
}

fn pair(world: &World<'_>, step: &SameMeaning, first: &str, second: &str) -> Done {
    let mut fresh = World::with_empty_repository(world.lab, world.case, world.case_path)?;
    let sources = [step.source.clone()];
    let asked =
        plan::Asked { sources: &sources, allow: &[], adopt: &[], allow_deletes: None, with: None, target: None };
    fresh.repository_of(&step.source)?.commit_file(&step.file, &step.template.replace('@', first))?;
    plan::planned_and_applied(&mut fresh, &asked)?;
    fresh.repository_of(&step.source)?.commit_file(&step.file, &step.template.replace('@', second))?;
    fresh.configure(Config::default())?;
    let (output, _) = plan::run(&fresh, &asked)?;
    let document = output.json()?;
    match judge::plan_outcome(output.code, Some(&document))? {
        PlanOutcome::NoChange => Ok(()),
        came => Err(Stop::Failed(format!("{came:?}, not NoChange: {}", output.brief()))),
    }
}
