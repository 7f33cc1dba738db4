//! What every other room stands on: identifiers, digests, pointers, faults, the clock and safe text.
//!
//! Imports nothing of this crate.

pub mod base64;
pub mod clock;
pub mod columns;
pub mod digest;
pub mod failpoint;
pub mod fault;
pub mod ids;
pub mod interrupt;
pub mod json;
pub mod map;
pub mod path;
pub mod pointer;
pub mod progress;
pub mod resource;
pub mod sensitive;
pub mod server_owned;
pub mod text;
pub mod yaml;
