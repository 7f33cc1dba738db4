//! Holdfast.
pub mod base;
pub mod inventory;
pub mod target;
