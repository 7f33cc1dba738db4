//! Whole stories, told by the command line with real repositories and the real store.

mod chapter;
mod crash;
mod faults;
mod lab;
mod real_sets;
mod secrets;
