//! The case runner's own checks: they need no engine, only the bank, `sh`, `git` and `python3`.

#![allow(dead_code, reason = "the modules are those of the runner; its main function is not here")]

mod actions;
mod assign;
mod command;
mod digests;
mod expected;
mod failpoints;
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
