//! Holdfast.
pub mod base;
pub mod merge;
pub mod schema;
