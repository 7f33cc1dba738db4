//! The planner: from checked manifests and what the target showed to one complete, ordered, sealed plan.
//!
//! **Invariant:** pure. The same input gives the same bytes; there is no clock, no randomness, no file and no target here.
//!
//! **Invariant:** [`Plan`] is made by admission alone, [`SealedPlan`] by [`Plan::seal`] alone. A [`document::PlanDocument`]
//! that was read from a file can be shown and compared, and never applied.

pub mod binding;
mod change;
mod claim;
mod claimed;
pub mod document;
mod draft;
mod emergency;
mod holdings;
pub mod identity;
mod input;
mod judged;
mod kinds;
mod layout;
pub mod lint;
mod order;
mod ownership;
mod prune;
mod rebuild;
mod removal;
pub mod render;
mod rewritten;
mod scope;
mod seal;
mod serial;
pub mod stored;
mod undo;
mod wanted;
mod warnings;

pub(crate) use change::{Giver, RowChange};
pub use draft::{Draft, draft};
pub(crate) use emergency::refused as emergency_refused;
pub use input::{BadGrant, CommitFacts, Grants, Observed, OtherSource, OutsideSource, SourceInput};
pub(crate) use ownership::Marked;
pub(crate) use removal::EndedRow;
pub use seal::{BrokenPlan, Plan, SealedPlan};
pub(crate) use seal::{Made, SealedSource, Step};
pub use wanted::{FIELD_MANAGER, needs_body};
