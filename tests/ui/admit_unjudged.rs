//! A Draft becomes a Plan by way of admission alone.
use holdfast::plan::{Draft, Plan};

fn misuse(draft: Draft<'_>) -> Plan<'_> {
    Plan::admitted(draft, Vec::new())
}

fn main() {}
