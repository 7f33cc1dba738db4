//! Admission: every manifest passes every rule, or nothing is planned.
//!
//! [`check`] judges the manifests of a commit by all rules that need no live object and makes a [`CheckedSet`];
//! [`on_draft`] has the rules that need one. A [`Rejection`] joins the faults of all stages that could run. The same
//! admission runs for a first apply, a repair and a rollback: there is no other way in.
//!
//! **Invariant: no other constructor.** What is planned was checked; a [`CheckedSet`] is made here alone.

pub mod catalogue;
mod check;
mod checked;
mod declared;
mod dry_run;
mod facts;
mod judge;
mod kinds;
mod left_alone;
pub mod on_draft;
mod quotes;
mod rejection;
mod rules;

pub use check::{check, check_again, check_telling};
pub use checked::{Checked, CheckedSet, Wants};
pub use facts::{TargetFacts, facts};
pub use judge::judge;
pub use left_alone::{LEFT_ALONE, left_alone};
pub use quotes::{Quote, Quotes};
pub use rejection::{Refusal, Rejection};
pub use rules::policies::{Policies, unknown_waivers};

/// The target could not be read.
pub const TARGET_UNREADABLE: crate::base::fault::RuleId = crate::base::fault::RuleId::new("target-unreadable");
/// The account that writes lacks a right.
pub const MISSING_RIGHT: crate::base::fault::RuleId = crate::base::fault::RuleId::new("missing-right");
/// The target's own admission refuses an object.
pub const REFUSED_BY_TARGET: crate::base::fault::RuleId = crate::base::fault::RuleId::new("refused-by-target");
/// A webhook of the target takes no dry run.
pub const DEAF_WEBHOOK: crate::base::fault::RuleId = crate::base::fault::RuleId::new("webhook-without-dry-run");
/// The target's own admission takes an object and warns.
pub const TARGET_WARNING: crate::base::fault::RuleId = crate::base::fault::RuleId::new("target-warning");
/// A finished plan that breaks a promise: a fault of Holdfast's own.
pub const BROKEN_PLAN: crate::base::fault::RuleId = crate::base::fault::RuleId::new("broken-plan");
