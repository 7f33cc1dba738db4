//! Drift: what differs on the target from what was last applied, by whom and since when. Nothing here writes.
//!
//! [`inspect`] reads; everything below it is pure: [`standing`] says whose an object is now, [`blame`] who wrote a field,
//! [`contest`] whether it was repaired again and again, [`classify`] puts them together, [`added`] finds what others put
//! beside what is declared.
//!
//! **Invariant:** the differences are those of the planner's own Draft, made at the last applied commit and never judged:
//! what a plan calls unchanged is no drift, and what a repair would do is what is reported.

mod added;
mod blame;
mod classify;
mod contest;
mod episode;
mod export;
mod finding;
mod inspect;
mod patch;
mod refusal;
mod standing;
mod status;

pub use added::{Added, added, is_watched};
pub use blame::{Blame, Who, blame};
pub use classify::{Subject, classify};
pub use contest::{Contest, REPAIRS, WINDOW, contest};
pub use episode::{Episode, episodes};
pub use export::{Export, Left, export};
pub use finding::{Drifted, DriftedField, Origin, RECURRING};
pub use inspect::{Inspection, NotRead, inspect};
pub use refusal::{Refusal, last_refusal, recent};
pub use standing::{Standing, standing};
pub use status::{Answer, Beside, ObjectStatus, SourceStatus, Verdict, status};

#[cfg(test)]
mod tests;
