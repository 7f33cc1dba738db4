//! The journaled apply: all or nothing until its commit point, in a cluster that knows no transaction.
//!
//! ```text
//! lock -> check -> journal (Applying) -> writes by waves, health between them -> inventories -> commit point (Committed) -> prune -> heads -> close
//! ```
//!
//! Before the commit point a failure or a crash is undone, step by step in reverse; after it the apply is gone forward
//! with. The journal is not written per step: what a step came to is read off the live object ([`judge`]).
//!
//! [`journal`], [`judge`] and [`undo`] are pure.

mod check;
mod close;
mod inventory;
mod journal;
mod judge;
mod lease;
mod prune;
mod recover;
mod sound;
mod step;
mod undo;
mod waiting;
mod writer;

pub(super) use lease::Timing;
pub(super) use recover::{recover_all, unfinished};
pub(super) use writer::{Transaction, give_back, take};
