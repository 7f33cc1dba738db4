//! Everything that is wrong, from all stages that could run. It can be printed and never sealed.

use crate::base::fault::{Fault, Warning};
use crate::base::ids::SourceName;

use super::quotes::{Quote, Quotes};

/// One fault of the report, with its source line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The Source whose commit is at fault, where it is one's.
    pub source: Option<SourceName>,
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
}

impl Rejection {
    /// Nothing wrong so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Joins the faults and warnings of one stage of one Source.
    pub fn add(&mut self, source: Option<&SourceName>, faults: Vec<Fault>, warnings: Vec<Warning>, quotes: &Quotes) {
        for fault in faults {
            let quote = fault.at.as_ref().map_or(Quote::Nothing, |at| quotes.quote(at));
            self.refusals.push(Refusal { source: source.cloned(), fault, quote });
        }
        self.refusals.sort_by(|a, b| order(&a.fault).cmp(&order(&b.fault)).then_with(|| a.source.cmp(&b.source)));
        self.refusals.dedup();
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.refusals.is_empty()
    }

    /// What is wrong, sorted.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// What a reader should know besides.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// The order of a report: faults without a file come last.
pub(super) fn order(fault: &Fault) -> impl Ord + '_ {
    let at = fault.at.as_ref();
    (at.is_none(), at.map(|at| (&at.file, at.line, at.column)), fault.rule, &fault.path, &fault.id, &fault.text)
}
