//! Admission through its public entry: manifests in, a checked set or a report out.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, unreachable_pub)]

mod again;
mod ambiguous;
mod annotations;
mod catalogue;
mod declared;
mod definitions;
mod identity;
mod immutable;
mod left_alone;
mod namespaces;
mod policies;
mod quota;
mod real;
mod report;
mod scope;
mod structure;
mod support;
