//! From the Draft to a Plan: the rules that need a live object. The one place that admits a plan.

use super::dry_run;
use super::facts::TargetFacts;
use super::on_draft::{Considered, Facts, immutable, namespace, old_object, quota, replace};
use super::rejection::Rejection;
use crate::base::fault::{Fault, Warning};
use crate::base::resource::ResourceId;
use crate::plan::document::{Action, Waiver};
use crate::plan::{Draft, Plan, emergency_refused};
use crate::target::{DryRunner, TargetError};

/// Judges a Draft.
///
/// `target` is its own admission, if it has one: it is asked about everything that would be written.
///
/// # Errors
/// If the target can't be asked. What it and the rules refuse is the inner one: everything at once.
pub fn judge<'a>(
    mut draft: Draft<'a>,
    facts: &TargetFacts,
    target: Option<&dyn DryRunner>,
) -> Result<Result<Plan<'a>, Rejection>, TargetError> {
    let mut faults: Vec<Fault> = draft.take_faults();
    faults.extend(replace_where_asked(&mut draft));
    let mut found = Found::default();
    for source in 0..draft.sources() {
        on_source(&draft, source, facts, &mut found);
    }
    faults.extend(std::mem::take(&mut found.faults));
    if let Some(target) = target {
        let asked = dry_run::judge(&mut draft, target, &faults)?;
        faults.extend(asked.faults);
        found.warnings.extend(asked.warnings);
    } else {
        draft.not_asked();
    }
    let mut rejection = Rejection::new();
    for (set, faults) in draft.by_source(faults) {
        match set {
            Some(set) => rejection.quoted(faults, set.quotes()),
            None => rejection.quoted(faults, &super::Quotes::default()),
        }
    }
    let mut waived: Vec<Waiver> = draft.waived();
    waived.extend(found.waived);
    waived.sort();
    waived.dedup();
    if rejection.is_empty() {
        draft.warn_changes(found.warnings);
        return Ok(Ok(Plan::admitted(draft, waived)));
    }
    rejection.warn(found.warnings);
    Ok(Err(rejection))
}

#[derive(Default)]
struct Found {
    faults: Vec<Fault>,
    warnings: Vec<Warning>,
    waived: Vec<Waiver>,
}

/// Turns updates that can't be made in place into replaces where that is allowed; the others are faults.
fn replace_where_asked(draft: &mut Draft<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut asked: Vec<ResourceId> = Vec::new();
    for considered in draft.considered(None) {
        if !matches!(considered.action, Action::Update | Action::Own | Action::Adopt | Action::Transfer) {
            continue;
        }
        let found = immutable::judge(&considered);
        if found.is_empty() {
            continue;
        }
        let allowed = considered.action == Action::Update && draft.may_replace(&considered);
        if allowed && draft.has_emergency(considered.id) {
            faults.push(emergency_refused(considered.checked, considered.id, "made anew"));
        } else if allowed {
            asked.push(considered.id.clone());
        } else {
            faults.extend(found);
        }
    }
    draft.replace(&asked);
    faults
}

fn on_source(draft: &Draft<'_>, source: usize, target: &TargetFacts, found: &mut Found) {
    let considered: Vec<Considered<'_>> = draft.considered(Some(source)).collect();
    // Namespaces and quotas are shared: they are judged over all Sources, once.
    if source == 0 {
        let all: Vec<Considered<'_>> = draft.considered(None).collect();
        let catalog = draft.catalog();
        let facts = Facts { namespaces: &target.namespaces, contents: &target.contents, catalog: &catalog };
        found.faults.extend(namespace::judge(&all, &facts));
        let quota = quota::judge(&all, &facts);
        found.faults.extend(quota.faults);
        found.warnings.extend(quota.warnings);
    }
    let policies = draft.policies(source);
    for one in &considered {
        found.faults.extend(replace::judge(one));
        found.warnings.extend(replace::warning(one));
        let verdict = old_object::judge(one, policies);
        found.faults.extend(verdict.faults);
        found.warnings.extend(verdict.warnings);
        found.waived.extend(verdict.waived);
    }
}
