//! An independent check of a finished plan against the promises: it shares no code with what made the plan.

mod claimed;
mod leaving;
mod order;
mod prune;
mod secrets;
mod writes;

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Action, ChangeEntry, FORMAT_VERSION, PlanDocument, Purpose};
use super::input::{Observed, OtherSource, SourceInput};
use crate::admission::Checked;
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::ResourceId;
use crate::inventory::SourceRecord;
use crate::target::Head;

/// What a plan is checked against.
struct Beside<'a> {
    plan: &'a PlanDocument,
    inputs: &'a [SourceInput<'a>],
    others: &'a [OtherSource],
    observed: &'a Observed,
}

/// Re-checks a plan; each line names a promise that it breaks. Empty: it breaks none.
pub fn lint(
    plan: &PlanDocument,
    inputs: &[SourceInput<'_>],
    others: &[OtherSource],
    observed: &Observed,
) -> Vec<String> {
    let beside = Beside { plan, inputs, others, observed };
    let mut broken = Vec::new();
    is_of_these_sources(&beside, &mut broken);
    each_resource_once(plan, &mut broken);
    nothing_in_no_list(&beside, &mut broken);
    for change in &plan.changes {
        let Some(input) = beside.input(change) else {
            broken.push(format!("{} belongs to Source {}, which isn't planned", change.id, change.source));
            continue;
        };
        match input.purpose {
            Purpose::Rebuild => leaving::takes_back_only_what_it_marked(&beside, change, input, &mut broken),
            purpose => {
                writes::writes_only_its_own(&beside, change, input, &mut broken);
                if purpose.removes() {
                    leaving::ends_as_asked(&beside, change, input, &mut broken);
                }
            }
        }
        prune::deletes_only_with_proof(&beside, change, input, &mut broken);
        prune::takes_nothing_along_unasked(&beside, change, &mut broken);
        says_why(change, &mut broken);
        secrets::shows_none(change, &mut broken);
    }
    writes::leaves_emergency_changes(&beside, &mut broken);
    writes::unchanged_is_its_own(&beside, &mut broken);
    writes::adopts_as_many_as_allowed(&beside, &mut broken);
    claimed::takes_over_what_was_told(&beside, &mut broken);
    prune::keeps_the_budget(&beside, &mut broken);
    order::stages(&beside, &mut broken);
    order::containers_enclose_contents(&beside, &mut broken);
    order::dependencies_come_first(&beside, &mut broken);
    counts(plan, &mut broken);
    broken
}

impl<'a> Beside<'a> {
    fn input(&self, change: &ChangeEntry) -> Option<&'a SourceInput<'a>> {
        self.inputs.iter().find(|i| i.spec.name == change.source)
    }

    fn head(&self, id: &ResourceId) -> Option<&'a Head> {
        self.observed.heads.get(id)
    }

    /// Whether name, UID and mark agree that an object is a Source's.
    fn is_proven(&self, id: &ResourceId, input: &SourceInput<'_>) -> bool {
        let (Some(head), Some(row)) = (self.head(id), input.inventory.row(id)) else { return false };
        let marked = matches!(&head.mark, Ok(Some(mark)) if mark.source == input.id && mark.resource == *id);
        marked && head.uid == row.uid && row.id == *id && head.id == *id
    }

    /// Whether a manifest releases its object to a Source that has it or declares it in the same plan.
    fn is_given_away(&self, checked: &Checked, input: &SourceInput<'_>) -> bool {
        let Some(to) = &checked.wants().release_to else { return false };
        let id = checked.id();
        let owner = match self.head(id).map(|head| &head.mark) {
            Some(Ok(Some(mark))) if mark.resource == *id => Some(&mark.source),
            _ => None,
        };
        let named = |r: &&SourceRecord| r.name == *to && r.removed_at.is_none() && r.id != input.id;
        let has = self.observed.known.iter().filter(named).any(|record| Some(&record.id) == owner);
        let takes = |i: &SourceInput<'_>| i.spec.name == *to && i.set.get(id).is_some_and(|c| !c.wants().use_);
        has || self.inputs.iter().any(|other| other.id != input.id && takes(other))
    }

    /// The count that `--allow` gave to an object.
    fn allowed(&self, id: &ResourceId) -> Option<usize> {
        let text = id.to_string();
        self.plan.allowances.allow.iter().find_map(|given| match given.split_once('=') {
            Some((id, count)) if id == text => count.parse().ok(),
            None if *given == text => Some(0),
            _ => None,
        })
    }

    /// Whether a Change writes its object: what is taken back stays as it is.
    fn is_written(&self, change: &ChangeEntry) -> bool {
        is_write(change.action) && self.input(change).is_none_or(|input| input.purpose != Purpose::Rebuild)
    }

    /// The deletes of the plan.
    fn deleted(&self) -> BTreeSet<&'a ResourceId> {
        self.plan.changes.iter().filter(|c| c.action == Action::Delete).map(|c| &c.id).collect()
    }
}

/// Whether an action writes the object.
fn is_write(action: Action) -> bool {
    matches!(action, Action::Create | Action::Update | Action::Own | Action::Replace | Action::Adopt | Action::Transfer)
}

fn is_of_these_sources(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let plan = beside.plan;
    if plan.format_version != FORMAT_VERSION || plan.target != beside.observed.target {
        broken.push("the plan is of another format or target".to_owned());
    }
    if !plan.sources.is_sorted_by(|a, b| a.name < b.name) {
        broken.push("the Sources are out of order".to_owned());
    }
    let same = plan.sources.len() == beside.inputs.len()
        && plan.sources.iter().zip(beside.inputs).all(|(entry, input)| {
            entry.name == input.spec.name
                && entry.id == input.id
                && entry.commit == input.facts.commit
                && entry.inventory_serial == input.inventory.serial
                && entry.spec == input.spec_digest()
                && entry.origin == input.spec.origin()
                && entry.purpose == input.purpose
                && entry.rebinds == input.rebinds
        });
    if !same {
        broken.push("the plan doesn't name the Sources that it is of".to_owned());
    }
    for source in plan.sources.iter().filter(|s| s.rebinds) {
        if !plan.allowances.allow.contains(&format!("source/{}", source.name)) {
            broken.push(format!("Source {} would be bound anew unasked", source.name));
        }
    }
}

fn each_resource_once(plan: &PlanDocument, broken: &mut Vec<String>) {
    let mut seen = HashSet::with_capacity_and_hasher(plan.changes.len() + plan.unchanged.len(), Default::default());
    for id in plan.changes.iter().map(|c| &c.id).chain(plan.unchanged.iter().map(|u| &u.id)) {
        if !seen.insert(id) {
            broken.push(format!("{id} stands in the plan twice"));
        }
    }
    if !plan.unchanged.is_sorted_by(|a, b| a.id < b.id) {
        broken.push("what is unchanged is out of order".to_owned());
    }
    if !plan.warnings.is_sorted_by(|a, b| a < b) {
        broken.push("the warnings are out of order, or one stands there twice".to_owned());
    }
}

/// Whatever is declared or owned has exactly one place in the plan, and nothing else has one.
fn nothing_in_no_list(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let plan = beside.plan;
    // Whether it is declared or owned, of each that is listed.
    let mut listed: HashMap<&ResourceId, bool> =
        plan.changes.iter().map(|c| &c.id).chain(plan.unchanged.iter().map(|u| &u.id)).map(|id| (id, false)).collect();
    for input in beside.inputs {
        let counts = |c: &&Checked| !c.wants().use_ && !beside.is_given_away(c, input);
        let declared = input.set.manifests().iter().filter(counts).map(|c| c.id());
        for id in declared.chain(input.inventory.rows.keys()) {
            match listed.get_mut(id) {
                Some(is_concerned) => *is_concerned = true,
                // A rebuild lists only what it takes back.
                None if input.purpose == Purpose::Rebuild => {}
                None => broken.push(format!("{id} of Source {} is in no list of the plan", input.spec.name)),
            }
        }
    }
    let mut others: Vec<&ResourceId> = listed.into_iter().filter(|(_, known)| !known).map(|(id, _)| id).collect();
    others.sort();
    broken.extend(others.iter().map(|id| format!("{id} is neither declared nor owned by a Source of the plan")));
}

/// What is not done as people might expect has its reason.
fn says_why(change: &ChangeEntry, broken: &mut Vec<String>) {
    let noted = matches!(change.action, Action::Keep | Action::Release);
    if noted && (change.rule.is_none() || change.reason.is_none()) {
        broken.push(format!("{} has no reason", change.id));
    }
    if noted && !change.fields.is_empty() {
        broken.push(format!("{} would change although nothing is written", change.id));
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
}
