//! The planner, through the public API, against a strict model of a target.

#[path = "../support/target.rs"]
mod target;
mod world;

mod actions;
mod binding;
mod grants;
mod identity;
mod lint;
mod order;
mod ownership;
mod pruning;
mod random;
