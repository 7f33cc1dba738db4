//! From Sources to a plan, and from a reviewed plan to a receipt.
//!
//! **Invariant:** planning is given a [`crate::target::Reader`] and no Writer. **Invariant:** an apply goes
//! on only if the reviewed plan's binding is that of a plan made on the very state that the writer's lock holds fast: anew
//! inside it, or before it on a revision that still stands.

mod context;
mod emergencies;
mod gates;
mod held;
mod known;
mod notices;
mod observe;
mod prepare;
mod read;
mod ready;
mod receipt;
mod recovered;
mod removal;
mod rename;
mod rules;
mod transaction;

pub use crate::base::interrupt::Interrupt;
pub use context::Context;
pub use emergencies::emergencies;
pub use held::Hold;
pub use known::known_commit;
pub use notices::{tell, tell_refused};
pub use observe::observe;
pub(crate) use observe::observe_telling;
pub use prepare::{Prepared, Request, declared, prepare, source_id};
pub(crate) use prepare::{read_as_account, target_fault};
pub(crate) use read::read_applied;
pub use read::{SourceRead, Wanted, seen_commit};
pub use ready::{Reading, Ready};
pub use receipt::{RECEIPT_VERSION, Receipt};
pub use recovered::recovered;
pub use removal::Removal;
pub use rename::rename;
pub use rules::*;
pub use transaction::{ApplyError, ApplyOptions, Refused, Transaction};
