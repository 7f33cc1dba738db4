//! The Draft: the pure diff of everything that is declared and owned against what is live, in order.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::change::{Change, Intent, Unchanged};
use super::document::Action;
use super::input::{Grants, Observed, OtherSource, SourceInput};
use super::kinds;
use super::order::{self, Item};
use super::removal::{self, Removals};
use super::wanted::{Beside, Considered};
use crate::base::fault::{Fault, RuleId, Warning};
use crate::base::resource::ResourceId;

/// `depends-on` leads back to where it came from.
pub const DEPENDENCY_CYCLE: RuleId = RuleId::new("dependency-cycle");
/// More objects match an adoption pattern than were allowed.
pub const ADOPTION_COUNT: RuleId = RuleId::new("adoption-count");
/// One resource declared twice; here, by two Sources of one plan.
pub const DUPLICATE_OBJECT: RuleId = RuleId::new("duplicate-object");

/// The pure diff. What it found wrong is in its faults; it becomes a plan only by way of admission.
pub struct Draft<'a> {
    pub(crate) inputs: &'a [SourceInput<'a>],
    pub(crate) observed: &'a Observed,
    pub(crate) grants: &'a Grants,
    pub(crate) changes: Vec<Change<'a>>,
    pub(crate) unchanged: Vec<Unchanged<'a>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) warnings: Vec<Warning>,
}

/// Plans the Sources of `inputs` together. Pure: no clock, no randomness, the same answer for the same input.
pub fn draft<'a>(
    inputs: &'a [SourceInput<'a>],
    others: &[OtherSource],
    observed: &'a Observed,
    grants: &'a Grants,
) -> Draft<'a> {
    let mut draft = Draft {
        inputs,
        observed,
        grants,
        changes: Vec::new(),
        unchanged: Vec::new(),
        faults: Vec::new(),
        warnings: Vec::new(),
    };
    draft.consider_wanted();
    draft.refuse_second_claims();
    draft.count_adoptions();
    let Removals { changes, faults } = removal::removals(inputs, others, observed, grants, &draft.changes);
    draft.faults.extend(faults);
    draft.changes.extend(changes);
    draft.order();
    draft.unchanged.sort_by(|a, b| a.entry.id.cmp(&b.entry.id));
    draft
}

impl<'a> Draft<'a> {
    fn consider_wanted(&mut self) {
        let beside = Beside { inputs: self.inputs, observed: self.observed, grants: self.grants };
        for (source, input) in self.inputs.iter().enumerate() {
            let considered: Vec<_> =
                input.set.manifests().par_iter().map(|checked| beside.consider(source, checked)).collect();
            for (considered, warnings) in considered {
                self.warnings.extend(warnings);
                match considered {
                    Considered::Unchanged(unchanged) => self.unchanged.push(unchanged),
                    Considered::Change(change) => self.changes.push(*change),
                    Considered::Fault(fault) => self.faults.push(fault),
                    Considered::Used => {}
                }
            }
        }
    }

    fn refuse_second_claims(&mut self) {
        if self.inputs.len() < 2 {
            return;
        }
        let mut claims = BTreeMap::new();
        for input in self.inputs {
            for checked in input.set.manifests().iter().filter(|c| !c.wants().use_) {
                if let Some((name, first)) = claims.insert(checked.id(), (&input.spec.name, checked)) {
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

    fn count_adoptions(&mut self) {
        let by_pattern: Vec<ResourceId> = self
            .changes
            .iter()
            .filter(|c| c.entry.action == Action::Adopt)
            .filter(|c| !self.grants.adopts_by_name(&c.entry.id) && c.checked.is_some_and(|m| !m.wants().adopt))
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
        deletes.sort_by_key(|c| {
            let defines = kinds::is_definition(&c.entry.id);
            order::delete_key(&c.entry.id, c.entry.wave, defines)
        });
        notes.sort_by(|a, b| a.entry.id.cmp(&b.entry.id));
        self.changes.extend(deletes);
        self.changes.extend(notes);
    }

    fn order_writes(&mut self, mut writes: Vec<Change<'a>>) {
        // A stable start makes the order a function of the set alone.
        writes.sort_by(|a, b| a.entry.id.cmp(&b.entry.id));
        let items: Vec<Item<'_>> = writes.iter().map(item).collect();
        let ordered = match order::order(&items) {
            Ok(ordered) => ordered,
            Err(order::Cycle(ids)) => {
                let text = "these depend on each other in a circle (config.kubernetes.io/depends-on)";
                self.faults.push(Fault::new(DEPENDENCY_CYCLE, text).holds(ids));
                return;
            }
        };
        let mut slots: Vec<Option<Change<'a>>> = writes.into_iter().map(Some).collect();
        for (index, wave) in ordered {
            if let Some(mut change) = slots[index].take() {
                change.entry.wave = wave;
                self.changes.push(change);
            }
        }
    }
}

fn item<'b>(change: &'b Change<'_>) -> Item<'b> {
    let declared = change.checked;
    let defines = declared.filter(|c| kinds::is_definition(c.id())).and_then(|c| {
        Some((c.declared().pointer("/spec/group")?.as_str()?, c.declared().pointer("/spec/names/kind")?.as_str()?))
    });
    Item {
        id: &change.entry.id,
        wave: change.entry.wave,
        depends_on: declared.map_or(&[], |c| c.wants().depends_on.as_slice()),
        undo: change.entry.undo,
        replaces: change.entry.action == Action::Replace,
        defines,
    }
}
