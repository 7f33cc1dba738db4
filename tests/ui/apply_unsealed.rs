//! Neither an admitted plan nor one that was read from a file can stand where a sealed one is asked for.
use holdfast::plan::document::PlanDocument;
use holdfast::plan::{Plan, SealedPlan};

fn apply(_: &SealedPlan) {}

fn misuse(admitted: Plan<'_>, read_from_a_file: PlanDocument) {
    apply(&admitted);
    apply(&read_from_a_file);
}

fn main() {}
