//! Holdfast's own state in a cluster: ConfigMaps in the state namespace, and Secrets for what may hold values.
//!
//! **Invariant:** what a head names never changes. A change writes new parts under new names and then the head, by
//! compare-and-swap; parts that no head names are garbage, whatever was interrupted.

mod blob;
mod store;

pub(super) use blob::Blob;
pub(super) use store::{APPLY_LABEL, Entry, Head, Kind, LABEL, Store, Told, source_name, told_name};
