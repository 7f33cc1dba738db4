//! Holdfast.
pub mod base;
pub mod inventory;
pub mod schema;
pub mod target;
