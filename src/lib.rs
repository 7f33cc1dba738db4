//! Holdfast.
pub mod base;
