//! x
use super::{RuleDoc, rule};
pub(super) const RULES: &[RuleDoc] = &[rule("x", "", "", "")];
