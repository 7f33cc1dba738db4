//! How often what happened: a model is worth as much as what its histories come by.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

static TALLY: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// Counts one of a kind.
pub fn count(what: impl Into<String>) {
    *TALLY.lock().unwrap_or_else(PoisonError::into_inner).entry(what.into()).or_default() += 1;
}

/// All that was counted, in order of name.
pub fn told() -> String {
    let tally = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
    tally.iter().map(|(what, times)| format!("  {what}: {times}\n")).collect()
}
