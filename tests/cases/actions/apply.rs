//! `apply`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::live;
use crate::command::Output;
use crate::ids::Id;
use crate::reading;
use crate::reasons::{Reason, refused_apply_codes};
use crate::steps::{Apply, ApplyOutcome};
use crate::verdict::{Done, Stop, none_of};
use crate::world::{Config, Saved, World, strings};

/// The command line that applies a plan file.
pub(super) fn arguments(saved: &Saved, file: &Path, allow_unmerged: bool) -> Vec<String> {
    let mut args = strings(&["apply", &file.to_string_lossy(), "--yes", "-o", "json"]);
    args.extend(saved.permissions.iter().cloned());
    if allow_unmerged {
        args.push("--allow-unmerged".to_owned());
    }
    args
}

/// Runs `holdfast apply`.
pub(super) fn run(world: &World<'_>, saved: &Saved, file: &Path, allow_unmerged: bool) -> Done<Output> {
    *world.seen.borrow_mut() = None;
    world.holdfast(&arguments(saved, file, allow_unmerged))
}

/// What came of an apply, by its exit code and its document.
pub(super) fn outcome(output: &Output, document: &Value) -> Result<ApplyOutcome, String> {
    let strange = || format!("{}: {}", output.line, output.brief());
    let result = reading::result(document);
    let refused = !reading::refusals(document).is_empty();
    match (output.code, result) {
        (Some(0), _) => Ok(ApplyOutcome::Applied),
        (Some(1 | 4), "rolled-back") => Ok(ApplyOutcome::RolledBack),
        (Some(1 | 4), _) if refused => Ok(ApplyOutcome::Refused),
        (Some(5), "rolled-back-in-part") => Ok(ApplyOutcome::RolledBackInPart),
        (Some(5), "applied-with-pending") => Ok(ApplyOutcome::AppliedWithPending),
        _ => Err(strange()),
    }
}

/// Checks that a refused apply gives one of the reasons, and no other, with the exit code that fits.
pub(super) fn refusal(output: &Output, document: &Value, reasons: Option<&[Reason]>) -> Vec<String> {
    let rules: Vec<&str> = reading::refusals(document).iter().map(reading::rule).collect();
    let mut problems = Vec::new();
    if let Some(reasons) = reasons {
        for rule in rules.iter().filter(|rule| !reasons.iter().any(|reason| reason.accepts(rule))) {
            let words: Vec<&str> = reasons.iter().map(Reason::word).collect();
            problems.push(format!("refused by {rule}, not {words:?}"));
        }
    }
    let codes = refused_apply_codes(rules.iter().copied());
    if !output.code.is_some_and(|code| codes.contains(&code)) {
        problems.push(format!("exit {:?}, not {codes:?}, for {rules:?}", output.code));
    }
    problems
}

/// The `apply` action.
pub(super) fn perform(world: &mut World<'_>, step: &Apply) -> Done {
    if step.fault.is_some() {
        return Err(Stop::Unsupported("a proxy before a Kubernetes target".to_owned()));
    }
    let saved = match &step.plan {
        Some(name) => world.plans.get(name).cloned().ok_or_else(|| format!("no plan {name} was saved"))?,
        None => world.latest.clone().ok_or_else(|| "no plan was made".to_owned())?,
    };
    let target = step.target.as_deref().or(saved.target.as_deref());
    world.configure(Config { target, ..Config::default() })?;
    let file = match &step.tamper {
        Some(tamper) => {
            let text = std::fs::read_to_string(&saved.file)?;
            if !text.contains(&tamper.find) {
                return Err(Stop::Failed(format!("the plan file has no {:?} to tamper with", tamper.find)));
            }
            world.file("tampered.plan.json", &text.replacen(&tamper.find, &tamper.replace, 1))?
        }
        None => saved.file.clone(),
    };
    let uids = live::uids(world, &step.same_uid)?;
    let before = live::look(world)?;
    let output = run(world, &saved, &file, step.allow_unmerged)?;
    let document = output.json()?;
    let came = outcome(&output, &document)?;
    if !step.outcome.all().contains(&came) {
        return Err(Stop::Failed(format!("{came:?}, not {:?}: {}; {document}", step.outcome.all(), output.brief())));
    }
    if came == ApplyOutcome::Refused {
        live::untouched(world, &before)?;
    }
    let mut problems = reported(step, came, &output, &document);
    // Of several outcomes only the keys that fit the one that came are looked at.
    if !(step.outcome.is_choice() && came == ApplyOutcome::Refused) {
        problems.extend(live::compare(world, &step.live_after)?);
        problems.extend(live::same_uids(&uids, &live::uids(world, &step.same_uid)?));
        if let Some(commit) = &step.last_applied {
            problems.extend(last_applied(world, &saved.sources, commit)?);
        }
        if step.pending.is_some() || step.left_over.is_some() {
            problems.extend(unfinished(world, step, &document)?);
        }
    }
    none_of(problems)
}

/// Judges what the receipt or the refusal says.
fn reported(step: &Apply, came: ApplyOutcome, output: &Output, document: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let refused = came == ApplyOutcome::Refused;
    if refused {
        problems.extend(refusal(output, document, step.reason.as_ref().map(|reason| reason.all())));
        if let Some(expected) = &step.moved {
            let expected: BTreeSet<Id> = expected.iter().cloned().collect();
            let moved = moved(document);
            problems.extend(expected.difference(&moved).map(|id| format!("{id} is not named as moved")));
            problems.extend(moved.difference(&expected).map(|id| format!("{id} is named as moved")));
        }
    }
    for (key, expected) in [("writes", step.writes), ("deletes", step.deletes)] {
        let Some(expected) = expected else { continue };
        // A refusal wrote nothing and need not count that.
        let found = reading::count(document, key).or(refused.then_some(0));
        if found != Some(expected) {
            problems.push(format!("{key} is {found:?}, not {expected}"));
        }
    }
    problems
}

fn moved(document: &Value) -> BTreeSet<Id> {
    reading::refusals(document)
        .iter()
        .filter(|refusal| Reason::of_rule(reading::rule(refusal)).is_some_and(|reason| reason.means_moved()))
        .filter_map(|refusal| refusal.get("id").and_then(Id::from_json))
        .collect()
}

/// Compares the applied commit of Sources.
pub(super) fn last_applied(world: &World<'_>, sources: &[String], commit: &str) -> Done<Vec<String>> {
    let mut problems = Vec::new();
    for source in sources {
        let wanted = world.repository_of(source)?.commit(commit)?.to_owned();
        let found = world.last_applied(source)?;
        if found.as_deref() != Some(wanted.as_str()) {
            problems.push(format!("{source}: applied is {found:?}, not {wanted} ({commit})"));
        }
    }
    Ok(problems)
}

/// The deletes that wait and what could not be put back, by the receipt and by `holdfast status`.
fn unfinished(world: &World<'_>, step: &Apply, receipt: &Value) -> Done<Vec<String>> {
    world.lab.need(&["status"])?;
    let status = world.json_of(&["status"])?;
    let mut problems = Vec::new();
    let mut named: Vec<&Id> = Vec::new();
    if let Some(expected) = &step.pending {
        let found = reading::pending(receipt);
        for kept in expected {
            let fits = |(id, rule): &(Option<Id>, String)| {
                id.as_ref() == Some(&kept.id) && kept.reason.all().iter().any(|reason| reason.accepts(rule))
            };
            if !found.iter().any(fits) {
                problems.push(format!("{} is not pending in the receipt", kept.id));
            }
            named.push(&kept.id);
        }
        if found.len() != expected.len() {
            problems.push(format!("{} deletes are pending, not {}", found.len(), expected.len()));
        }
    }
    if let Some(expected) = &step.left_over {
        let wanted: BTreeSet<Option<Id>> = expected.iter().cloned().map(Some).collect();
        let found = reading::left_over(receipt);
        if found != wanted {
            problems.push(format!("left over is {found:?}, not {wanted:?}"));
        }
        named.extend(expected);
    }
    problems.extend(named.iter().filter(|id| !id.is_named_in(&status)).map(|id| format!("status does not name {id}")));
    Ok(problems)
}
