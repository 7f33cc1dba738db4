//! What a Source owns on a target: owner marks, inventory rows, and the warrant without which nothing is deleted.

mod controls;
mod emergency;
mod log;
mod loop_record;
mod mark;
mod record;
mod row;
mod rows;
mod seen;
mod tool;
mod warrant;

pub use controls::{Actor, Controls, Pause, PauseWindow, Pin, ending};
pub use emergency::{Emergency, EmergencyChange, emergency};
pub use log::{LogLine, MOST_FIELDS};
pub use loop_record::{LoopRecord, LoopRefusal, LoopWaiting};
pub use mark::{BadMark, OWNER_ANNOTATION, OwnerMark};
pub use record::{Binding, FormerName, SourceRecord, present};
pub use row::{Answer, Inventory, Permissions, PrunePermission, Released, Row};
pub use rows::Rows;
pub use seen::seen_digest;
pub use tool::{Keeper, Tool, keepers, managers_of};
pub use warrant::{LiveIdentity, Mismatch, PruneWarrant};
