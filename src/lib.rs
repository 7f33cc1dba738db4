//! Holdfast.
pub mod admission;
pub mod base;
pub mod inventory;
pub mod plan;
pub mod schema;
pub mod target;
