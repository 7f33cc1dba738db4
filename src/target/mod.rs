//! The port of a target: what planning may read and what an apply may write, whatever control plane stands behind it.
//!
//! Three halves: [`Reader`] has no write method, [`DryRunner`]'s one call always asks for a dry run, [`Writer`] alone
//! writes. Planning, status, drift and diff are never given a Writer.

mod definitions;
mod error;
mod follow;
mod gate;
pub mod kubernetes;
mod notice;
mod paths;
mod port;
pub mod sqlite;
mod write;

pub use crate::inventory::LogLine;
pub use definitions::Definitions;
pub use error::TargetError;
pub use follow::{Followed, Group, Told};
pub use gate::{Gate, Passing, UNHEALTHY, Wait};
pub use notice::{About, Notice};
pub use port::{
    Act, Atomicity, Contents, ControlWrite, Deed, DryRunner, Head, History, HistoryEntry, Lacking, Live, LoopWrite,
    Reader, Target, TargetKind, Writer,
};
pub use write::{Asked, Batch, Interrupted, Operation, Recovered, SourceCommit, Staged, Verdict, Write, Written};
