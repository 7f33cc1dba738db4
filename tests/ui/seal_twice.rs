//! A plan is consumed by its seal.
use holdfast::plan::Plan;

fn misuse(plan: Plan<'_>) {
    let _ = plan.seal(String::new());
    let _ = plan.seal(String::new());
}

fn main() {}
