//! No protocol type can be read from outside.
use holdfast::plan::SealedPlan;

fn main() {
    let _: SealedPlan = serde_json::from_str("{}").unwrap();
}
