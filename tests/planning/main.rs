//! The planner, through the public API, against a strict model of a target.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, unreachable_pub)]

#[path = "../support/target.rs"]
mod target;
mod world;

mod actions;
mod binding;
mod grants;
mod identity;
mod leaving;
mod lint;
mod order;
mod ownership;
mod pruning;
mod random;
mod transfers;
