//! Comparing what a plan says with what is expected. Nothing here runs a command.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::assign;
use crate::ids::Id;
use crate::pointer::{Reported, fields_match};
use crate::reading::{self, Change};
use crate::reasons::Reason;
use crate::steps::{Plan, PlanOutcome, Refusal, Updated, Warned};
use crate::text;

/// What is wrong, in words; empty is right.
pub(crate) type Problems = Vec<String>;

/// What came of a plan, by its exit code and its document.
pub(crate) fn plan_outcome(code: Option<i32>, document: Option<&Value>) -> Result<PlanOutcome, String> {
    match code {
        Some(0) => {
            let document = document.ok_or("exit 0 without a plan on stdout")?;
            let pending = reading::changes(document)?.iter().any(Change::is_pending);
            Ok(if pending { PlanOutcome::Planned } else { PlanOutcome::NoChange })
        }
        Some(1) => {
            let refusals = document.map_or(&[][..], reading::refusals);
            let judged = refusals.iter().any(|refusal| Reason::of_rule(reading::rule(refusal)).is_some());
            Ok(if judged { PlanOutcome::Refused } else { PlanOutcome::Error })
        }
        Some(code) => Err(format!("exit {code}")),
        None => Err("ended by a signal".to_owned()),
    }
}

/// Judges all keys of a plan step that look at the plan or the refusal itself.
pub(crate) fn plan(step: &Plan, came: PlanOutcome, document: &Value) -> Problems {
    let done = matches!(came, PlanOutcome::Planned | PlanOutcome::NoChange);
    let mut problems = Problems::new();
    // Of several outcomes only the keys that fit the one that came are looked at.
    if done || !step.outcome.is_choice() {
        problems.extend(plan_itself(step, document, done));
    }
    if came == PlanOutcome::Refused && !step.refusals.is_empty() {
        problems.extend(refusals(&step.refusals, reading::refusals(document)));
    }
    problems
}

fn plan_itself(step: &Plan, document: &Value, done: bool) -> Problems {
    let changes = match reading::changes(document) {
        Ok(changes) => changes,
        Err(why) if done => return vec![why],
        Err(_) => Vec::new(),
    };
    let mut problems = Problems::new();
    for (action, expected) in [
        ("create", &step.create),
        ("replace", &step.replace),
        ("delete", &step.delete),
        ("adopt", &step.adopt),
        ("transfer", &step.transfer),
    ] {
        if let Some(expected) = expected {
            problems.extend(exact_ids(action, &changes, expected.iter()));
        }
    }
    if let Some(expected) = &step.update {
        let found: Vec<(Id, Vec<Reported>)> =
            of_action(&changes, "update").map(|change| (change.id.clone(), change.fields())).collect();
        problems.extend(updates("update", expected, &found));
    }
    if let Some(expected) = &step.keep {
        problems.extend(exact_ids("keep", &changes, expected.iter().map(|kept| &kept.id)));
        for kept in expected {
            for change in of_action(&changes, "keep").filter(|change| change.id == kept.id) {
                let given = change.reasons();
                if !kept.reason.all().iter().any(|reason| given.iter().any(|rule| reason.accepts(rule))) {
                    problems.push(format!("keep {}: reason {given:?}, not {:?}", kept.id, words(kept.reason.all())));
                }
                problems.extend(names_all(&format!("keep {}", kept.id), change.json, &kept.holds));
            }
        }
    }
    let listed = reading::unchanged(document);
    for id in &step.unchanged {
        if changes.iter().any(|change| change.id == *id) {
            problems.push(format!("{id} is to be unchanged and is in changes[]"));
        } else if listed.as_ref().is_some_and(|listed| !listed.contains(id)) {
            problems.push(format!("{id} is not in unchanged[]"));
        }
    }
    for (counted, expected) in &step.counts {
        let found = match counted.word() {
            "unchanged" => reading::unchanged_count(document),
            action => u64::try_from(of_action(&changes, action).count()).ok(),
        };
        if found != Some(*expected) {
            problems.push(format!(
                "{} {}, not {expected}",
                found.map_or("no count of".into(), |n| n.to_string()),
                counted.word()
            ));
        }
    }
    for chain in &step.order {
        problems.extend(ordered(&changes, chain));
    }
    for (id, taken) in &step.cascade {
        match of_action(&changes, "delete").find(|change| change.id == *id) {
            Some(change) => problems.extend(names_all(&format!("delete {id}"), change.json, taken)),
            None => problems.push(format!("no delete of {id}")),
        }
    }
    problems.extend(warnings(&step.warnings, step.no_other_warnings, &reading::warnings(document)));
    problems
}

fn of_action<'a>(changes: &'a [Change<'a>], action: &'a str) -> impl Iterator<Item = &'a Change<'a>> {
    changes.iter().filter(move |change| change.action == action)
}

fn words(reasons: &[Reason]) -> Vec<&'static str> {
    reasons.iter().map(Reason::word).collect()
}

fn exact_ids<'a>(action: &str, changes: &[Change<'_>], expected: impl Iterator<Item = &'a Id>) -> Problems {
    let found: Vec<&Id> = changes.iter().filter(|change| change.action == action).map(|change| &change.id).collect();
    let found_set: BTreeSet<&Id> = found.iter().copied().collect();
    let expected: BTreeSet<&Id> = expected.collect();
    let mut problems = Problems::new();
    problems.extend(expected.difference(&found_set).map(|id| format!("no {action} of {id}")));
    problems.extend(found_set.difference(&expected).map(|id| format!("{action} of {id} is not expected")));
    if found.len() != found_set.len() {
        problems.push(format!("an object has several changes {action}"));
    }
    problems
}

/// Compares exact lists of changed objects with their fields.
pub(crate) fn updates(what: &str, expected: &[Updated], found: &[(Id, Vec<Reported>)]) -> Problems {
    let mut problems = Problems::new();
    for (id, _) in found.iter().filter(|(id, _)| !expected.iter().any(|updated| updated.id == *id)) {
        problems.push(format!("{what} of {id} is not expected"));
    }
    for updated in expected {
        let Some((_, fields)) = found.iter().find(|(id, _)| *id == updated.id) else {
            problems.push(format!("no {what} of {}", updated.id));
            continue;
        };
        let Some(listed) = &updated.fields else { continue };
        for pointer in listed.iter().filter(|p| !fields.iter().any(|field| fields_match(p.as_str(), field))) {
            problems.push(format!("{what} of {}: {} is not reported", updated.id, pointer.as_str()));
        }
        for field in fields.iter().filter(|field| !listed.iter().any(|p| fields_match(p.as_str(), field))) {
            problems.push(format!("{what} of {}: {} is reported", updated.id, field.path));
        }
    }
    problems
}

fn names_all(what: &str, json: &Value, ids: &[Id]) -> Problems {
    ids.iter().filter(|id| !id.is_named_in(json)).map(|id| format!("{what} does not name {id}")).collect()
}

fn ordered(changes: &[Change<'_>], chain: &[Id]) -> Problems {
    let place = |id: &Id| changes.iter().position(|change| change.id == *id);
    let mut problems: Problems =
        chain.iter().filter(|id| place(id).is_none()).map(|id| format!("{id} is in no change (order)")).collect();
    for pair in chain.windows(2) {
        if let [first, second] = pair
            && place(first) > place(second)
        {
            problems.push(format!("{second} comes before {first}"));
        }
    }
    problems
}

/// Matches warnings: each expected one by a warning of its own.
pub(crate) fn warnings(expected: &[Warned], no_other: bool, reported: &[&Value]) -> Problems {
    let fits = |item: usize, index: usize| warning_fits(&expected[item], reported[index]);
    let mismatch = assign::exact(expected.len(), reported.len(), &fits, &|_| !no_other);
    let mut problems = Problems::new();
    problems.extend(mismatch.missing.iter().map(|item| format!("no warning {:?}", expected[*item])));
    problems.extend(mismatch.surplus.iter().map(|index| format!("a warning too much: {}", reported[*index])));
    problems
}

fn warning_fits(expected: &Warned, reported: &Value) -> bool {
    let named = |wanted: Option<&str>| wanted.is_none_or(|wanted| text::is_named_in(wanted, reported));
    named(expected.file.as_deref())
        && named(expected.path.as_ref().map(|path| path.as_str()))
        && named(expected.raw.as_deref())
        && expected.id.as_ref().is_none_or(|id| id.is_named_in(reported))
}

/// Matches the exact report of a refusal, in any order.
pub(crate) fn refusals(expected: &[Refusal], reported: &[Value]) -> Problems {
    let required: Vec<&Refusal> = expected.iter().filter(|refusal| !refusal.optional).collect();
    let optional: Vec<&Refusal> = expected.iter().filter(|refusal| refusal.optional).collect();
    let mismatch = assign::exact(
        required.len(),
        reported.len(),
        &|item, index| refusal_fits(required[item], &reported[index]),
        &|index| optional.iter().any(|refusal| refusal_fits(refusal, &reported[index])),
    );
    let mut problems = Problems::new();
    problems.extend(mismatch.missing.iter().map(|item| format!("no refusal {}", shown(required[*item]))));
    problems.extend(mismatch.surplus.iter().map(|index| format!("a refusal too much: {}", reported[*index])));
    problems
}

fn shown(refusal: &Refusal) -> String {
    let mut text = words(refusal.reason.all()).join("|");
    if let Some(file) = &refusal.file {
        text.push_str(&format!(" {file}"));
    }
    if let Some(line) = &refusal.line {
        text.push_str(&format!(" line {:?}", line.all()));
    }
    if let Some(path) = &refusal.path {
        text.push_str(&format!(" {}", path.as_str()));
    }
    if let Some(id) = &refusal.id {
        text.push_str(&format!(" {id}"));
    }
    text
}

fn refusal_fits(expected: &Refusal, reported: &Value) -> bool {
    let at = |key: &str| reported.get(key).and_then(Value::as_str).unwrap_or_default();
    let line_fits = |wanted: Option<&crate::expected::OneOf<u64>>, place: &Value| {
        wanted.is_none_or(|lines| place.get("line").and_then(Value::as_u64).is_some_and(|n| lines.all().contains(&n)))
    };
    let named = |wanted: Option<&String>| wanted.is_none_or(|wanted| text::is_named_in(wanted, reported));
    let others = reported.get("also").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    expected.reason.all().iter().any(|reason| reason.accepts(reading::rule(reported)))
        && expected.file.as_ref().is_none_or(|file| at("file") == file)
        && line_fits(expected.line.as_ref(), reported)
        && expected.path.as_ref().is_none_or(|path| at("path") == path.as_str())
        && expected.id.as_ref().is_none_or(|id| match reported.get("id").and_then(Id::from_json) {
            Some(found) => found == *id,
            None => id.is_named_in(reported),
        })
        && expected.also.iter().all(|also| {
            others.iter().any(|place| {
                also.file.as_ref().is_none_or(|file| place.get("file").and_then(Value::as_str) == Some(file))
                    && line_fits(also.line.as_ref(), place)
            })
        })
        && expected.owner.as_ref().is_none_or(|owner| text::any_string(reported, &|found| text::has_word(found, owner)))
        && expected.holds.iter().all(|id| id.is_named_in(reported))
        && [&expected.resource, &expected.limit, &expected.used, &expected.asked]
            .into_iter()
            .all(|wanted| named(wanted.as_ref()))
}

/// What a plan changes though no plan may.
pub(crate) fn never_changed(ids: &[Id], document: &Value) -> Problems {
    let changes = reading::changes(document).unwrap_or_default();
    ids.iter()
        .filter(|id| changes.iter().any(|change| change.id == **id))
        .map(|id| format!("{id} is in a change, which no plan may have"))
        .collect()
}
