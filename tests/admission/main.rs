//! Admission through its public entry: manifests in, a checked set or a report out.

mod real;
mod support;
