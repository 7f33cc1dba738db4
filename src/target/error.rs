//! What can go wrong at a target. "Could not read" is never "absent".

use crate::base::fault::{Class, Fault};
use crate::base::resource::ResourceId;

/// A failure at a target. Texts hold no object's values.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It can't be opened or reached.
    #[error("the target {target} can't be opened: {reason}")]
    Unavailable {
        /// The target, as its configuration names it.
        target: String,
        /// Why.
        reason: String,
    },
    /// Another process holds it longer than the lock's time-out.
    #[error("the target {target} is locked by another process: {reason}")]
    Locked {
        /// The target.
        target: String,
        /// What was waited for, and for how long.
        reason: String,
    },
    /// What it stores can't be understood.
    #[error("the target {target} is damaged: {reason}")]
    Damaged {
        /// The target.
        target: String,
        /// What was found.
        reason: String,
    },
    /// It was written by a newer Holdfast.
    #[error("the target {target} has format {found}, and this holdfast reads up to {known}: use a newer holdfast")]
    Newer {
        /// The target.
        target: String,
        /// The format found.
        found: u32,
        /// The newest format known.
        known: u32,
    },
    /// What must still hold for a write does not; nothing was written.
    #[error("{id} is no longer as it was planned: {reason}")]
    Precondition {
        /// The resource.
        id: ResourceId,
        /// What differs.
        reason: String,
    },
    /// The target refuses an object, as an API server would; nothing was written.
    #[error("{}", refused(.faults))]
    Refused {
        /// Everything that is wrong; each names its resource.
        faults: Vec<Fault>,
    },
    /// The beginning of an ID that several have.
    #[error("{asked} is the beginning of {count} IDs: write more of it")]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// How many have it.
        count: usize,
    },
    /// A write failed; nothing of the transaction was written.
    #[error("the target {target} could not write: {reason}; nothing was written")]
    WriteFailed {
        /// The target.
        target: String,
        /// Why.
        reason: String,
    },
    /// It failed, and not all of what it wrote could be taken back.
    #[error("the apply failed and was undone but for {}: {reason}", left_over(.left))]
    Partial {
        /// The target.
        target: String,
        /// Why it failed.
        reason: String,
        /// What is left, each with why it isn't ours to take back.
        left: Vec<(ResourceId, String)>,
    },
    /// It was interrupted, and the journal has what is left to do.
    #[error(
        "the apply on {target} is not finished: {reason}; holdfast recover, or the next apply, finishes or undoes it"
    )]
    Unfinished {
        /// The target.
        target: String,
        /// What stopped it.
        reason: String,
    },
    /// Whether a commit took place can't be told.
    #[error(
        "the target {target} failed at the commit itself: {reason}; read its status to learn whether the apply took place"
    )]
    Unknown {
        /// The target.
        target: String,
        /// Why.
        reason: String,
    },
}

impl TargetError {
    /// What the failure waits for; all but what the caller asked for is the target's.
    pub fn class(&self) -> Class {
        match self {
            Self::Precondition { .. } | Self::Refused { .. } | Self::Ambiguous { .. } => Class::Commit,
            _ => Class::Target,
        }
    }
}

fn left_over(left: &[(ResourceId, String)]) -> String {
    left.iter().map(|(id, why)| format!("{id} ({why})")).collect::<Vec<_>>().join(", ")
}

fn refused(faults: &[Fault]) -> String {
    let each = faults.iter().map(|fault| {
        let id = fault.id.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
        let path = fault.path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
        format!("{id}{path}{}", fault.text)
    });
    format!("refused: {}", each.collect::<Vec<_>>().join("; "))
}
