//! The shapes of kinds: the built-in ones and those of CRDs in one form that checks and merges walk.
//!
//! [`Catalog`] finds the [`KindSchema`] of a kind, [`check`] judges a value by it, [`meaning`] says when two values are
//! the same to the API server. Values are judged as a strict API server would: what it would drop is refused.

mod builtin;
mod catalog;
pub mod cel;
mod check;
pub mod crd;
mod fault;
mod formats;
mod limits;
pub mod meaning;
pub mod names;
pub(crate) mod nearest;
mod node;
mod path;
pub mod quantity;
mod translate;
mod values;

pub use catalog::{Catalog, KindSchema, Origin, UnknownKind, WrongPart};
pub use check::{check, check_update};
pub use fault::{RULES, SchemaFault, rule};
pub use limits::{Limits, Pattern};
pub use node::{AbsentWhen, Additional, Field, Format, Junctors, Kind, ListType, Node, NodeRef, TextFormat};
