//! What an apply hands to a writer.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::gate::Gate;
use crate::base::clock::Moment;
use crate::base::ids::{ApplyId, Manager, ObjectUid, PlanId, SourceId};
use crate::base::interrupt::Interrupt;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::inventory::{PruneWarrant, Released, Row, SourceRecord};
use crate::source::spec::ServiceAccount;

/// One write of an object. What is declared includes the owner mark.
#[derive(Debug, Clone)]
pub enum Write {
    /// Makes a new object; fails if one of that name exists.
    Create {
        /// The resource.
        id: ResourceId,
        /// What is declared.
        declared: Value,
    },
    /// Applies to an object that must exist with this UID and version.
    Apply {
        /// The resource.
        id: ResourceId,
        /// The UID that it must have.
        uid: ObjectUid,
        /// The version that it must have.
        version: String,
        /// What is declared.
        declared: Value,
        /// Managers whose hold on what is declared ends with the write: those of a tool that it is taken over from.
        relieves: Vec<Manager>,
    },
    /// Deletes an object and makes it anew; it must exist with this UID and version. What the garbage collector takes
    /// along goes; a Namespace or definition that holds anything is not replaced.
    Replace {
        /// The resource.
        id: ResourceId,
        /// The UID that it must have.
        uid: ObjectUid,
        /// The version that it must have.
        version: String,
        /// What is declared.
        declared: Value,
    },
    /// Takes the owner mark off an object that is let go; everything else stays.
    Unmark {
        /// The resource.
        id: ResourceId,
        /// The UID that it must have.
        uid: ObjectUid,
        /// The version that it must have.
        version: String,
    },
    /// Deletes an object, and with a Namespace or definition what it holds.
    Delete {
        /// The proof that it is ours.
        warrant: PruneWarrant,
        /// The version that it must have.
        version: String,
        /// Exactly the objects that go along with it: contents, instances, and what only they own. Those that an earlier
        /// write of the batch deletes may be named or not.
        cascade: Vec<ResourceId>,
    },
}

impl Write {
    /// What it declares, if it does.
    pub fn declared(&self) -> Option<&Value> {
        match self {
            Self::Create { declared, .. } | Self::Apply { declared, .. } | Self::Replace { declared, .. } => {
                Some(declared)
            }
            Self::Unmark { .. } | Self::Delete { .. } => None,
        }
    }

    /// The resource written.
    pub fn id(&self) -> &ResourceId {
        match self {
            Self::Create { id, .. } | Self::Apply { id, .. } | Self::Replace { id, .. } | Self::Unmark { id, .. } => id,
            Self::Delete { warrant, .. } => warrant.id(),
        }
    }
}

/// What becomes of one Source's own records in an apply.
#[derive(Debug, Clone)]
pub struct SourceCommit {
    /// The record after the apply; its serial is set by the caller.
    pub record: SourceRecord,
    /// The serial that must be there before.
    pub serial_before: u64,
    /// Rows made or changed. `uid`, `version` and `seen` of written objects are filled in by the writer.
    pub upserts: Vec<Row>,
    /// Rows that end because their object was deleted or went to another Source.
    pub removed: Vec<ResourceId>,
    /// Rows that end because their object isn't ours.
    pub released: Vec<Released>,
}

/// What a batch is, as the operation log calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// An apply of commits.
    Apply,
    /// A Source gets another name.
    Rename,
    /// A Source is removed.
    Remove,
    /// A Source takes back what bears its mark.
    Rebuild,
}

impl Operation {
    /// The word in the operation log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::Rebuild => "rebuild",
        }
    }
}

/// Everything of one apply.
#[derive(Debug)]
pub struct Batch {
    /// What it is.
    pub operation: Operation,
    /// The apply's ID.
    pub apply: ApplyId,
    /// When.
    pub at: Moment,
    /// Who applies, as far as it is known.
    pub actor: String,
    /// The plan, where there is one; recorded.
    pub plan: Option<PlanId>,
    /// Whether a plan that was applied here before is refused: so for a saved one. A plan that was just made may have an
    /// earlier one's ID, when it repairs the same once more.
    pub single_use: bool,
    /// The writes, in the plan's order.
    pub writes: Vec<Write>,
    /// As which account of the target each of the writes is done; `None` is our own.
    pub accounts: Vec<Option<ServiceAccount>>,
    /// Where it waits for the health of what it wrote, in the order of the writes.
    pub gates: Vec<Gate>,
    /// Raised while it waits, all is taken back.
    pub interrupt: Interrupt,
    /// The Sources' records and rows.
    pub sources: Vec<SourceCommit>,
    /// The receipt, as it is stored and printed. In its list `changes` the writer fills in `uid` and `version` of each
    /// entry whose `id` is a resource that it wrote.
    pub receipt: Value,
}

/// A batch with what an adapter worked out before it takes the lock, so that the lock is held for the writing alone.
///
/// A batch as it is can be committed too: then all is worked out inside the lock.
pub struct Staged {
    pub(crate) batch: Batch,
    /// The adapter's own, made by its `stage` and understood by its writer.
    pub(crate) work: Option<Box<dyn Any + Send>>,
}

impl Staged {
    /// What is to be written.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }
}

impl From<Batch> for Staged {
    fn from(batch: Batch) -> Self {
        Self { batch, work: None }
    }
}

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").field("apply", &self.batch.apply).finish_non_exhaustive()
    }
}

/// What one write came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// UID and version of each object written and still there, in the order of the writes.
    pub objects: Vec<(ResourceId, ObjectUid, String)>,
    /// For each Source its serial after the apply.
    pub serials: Vec<(SourceId, u64)>,
    /// The receipt as stored.
    pub receipt: Value,
    /// From the lock to the end of the commit.
    pub held: Duration,
}

/// A write that a target's own admission is asked about.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The write.
    pub write: Write,
    /// What of the object is sensitive, beside what always is.
    pub sensitive: Vec<Pointer>,
    /// As which account of the target; `None` is our own.
    pub account: Option<ServiceAccount>,
}

/// What a target's own admission says to one write.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It would take it, and the object would then be this.
    Admitted {
        /// The object as the target would store it.
        object: Value,
        /// What the target warns of.
        warnings: Vec<String>,
        /// Whether nobody else will have a word: else the same plan writes a webhook that may be called for it.
        whole: bool,
    },
    /// It takes no dry run of this, because of these admission webhooks (by name, sorted), which have side effects.
    Deaf {
        /// Their names.
        webhooks: Vec<String>,
    },
    /// It would refuse it.
    Refused {
        /// Everything that is wrong, with its field where the target names one; values of the request are masked.
        reasons: Vec<(Option<Pointer>, String)>,
        /// Whether it's worth another try.
        retry: bool,
    },
    /// It can't be asked yet: what the write needs is made by the same plan.
    Unreached,
}

/// An apply that was begun and is neither finished nor undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// The apply.
    pub apply: ApplyId,
    /// Its Sources, by name.
    pub sources: Vec<String>,
    /// When it was begun.
    pub at: Moment,
    /// Whether its commit point was reached: then it is finished, else undone.
    pub committed: bool,
}

/// What a recovery did with an interrupted apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The apply.
    pub apply: ApplyId,
    /// Its Sources, by name.
    pub sources: Vec<String>,
    /// Whether it was finished; else it was undone.
    pub finished: bool,
    /// What could not be taken back, with the reason.
    pub left: Vec<(ResourceId, String)>,
}
