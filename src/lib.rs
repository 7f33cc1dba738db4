//! Holdfast.
pub mod admission;
pub mod base;
pub mod inventory;
pub mod manifest;
pub mod merge;
pub mod plan;
pub mod schema;
pub mod source;
pub mod target;
