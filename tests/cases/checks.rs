//! The case runner's own checks: they need no engine, only the bank, `sh`, `git` and `python3`.

#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub, reason = "shared with tests")]
#![allow(dead_code, reason = "the modules are those of the runner; its main function is not here")]

mod actions;
mod assign;
mod cluster;
mod command;
#[path = "../support/control_plane.rs"]
mod control_plane;
mod digests;
mod expected;
mod failpoints;
#[path = "../support/hand.rs"]
mod hand;
mod ids;
mod judge;
mod lab;
mod never;
mod perform;
mod pointer;
mod random;
mod reading;
mod reasons;
mod repository;
mod steps;
mod text;
mod verdict;
mod world;

#[cfg(test)]
#[path = "checks/bank.rs"]
mod bank;
#[cfg(test)]
#[path = "checks/naming.rs"]
mod naming;
#[cfg(test)]
#[path = "checks/plans.rs"]
mod plans;
#[cfg(test)]
#[path = "checks/refusing.rs"]
mod refusing;
