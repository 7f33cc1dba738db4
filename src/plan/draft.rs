//! The Draft: the pure diff of everything that is declared and owned against what is live, in order.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::change::{Boxed, Change, Giver, Intent, Unchanged};
use super::claim::given_away;
use super::document::{Action, Allowances, Purpose, Undo};
use super::input::{Grants, Observed, OtherSource, SourceInput, Uses};
use super::order::{self, Item};
use super::ownership::OWNED_BY_OTHER;
use super::removal::{self, EndedRow, Removals};
use super::wanted::{Beside, Considered};
use crate::admission::Checked;
use crate::base::fault::{Fault, RuleId, Warning};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;

/// `depends-on` leads back to where it came from.
pub(super) const DEPENDENCY_CYCLE: RuleId = RuleId::new("dependency-cycle");
/// `depends-on` names what no planned Source declares.
pub(super) const DEPENDENCY_OUTSIDE: RuleId = RuleId::new("dependency-outside");
/// The annotation that says what is written before.
const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
/// More objects match an adoption pattern than were allowed.
pub(super) const ADOPTION_COUNT: RuleId = RuleId::new("adoption-count");
/// One resource declared twice; here, by two Sources of one plan.
pub(super) const DUPLICATE_OBJECT: RuleId = RuleId::new("duplicate-object");

/// The pure diff. What it found wrong is in its faults; it becomes a plan only by way of admission.
pub struct Draft<'a> {
    pub(crate) inputs: &'a [SourceInput<'a>],
    pub(crate) observed: &'a Observed,
    pub(crate) others: &'a [OtherSource],
    pub(crate) grants: &'a Grants,
    /// Boxed: they are sorted, and each is large.
    pub(crate) changes: Vec<Boxed<'a>>,
    pub(crate) unchanged: Vec<Unchanged>,
    pub(crate) ended: Vec<EndedRow>,
    deletes_need_allowance: bool,
    /// Webhooks because of which the target takes no dry run, and that are waived.
    pub(super) deaf: BTreeSet<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) warnings: Vec<Warning>,
}

/// Plans the Sources of `inputs` together. Pure: no clock, no randomness, the same answer for the same input.
pub fn draft<'a>(
    inputs: &'a [SourceInput<'a>],
    others: &'a [OtherSource],
    observed: &'a Observed,
    grants: &'a Grants,
) -> Draft<'a> {
    let mut draft = Draft {
        inputs,
        others,
        observed,
        grants,
        changes: Vec::new(),
        unchanged: Vec::new(),
        ended: Vec::new(),
        deletes_need_allowance: false,
        deaf: BTreeSet::new(),
        faults: Vec::new(),
        warnings: Vec::new(),
    };
    draft.consider_wanted();
    draft.refuse_second_claims();
    draft.count_adoptions();
    draft.refuse_claimed();
    draft.consider_removals();
    draft.judge_dependencies();
    draft.order();
    draft.unchanged.sort_by(|a, b| a.entry.id.cmp(&b.entry.id));
    draft
}

impl<'a> Draft<'a> {
    fn consider_wanted(&mut self) {
        let beside = Beside { inputs: self.inputs, observed: self.observed, grants: self.grants };
        for (source, input) in self.inputs.iter().enumerate() {
            if input.purpose == Purpose::Rebuild {
                let taken = beside.take_back(source);
                self.changes.extend(taken.changes.into_iter().map(Box::new));
                self.warnings.extend(taken.warnings);
                self.faults.extend(taken.faults);
                continue;
            }
            if input.purpose.removes() {
                self.warnings.extend(beside.left_marked(source));
            }
            let considered: Vec<_> =
                input.set.manifests().par_iter().map(|checked| beside.consider(source, checked)).collect();
            for (considered, warnings) in considered {
                self.warnings.extend(warnings);
                match considered {
                    Considered::Unchanged(unchanged) => self.unchanged.push(unchanged),
                    Considered::Change(change) => self.changes.push(change),
                    Considered::Fault(fault) => self.faults.push(fault),
                    Considered::Used => {}
                }
            }
        }
    }

    fn consider_removals(&mut self) {
        let Removals { changes, ended, faults, needs_allowance } = removal::removals(removal::Beside {
            inputs: self.inputs,
            others: self.others,
            observed: self.observed,
            grants: self.grants,
            changes: &self.changes,
            unchanged: &self.unchanged,
        });
        for row in &ended {
            let name = &self.inputs[row.source].spec.name;
            let text = format!("the inventory of Source {name} lets {} go: {}", row.id, row.reason);
            self.warnings.push(Warning::new(row.rule, text).id(row.id.clone()));
        }
        self.ended = ended;
        self.deletes_need_allowance = needs_allowance;
        self.faults.extend(faults);
        self.changes.extend(changes);
    }

    /// Judges `depends-on` over all that is declared: a circle is one though only a part of it is written this time.
    fn judge_dependencies(&mut self) {
        let declared = || self.inputs.iter().flat_map(|i| i.set.manifests()).filter(|c| !c.wants().use_);
        if declared().all(|c| c.wants().depends_on.is_empty()) {
            return;
        }
        let all: Vec<&Checked> = declared().collect();
        let items: Vec<Item<'_>> = all.iter().map(|checked| declared_item(checked)).collect();
        if let Err(order::Cycle(ids)) = order::order(&items) {
            let text = "these depend on each other in a circle (config.kubernetes.io/depends-on)";
            self.faults.push(Fault::new(DEPENDENCY_CYCLE, text).holds(ids));
        }
        let known = |id: &ResourceId| self.inputs.iter().any(|input| input.set.get(id).is_some());
        for checked in all {
            for missing in checked.wants().depends_on.iter().filter(|id| !known(id)) {
                let text = format!("it depends on {missing}, which no planned Source declares: that orders nothing");
                let warning = Warning::new(DEPENDENCY_OUTSIDE, text).at(checked.at()).id(checked.id().clone());
                self.warnings.push(warning.path(Pointer::of(["metadata", "annotations", DEPENDS_ON])));
            }
        }
    }

    fn refuse_second_claims(&mut self) {
        if self.inputs.len() < 2 {
            return;
        }
        // That one of them owns it says more.
        let owned: BTreeSet<ResourceId> =
            self.faults.iter().filter(|f| f.rule == OWNED_BY_OTHER).filter_map(|f| f.id.clone()).collect();
        let mut claims = BTreeMap::new();
        for (at, input) in self.inputs.iter().enumerate() {
            let counts = |c: &&Checked| !c.wants().use_ && given_away(self.inputs, self.observed, at, c).is_none();
            for checked in input.set.manifests().iter().filter(counts) {
                if let Some((name, first)) = claims.insert(checked.id(), (&input.spec.name, checked))
                    && !owned.contains(checked.id())
                {
                    let text = format!("Sources {name} and {} both declare it", input.spec.name);
                    self.faults.push(
                        Fault::new(DUPLICATE_OBJECT, text)
                            .at(checked.at())
                            .also(first.at())
                            .id(checked.id().clone())
                            .owner(name.clone())
                            .hint("declare it in one of them; the other may say holdfast.dev/use: \"true\""),
                    );
                }
            }
        }
    }

    /// The permissions that it needs.
    pub(super) fn used_allowances(&self) -> Allowances {
        let of = |wanted: &dyn Fn(&Change<'a>) -> bool| {
            self.changes.iter().filter(|c| wanted(c)).map(|c| &c.entry.id).collect::<BTreeSet<_>>()
        };
        self.grants.used(&Uses {
            deletes: self.deletes_need_allowance,
            allowed: of(&|c| matches!(c.entry.action, Action::Replace | Action::Delete)),
            adopted: of(&|c| is_asked_adoption(c)),
            claims: self.claims().into_keys().collect(),
            released: of(&|c| matches!(c.intent, Intent::Unmark { .. })),
            taken_from: self.changes.iter().filter_map(|change| taken_by_permission(change)).collect(),
            deaf: &self.deaf,
            rebound: self.inputs.iter().filter(|i| i.rebinds).map(|i| &i.spec.name).collect(),
        })
    }

    fn count_adoptions(&mut self) {
        let by_pattern: Vec<ResourceId> = self
            .changes
            .iter()
            .filter(|c| is_asked_adoption(c) && !self.grants.adopts_by_name(&c.entry.id))
            .map(|c| c.entry.id.clone())
            .collect();
        let allowed = self.grants.adoptions().unwrap_or(0);
        if by_pattern.len() > allowed {
            let text = format!(
                "{} objects match the patterns of --adopt, and --allow-adoptions is {allowed}",
                by_pattern.len()
            );
            self.faults.push(Fault::new(ADOPTION_COUNT, text).holds(by_pattern));
        }
    }

    /// Writes by wave and dependency, then deletes in reverse, then what is only noted.
    pub(super) fn order(&mut self) {
        let mut writes = Vec::new();
        let mut deletes = Vec::new();
        let mut notes = Vec::new();
        for change in std::mem::take(&mut self.changes) {
            match change.intent {
                Intent::Create { .. } | Intent::Apply { .. } | Intent::Replace { .. } => writes.push(change),
                Intent::Delete { .. } => deletes.push(change),
                Intent::Unmark { .. } | Intent::Nothing => notes.push(change),
            }
        }
        self.order_writes(writes);
        deletes.sort_by_cached_key(|c| order::delete_key(&c.entry.id, c.entry.wave));
        notes.sort_by(|a, b| a.entry.id.cmp(&b.entry.id));
        self.changes.extend(deletes);
        self.changes.extend(notes);
    }

    fn order_writes(&mut self, mut writes: Vec<Boxed<'a>>) {
        // A stable start makes the order a function of the set alone.
        writes.sort_by(|a, b| (&a.entry.id, a.source).cmp(&(&b.entry.id, b.source)));
        let items: Vec<Item<'_>> = writes.iter().map(|change| item(change)).collect();
        // A circle was found before, over all that is declared; the plan is refused.
        let Ok(ordered) = order::order(&items) else {
            self.changes.extend(writes);
            return;
        };
        let mut slots: Vec<Option<Boxed<'a>>> = writes.into_iter().map(Some).collect();
        for (index, wave) in ordered {
            if let Some(mut change) = slots[index].take() {
                change.entry.wave = wave;
                self.changes.push(change);
            }
        }
    }
}

/// An adoption that is neither the manifest's own word nor one of what another Source let go.
fn is_asked_adoption(change: &Change<'_>) -> bool {
    change.entry.action == Action::Adopt
        && change.entry.from.is_none()
        && change.checked.is_some_and(|manifest| !manifest.wants().adopt)
}

/// The Source outside the plan from which an object is taken on somebody's permission, not on the manifest's word.
fn taken_by_permission<'c>(change: &'c Change<'_>) -> Option<&'c str> {
    let from = change.entry.from.as_ref().filter(|_| !matches!(change.from, Some(Giver::Planned(_))))?;
    let by_manifest = change.checked.is_some_and(|manifest| manifest.wants().adopt_from.as_ref() == Some(from));
    (!by_manifest).then(|| from.as_str())
}

fn item<'b>(change: &'b Change<'_>) -> Item<'b> {
    Item {
        id: &change.entry.id,
        wave: change.entry.wave,
        depends_on: change.checked.map_or(&[], |c| c.wants().depends_on.as_slice()),
        undo: change.entry.undo,
        replaces: change.entry.action == Action::Replace,
        defines: change.checked.and_then(defines),
    }
}

fn declared_item(checked: &Checked) -> Item<'_> {
    let wants = checked.wants();
    let (id, wave, depends_on) = (checked.id(), wants.wave, wants.depends_on.as_slice());
    Item { id, wave, depends_on, undo: Undo::Exact, replaces: false, defines: defines(checked) }
}

/// The group and kind that a CustomResourceDefinition defines.
fn defines(checked: &Checked) -> Option<(&str, &str)> {
    if !checked.id().is_definition() {
        return None;
    }
    let text = |at: &str| checked.declared().pointer(at)?.as_str();
    Some((text("/spec/group")?, text("/spec/names/kind")?))
}
