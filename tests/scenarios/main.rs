//! Whole stories, told by the command line with real repositories and the real store.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, unreachable_pub)]

mod break_glass;
mod chapter;
mod crash;
mod damaged;
mod depth;
mod drift;
mod export_drift;
mod faults;
mod handover;
mod hold;
mod hold_crash;
mod hostile;
mod incremental;
mod lab;
mod limits;
mod loops;
mod mirrors;
mod moves;
mod plan_files;
mod races;
mod real_sets;
mod rebuilds;
mod reconcile;
mod removals;
mod renames;
mod repair;
mod secrets;
mod serials;
mod status;
mod stopped;
mod taking_over;
mod waves;
