//! One case, from its fresh targets to its verdict.

use std::collections::BTreeSet;

use crate::actions::{self, Course};
use crate::expected::Case;
use crate::lab::{Folder, Lab};
use crate::repository::Templates;
use crate::steps::Step;
use crate::verdict::{Stop, Verdict};
use crate::world::World;

/// Tells whether a case has limits of time and memory or races, and is therefore performed alone.
pub(crate) fn is_measured(folder: &Folder) -> bool {
    let Ok(case) = &folder.expected else { return false };
    let measured = |step: &Step| match step {
        Step::Plan(plan) => plan.limits.is_some(),
        Step::Crash(_) => true,
        _ => false,
    };
    case.courses().iter().flat_map(|run| &run.steps).any(measured)
}

/// Performs a case; the notes are what is worth telling besides.
pub(crate) fn case(lab: &Lab, folder: &Folder) -> (Verdict, Vec<String>) {
    let mut notes = Vec::new();
    let verdict = match &folder.expected {
        Err(why) => Verdict::Failed(why.clone()),
        Ok(case) => match case.needs.iter().find(|need| !need.is_embedded() && lab.cluster().is_none()) {
            Some(need) => Verdict::Skipped(format!("needs {}", need.word())),
            None => rounds(lab, folder, case, &mut notes),
        },
    };
    (verdict, notes)
}

fn rounds(lab: &Lab, folder: &Folder, case: &Case, notes: &mut Vec<String>) -> Verdict {
    let of: BTreeSet<String> =
        case.sources.values().map(|spec| spec.repository.clone().unwrap_or_default()).chain([String::new()]).collect();
    let of: Vec<String> = of.into_iter().collect();
    let templates = match Templates::make(lab, &folder.path, &of) {
        Ok(templates) => templates,
        Err(why) => return Verdict::Failed(why),
    };
    let mut missing = BTreeSet::new();
    for round in 1..=case.rounds().min(lab.most) {
        for run in case.courses() {
            let mut course = Course { run: &run, templates: &templates, missing: Vec::new(), notes: Vec::new() };
            let ended = one(lab, folder, case, &mut course);
            if round == 1 {
                notes.append(&mut course.notes);
            }
            missing.extend(course.missing);
            match ended {
                Ok(()) => {}
                Err(Stop::Missing(command)) => {
                    missing.insert(command);
                }
                Err(Stop::Unsupported(what)) => return Verdict::Skipped(format!("needs {what}")),
                Err(Stop::Failed(why)) if case.rounds() > 1 => return Verdict::Failed(format!("round {round}: {why}")),
                Err(Stop::Failed(why)) => return Verdict::Failed(why),
            }
        }
        if !missing.is_empty() {
            break;
        }
    }
    if missing.is_empty() { Verdict::Passed } else { Verdict::of_missing(&missing) }
}

fn one(lab: &Lab, folder: &Folder, case: &Case, course: &mut Course<'_>) -> Result<(), Stop> {
    let mut world = World::fresh(lab, case, &folder.path, course.templates)?;
    course.perform(&mut world, course.run.steps.len())?;
    actions::search_history(&world)
}
