//! Holdfast.
pub mod base;
pub mod inventory;
pub mod plan;
pub mod schema;
pub mod source;
pub mod target;
