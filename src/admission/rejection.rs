//! Everything that is wrong, from all stages that could run. It can be printed and never sealed.

use crate::base::fault::{Fault, Warning};
use crate::base::resource::ResourceId;

use super::quotes::{Quote, Quotes};

/// One fault of the report, with its source line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub fault: Fault,
    /// The line at its place.
    pub quote: Quote,
}

/// A refused plan: no plan comes of it.
///
/// **Invariant: sorted and without repeats**, by file, line, column, rule and text, so that the same input gives the same
/// report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejection {
    refusals: Vec<Refusal>,
    warnings: Vec<Warning>,
    ids: Vec<ResourceId>,
}

impl Rejection {
    /// Nothing wrong so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// One fault.
    pub fn of(fault: Fault) -> Self {
        let mut rejection = Self::default();
        rejection.push(fault);
        rejection
    }

    /// Adds a fault that no line of a file explains.
    pub fn push(&mut self, fault: Fault) {
        self.insert(Refusal { fault, quote: Quote::Nothing });
    }

    /// Adds the faults of a stage, with their source lines.
    pub fn quoted(&mut self, faults: Vec<Fault>, quotes: &Quotes) {
        for fault in faults {
            let quote = fault.at.as_ref().map_or(Quote::Nothing, |at| quotes.quote(at));
            self.refusals.push(Refusal { fault, quote });
        }
        self.settle();
    }

    /// Adds warnings, each once.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Adds resources that were meant to exist.
    pub(super) fn meant(&mut self, ids: Vec<ResourceId>) {
        self.ids.extend(ids);
        self.ids.sort();
        self.ids.dedup();
    }

    /// Joins another one.
    pub fn join(&mut self, other: Self) {
        self.refusals.extend(other.refusals);
        self.settle();
        self.warn(other.warnings);
        self.meant(other.ids);
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.refusals.is_empty()
    }

    /// What is wrong, sorted.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// The faults, sorted.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.refusals.iter().map(|refusal| &refusal.fault)
    }

    /// The first fault's sentence; empty if nothing is wrong.
    pub fn first_text(&self) -> String {
        self.refusals.first().map_or_else(String::new, |refusal| refusal.fault.text.clone())
    }

    /// The first fault's sentence, and how many more there are.
    pub fn in_a_line(&self) -> String {
        match self.refusals.len() {
            0 | 1 => self.first_text(),
            count => format!("{} (and {} more)", self.first_text(), count - 1),
        }
    }

    /// What a reader should know besides.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The resources that could be made out in refused manifests, sorted: they were meant to exist.
    pub fn ids(&self) -> &[ResourceId] {
        &self.ids
    }

    fn insert(&mut self, refusal: Refusal) {
        let at = self.refusals.partition_point(|other| order(&other.fault) < order(&refusal.fault));
        if self.refusals.get(at) != Some(&refusal) {
            self.refusals.insert(at, refusal);
        }
    }

    fn settle(&mut self) {
        self.refusals.sort_by(|a, b| order(&a.fault).cmp(&order(&b.fault)));
        self.refusals.dedup();
    }
}

/// The order of a report: faults without a file come last.
fn order(fault: &Fault) -> impl Ord + '_ {
    let at = fault.at.as_ref();
    (at.is_none(), at.map(|at| (&at.file, at.line, at.column)), fault.rule, &fault.path, &fault.id, &fault.text)
}
