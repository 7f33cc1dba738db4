//! An independent check of a finished plan against the promises: it shares no code with what made the plan.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::document::{Action, ChangeEntry, PlanDocument};
use super::input::{Observed, SourceInput};
use super::scope;
use crate::base::resource::ResourceId;

/// Re-checks a plan; each line names a promise that it breaks. Empty: it breaks none.
pub fn lint(plan: &PlanDocument, inputs: &[SourceInput<'_>], observed: &Observed) -> Vec<String> {
    let mut broken = Vec::new();
    each_resource_once(plan, &mut broken);
    nothing_in_no_list(plan, inputs, &mut broken);
    for change in &plan.changes {
        let input = inputs.iter().find(|i| i.spec.name == change.source);
        let Some(input) = input else {
            broken.push(format!("{} belongs to Source {}, which isn't planned", change.id, change.source));
            continue;
        };
        writes_only_what_is_its_own(plan, change, input, inputs, observed, &mut broken);
        deletes_only_with_three_proofs(change, input, observed, &mut broken);
        shows_no_secret(change, &mut broken);
    }
    writes_come_before_deletes(plan, &mut broken);
    containers_enclose_contents(plan, &mut broken);
    counts(plan, &mut broken);
    broken
}

fn each_resource_once(plan: &PlanDocument, broken: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for id in plan.changes.iter().map(|c| &c.id).chain(plan.unchanged.iter().map(|u| &u.id)) {
        if !seen.insert(id) {
            broken.push(format!("{id} stands in the plan twice"));
        }
    }
}

/// Whatever is declared or owned has exactly one place in the plan.
fn nothing_in_no_list(plan: &PlanDocument, inputs: &[SourceInput<'_>], broken: &mut Vec<String>) {
    let listed: BTreeSet<&ResourceId> =
        plan.changes.iter().map(|c| &c.id).chain(plan.unchanged.iter().map(|u| &u.id)).collect();
    for input in inputs {
        let declared = input.set.manifests().iter().filter(|c| !c.wants().use_).map(|c| c.id());
        for id in declared.chain(input.inventory.rows.keys()) {
            if !listed.contains(id) {
                broken.push(format!("{id} of Source {} is in no list of the plan", input.spec.name));
            }
        }
    }
}

fn writes_only_what_is_its_own(
    plan: &PlanDocument,
    change: &ChangeEntry,
    input: &SourceInput<'_>,
    inputs: &[SourceInput<'_>],
    observed: &Observed,
    broken: &mut Vec<String>,
) {
    let id = &change.id;
    let head = observed.heads.get(id);
    let marked_by = head.and_then(|h| h.mark.as_ref().ok()).and_then(Option::as_ref).filter(|m| m.resource == *id);
    let proven = |input: &SourceInput<'_>| {
        marked_by.is_some_and(|m| m.source == input.id)
            && input.inventory.rows.get(id).is_some_and(|row| head.is_some_and(|h| h.uid == row.uid))
    };
    match change.action {
        Action::Create if head.is_some() => broken.push(format!("{id} would be created although it exists")),
        Action::Update | Action::Own | Action::Replace if !proven(input) => {
            broken
                .push(format!("{id} would be written by Source {}, which can't prove that it owns it", change.source));
        }
        Action::Transfer => {
            let giver = inputs.iter().find(|i| Some(&i.spec.name) == change.from.as_ref());
            if !giver.is_some_and(proven) {
                broken.push(format!("{id} would be transferred from a Source that can't prove that it owns it"));
            }
        }
        Action::Adopt => {
            let asked = !plan.allowances.adopt.is_empty() || input.set.get(id).is_some_and(|c| c.wants().adopt);
            let owned = marked_by.is_some_and(|m| observed.known.iter().any(|r| r.id == m.source && r.id != input.id));
            if !asked || owned || head.is_some_and(|h| h.controlled) {
                broken.push(format!("{id} would be adopted unasked, or from its owner"));
            }
        }
        _ => {}
    }
    let writes = matches!(
        change.action,
        Action::Create
            | Action::Update
            | Action::Own
            | Action::Replace
            | Action::Delete
            | Action::Adopt
            | Action::Transfer
    );
    if writes && !scope::may_write(input.spec, id) {
        broken.push(format!("{id} lies outside the scope of Source {}", change.source));
    }
}

fn deletes_only_with_three_proofs(
    change: &ChangeEntry,
    input: &SourceInput<'_>,
    observed: &Observed,
    broken: &mut Vec<String>,
) {
    if change.action != Action::Delete {
        return;
    }
    let id = &change.id;
    let (row, head) = (input.inventory.rows.get(id), observed.heads.get(id));
    let proof = match (row, head) {
        (Some(row), Some(head)) => {
            row.uid == head.uid
                && matches!(&head.mark, Ok(Some(mark)) if mark.source == input.id && mark.resource == *id)
        }
        _ => false,
    };
    if !proof {
        broken.push(format!("{id} would be deleted although name, UID and owner mark don't agree"));
    }
    if input.set.get(id).is_some_and(|c| !c.wants().use_) {
        broken.push(format!("{id} would be deleted although it is declared"));
    }
    if !input.spec.prune {
        broken.push(format!("{id} would be deleted although prune is off"));
    }
}

fn shows_no_secret(change: &ChangeEntry, broken: &mut Vec<String>) {
    if !change.id.is("", "Secret") {
        return;
    }
    let shown = |value: &Value, at: &str| {
        let mut open = false;
        for field in ["data", "stringData"] {
            let prefix = format!("/{field}");
            match (at, value.get(field)) {
                ("", Some(Value::Object(map))) => open |= map.values().any(|v| !is_placeholder(v)),
                (at, _) if at.starts_with(&prefix) => {
                    open |= match value {
                        Value::Object(map) => map.values().any(|v| !is_placeholder(v)),
                        other => !is_placeholder(other),
                    };
                }
                _ => {}
            }
        }
        open
    };
    let open = change
        .fields
        .iter()
        .any(|f| [&f.before, &f.after].into_iter().flatten().any(|value| shown(value, f.path.as_str())));
    if open {
        broken.push(format!("{} would show a sensitive value", change.id));
    }
}

fn is_placeholder(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with("(sensitive, ")) || value.is_null()
}

fn writes_come_before_deletes(plan: &PlanDocument, broken: &mut Vec<String>) {
    let stage = |action| match action {
        Action::Delete => 1,
        Action::Keep | Action::Release => 2,
        _ => 0,
    };
    if !plan.changes.is_sorted_by_key(|c| stage(c.action)) {
        broken.push("a delete comes before a write".to_owned());
    }
    let waves = plan.changes.iter().filter(|c| stage(c.action) == 0).map(|c| c.wave);
    if !waves.is_sorted() {
        broken.push("the waves are out of order".to_owned());
    }
}

/// A Namespace comes before its contents, and is deleted after them.
fn containers_enclose_contents(plan: &PlanDocument, broken: &mut Vec<String>) {
    let mut namespaces: HashMap<&str, (usize, Action)> = HashMap::new();
    for (at, change) in plan.changes.iter().enumerate() {
        if change.id.is("", "Namespace") {
            namespaces.insert(&change.id.name, (at, change.action));
        }
    }
    for (at, change) in plan.changes.iter().enumerate() {
        let Some(&(container, action)) = change.id.namespace.as_deref().and_then(|ns| namespaces.get(ns)) else {
            continue;
        };
        let wrong = match (action, change.action) {
            (Action::Create, Action::Create | Action::Update | Action::Adopt | Action::Replace) => at < container,
            (Action::Delete, Action::Delete) => at > container,
            (Action::Delete, Action::Create | Action::Update) => true,
            _ => false,
        };
        if wrong {
            broken.push(format!("{} is on the wrong side of its Namespace", change.id));
        }
    }
}

fn counts(plan: &PlanDocument, broken: &mut Vec<String>) {
    let mut by_action: BTreeMap<Action, usize> = BTreeMap::new();
    for change in &plan.changes {
        *by_action.entry(change.action).or_default() += 1;
    }
    let of = |action| by_action.get(&action).copied().unwrap_or(0);
    let s = &plan.summary;
    let told = [s.create, s.update, s.own, s.replace, s.delete, s.adopt, s.transfer, s.release, s.keep];
    if told != Action::ALL.map(of) || s.unchanged != plan.unchanged.len() {
        broken.push("the summary's counts are wrong".to_owned());
    }
    if let Some(allowed) = plan.allowances.deletes
        && s.delete > allowed
    {
        broken.push(format!("{} deletes, and {allowed} are allowed", s.delete));
    }
}
