//! What the runner does for each step.

mod apply;
mod crash;
mod live;
mod outside;
mod plan;
mod race;
mod same_meaning;
mod sources;

use crate::expected::Run;
use crate::repository::Templates;
use crate::steps::Step;
use crate::verdict::{Done, Stop};
use crate::world::{Config, World};

/// What is known while a course is performed.
pub(crate) struct Course<'a> {
    /// The course.
    pub(crate) run: &'a Run,
    /// The repositories as they are at first.
    pub(crate) templates: &'a Templates,
    /// Commands that were met and that this build lacks.
    pub(crate) missing: Vec<String>,
    /// What is worth telling besides the verdict.
    pub(crate) notes: Vec<String>,
}

impl Course<'_> {
    /// Performs the first `count` steps; a failure names its step.
    pub(crate) fn perform(&mut self, world: &mut World<'_>, count: usize) -> Done {
        for (index, step) in self.run.steps.iter().take(count).enumerate() {
            match self.step(world, step, index) {
                // Looking for drift changes nothing, so the steps after it can be performed all the same.
                Err(Stop::Missing(command)) if matches!(step, Step::Drift(_)) => self.missing.push(command),
                Err(Stop::Failed(why)) => return Err(Stop::Failed(format!("{}: {why}", self.place(step, index)))),
                other => other?,
            }
        }
        Ok(())
    }

    fn place(&self, step: &Step, index: usize) -> String {
        let run = if self.run.name.is_empty() { String::new() } else { format!("run {:?}, ", self.run.name) };
        format!("{run}step {} ({})", index + 1, step.title())
    }

    fn step(&mut self, world: &mut World<'_>, step: &Step, index: usize) -> Done {
        match step {
            Step::Plan(plan) => plan::perform(world, plan, &mut self.notes),
            Step::Apply(apply) => apply::perform(world, apply),
            Step::Converge(converge) => plan::converge(world, converge),
            Step::Outside(outside) => outside::perform(world, outside),
            Step::Drift(drift) => sources::drift(world, drift),
            Step::AutoRevert(revert) => sources::auto_revert(world, revert),
            Step::RenameSource(rename) => sources::rename(world, rename),
            Step::RemoveSource(remove) => sources::remove(world, remove),
            Step::Git(git) => {
                world.configure(Config::default())?;
                let script = world.case_path.join(&git.script);
                Ok(world.repository("")?.script(&script, world.case_path, &git.args)?)
            }
            Step::Race(race) => race::perform(world, race),
            Step::Crash(crash) => crash::perform(world, self, crash, index),
            Step::SameMeaning(same) => same_meaning::perform(world, same),
        }
    }
}

/// After the last step: the history with each receipt is searched for what may stand in no output.
pub(crate) fn search_history(world: &World<'_>) -> Done {
    if !world.has_secrets() {
        return Ok(());
    }
    world.lab.need(&["history"])?;
    let history = world.json_of(&["history"])?;
    for id in crate::reading::history_ids(&history) {
        world.json_of(&["history", "show", &id])?;
    }
    Ok(())
}
