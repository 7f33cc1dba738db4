//! `race`: several applies at the same moment.

use std::sync::Barrier;

use super::{apply, live};
use crate::command::{Output, Running};
use crate::reading;
use crate::steps::{ApplyOutcome, Race};
use crate::verdict::{Done, Stop, none_of};
use crate::world::{Config, Saved, World};

/// The `race` action.
pub(super) fn perform(world: &World<'_>, step: &Race) -> Done {
    let names: Vec<&String> = step.one_of.iter().chain(&step.always).collect();
    let mut saved = Vec::new();
    for name in &names {
        saved.push(world.plans.get(*name).ok_or_else(|| format!("no plan {name} was saved"))?);
    }
    // A plan made while `main` stood at an earlier commit would else be unmerged.
    for source in saved.iter().flat_map(|saved| &saved.sources) {
        let repository = world.repository_of(source)?;
        let last = repository.last_commit().ok_or_else(|| "no commit".to_owned())?.to_owned();
        repository.checkout(&last)?;
    }
    world.configure(Config::default())?;
    *world.seen.borrow_mut() = None;
    let outputs = at_once(world, &saved)?;
    let mut problems = Vec::new();
    let mut applied = 0;
    for (index, output) in outputs.iter().enumerate() {
        world.heard(output)?;
        let document = output.json()?;
        let came = apply::outcome(output, &document)?;
        if index >= step.one_of.len() {
            if came != ApplyOutcome::Applied {
                problems.push(format!("{} is {came:?}: {}", names[index], output.brief()));
            }
        } else if came == ApplyOutcome::Applied {
            applied += 1;
        } else if came == ApplyOutcome::Refused {
            problems.extend(apply::refusal(output, &document, Some(step.reason.all())));
            if reading::count(&document, "writes").is_some_and(|writes| writes > 0) {
                problems.push(format!("{} was refused and wrote", names[index]));
            }
        } else {
            problems.push(format!("{} is {came:?}: {}", names[index], output.brief()));
        }
    }
    if applied != 1 {
        problems.push(format!("{applied} of {:?} were applied, not one", step.one_of));
    }
    problems.extend(same_value(world, step)?);
    none_of(problems)
}

/// Starts all applies behind one barrier; the calls of the tool itself meet on the target.
fn at_once(world: &World<'_>, saved: &[&Saved]) -> Done<Vec<Output>> {
    let barrier = Barrier::new(saved.len());
    let starts: Vec<_> =
        saved.iter().map(|saved| world.prepared(&apply::arguments(saved, &saved.file, false), &[])).collect();
    let running: Vec<std::io::Result<Running>> = std::thread::scope(|scope| {
        let threads: Vec<_> = starts
            .into_iter()
            .map(|mut prepared| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    prepared.start()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked"))))
            .collect()
    });
    // All are awaited before the first failure is reported: none may outlive its world.
    let outputs: Vec<std::io::Result<Output>> =
        running.into_iter().map(|running| running.and_then(Running::finish)).collect();
    outputs.into_iter().map(|output| output.map_err(Stop::from)).collect()
}

fn same_value(world: &World<'_>, step: &Race) -> Done<Vec<String>> {
    let Some(same) = &step.same_value else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for id in &same.ids {
        let object = world.get(id)?.ok_or_else(|| format!("{id} is not on the target"))?;
        found.push(same.path.get(&object).cloned().unwrap_or_default());
    }
    let first = found.first().cloned().unwrap_or_default();
    let mut problems = live::mixed(&found);
    if !same.one_of.contains(&first) {
        problems.push(format!("{} is {first}, not one of {:?}", same.path.as_str(), same.one_of));
    }
    Ok(problems)
}
