//! What people write (Sources, Targets, their defaults) and the git side: mirror, commit, checkout.
//!
//! Objects are read from a commit's tree in a bare mirror, never from a work tree: no filters, no hooks, no links of
//! the file system.

pub mod checkout;
pub mod config;
pub mod digest;
pub mod limits;
mod mask;
pub mod mirror;
pub mod refs;
pub mod rules;
pub mod scope;
pub mod spec;
pub mod target;
pub mod url;
pub mod worktree;
