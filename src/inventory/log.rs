//! A line of a target's operation log.

use crate::base::clock::Moment;
use crate::base::ids::ObjectUid;
use crate::base::pointer::Pointer;

/// A line names no more fields than these; one with so many may have changed others too.
pub const MOST_FIELDS: usize = 200;

/// One write of one object, as the operation log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The entry that it belongs to (`target::HistoryEntry`).
    pub entry: String,
    /// When; where the target keeps times more roughly, the beginning of what it may have been.
    pub at: Moment,
    /// The end of it.
    pub until: Moment,
    /// Who, as the target knows or was told.
    pub actor: String,
    /// Whether the actor is only what was said (`--as`): a claim.
    pub claimed: bool,
    /// Whether an apply of a Source wrote it; else somebody outside did.
    pub applied: bool,
    /// `created`, `updated`, `replaced`, `released` or `deleted`.
    pub operation: String,
    /// The UID that the object had.
    pub uid: ObjectUid,
    /// The resourceVersion that it had then; of a deleted one the number of its delete.
    pub version: String,
    /// The fields that changed, where it was there before; never a value. At most [`MOST_FIELDS`]. Entries of lists stand
    /// by their index at that time.
    pub fields: Vec<Pointer>,
}
