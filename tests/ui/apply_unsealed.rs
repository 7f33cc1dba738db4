//! A Plan that is not sealed has nothing that could be applied, and a sealed one can't be built by hand.
use holdfast::plan::document::PlanDocument;
use holdfast::plan::{Plan, SealedPlan};

fn apply(plan: &SealedPlan) {
    let _ = plan;
}

fn misuse(admitted: Plan<'_>, read_from_a_file: PlanDocument) {
    apply(&admitted);
    apply(&read_from_a_file);
    let _ = SealedPlan { document: read_from_a_file };
}

fn main() {}
