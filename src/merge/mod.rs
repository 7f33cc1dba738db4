//! Structured merge: what a declared object makes of a live one, and who holds which fields.
//!
//! What is declared is its declarer's; every other field is kept. A field that was declared and is no longer is removed
//! if nobody else holds it. Lists merge by the keys that the schema gives, sets as sets, other lists whole. Equal in
//! meaning is equal, and then the live spelling stays.
//!
//! [`merge`] is the planner's and pure; [`apply`] and [`update`] are the embedded control plane's writes. All three stand
//! on one computation that follows the API server's own (structured-merge-diff), step by step.

mod answer;
mod changes;
mod combine;
mod compare;
mod declared;
mod element;
mod engine;
mod error;
mod extract;
mod fields;
mod fields_v1;
mod fieldset;
mod identity;
mod left_alone;
mod managed;
mod normalize;
mod outcome;
mod place;
mod prune;
mod remove;
mod seen;
mod shape;
mod unions;
mod write;

pub use answer::answered;
pub use changes::FieldChange;
pub use compare::differing;
pub use error::MergeError;
pub use extract::extract;
pub use fields::DeclaredFields;
pub use fields_v1::BadFields;
pub use fieldset::FieldSet;
pub use left_alone::counted;
pub use managed::{Entry, ManagedFields, Operation, relieve};
pub use normalize::normalize;
pub use outcome::{Ask, Left, Outcome, Taken, merge};
pub use place::same_place;
pub use seen::seen;
pub use write::{apply, update};
