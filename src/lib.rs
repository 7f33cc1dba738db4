//! Holdfast.
pub mod base;
pub mod manifest;
