//! The loop: fetch, observe, diff, apply, report, on each Source's interval.
//!
//! [`Schedule`] and [`decide`] are pure. A tick of one Source is one thread's work; what it remembers beyond the process
//! is on the target (`inventory::LoopRecord`), and what is in memory only saves work.
//!
//! **Invariant:** nothing is written but by an apply of a plan that admission passed, under the same locks as any other
//! apply. **Invariant:** one Source that fails or hangs holds up no other.

mod contested;
mod decide;
mod engine;
mod event;
mod group;
mod memory;
mod newest;
mod notices;
mod run;
mod schedule;
mod tick;
mod watch;

pub use decide::{Decision, Facts, decide};
pub use engine::{Engine, Slots};
pub use event::{Event, Level, Report};
pub use memory::Memory;
pub use run::{Ended, Mode, run};
pub use schedule::{Outcome, Schedule};
