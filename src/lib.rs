//! Holdfast.
pub mod base;
pub mod inventory;
pub mod merge;
pub mod schema;
pub mod target;
