//! Holdfast.
pub mod base;
pub mod source;
