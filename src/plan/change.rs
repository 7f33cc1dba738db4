//! A Change as planning makes it: the entry that people read, and what an apply would do.

use std::sync::Arc;

use serde_json::Value;

use super::document::{ChangeEntry, UnchangedEntry};
use crate::admission::Checked;
use crate::base::ids::{Manager, ObjectUid};
use crate::base::resource::ResourceId;
use crate::inventory::{OwnerMark, PruneWarrant, Row};
use crate::target::{Live, Write};

/// What an apply does for one Change. It can be had from a sealed plan alone.
#[derive(Debug, Clone)]
pub(crate) enum Intent {
    /// Make the object.
    Create { declared: Arc<Value> },
    /// Apply to the live object.
    Apply { uid: ObjectUid, version: String, declared: Arc<Value>, relieves: Vec<Manager> },
    /// Delete and make anew.
    Replace { uid: ObjectUid, version: String, declared: Arc<Value> },
    /// Delete.
    Delete { warrant: PruneWarrant, version: String, cascade: Vec<ResourceId> },
    /// Take the owner mark off.
    Unmark { uid: ObjectUid, version: String },
    /// Nothing on the target.
    Nothing,
}

impl Intent {
    /// The write that it comes to; what is declared bears the mark. `None` where no object is written.
    pub(crate) fn into_write(self, mark: OwnerMark) -> Option<Write> {
        let marked = |declared: Arc<Value>| {
            let mut declared = Arc::unwrap_or_clone(declared);
            mark.put_on(&mut declared);
            declared
        };
        let id = mark.resource.clone();
        Some(match self {
            Self::Nothing => return None,
            Self::Create { declared } => Write::Create { declared: marked(declared), id },
            Self::Apply { uid, version, declared, relieves } => {
                Write::Apply { declared: marked(declared), id, uid, version, relieves }
            }
            Self::Replace { uid, version, declared } => Write::Replace { declared: marked(declared), id, uid, version },
            Self::Unmark { uid, version } => Write::Unmark { id, uid, version },
            Self::Delete { warrant, version, cascade } => Write::Delete { warrant, version, cascade },
        })
    }
}

/// What becomes of inventory rows with one Change.
#[derive(Debug, Clone)]
pub(crate) enum RowChange {
    /// The row as it will be; UID, version and seen are the writer's where it writes the object.
    Upsert(Box<Row>),
    /// It ends: the object is deleted or gone.
    Remove,
    /// It ends: the object isn't ours, for this reason.
    Release { uid: ObjectUid, reason: String },
    /// It stays.
    Stay,
}

/// Which Source gives an object up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Giver {
    /// One of the plan, by its index.
    Planned(usize),
    /// One outside the plan, by its index in what was observed.
    Outside(usize),
}

/// One Change of a Draft or Plan.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) entry: ChangeEntry,
    /// Index of the Source in the plan.
    pub(crate) source: usize,
    /// The Source that gives the object up.
    pub(crate) from: Option<Giver>,
    pub(crate) intent: Intent,
    pub(crate) row: RowChange,
    pub(crate) checked: Option<&'a Checked>,
    pub(crate) live: Option<&'a Live>,
    /// The object as it would be, where that is neither what is declared nor what is live.
    pub(crate) after: Option<Arc<Value>>,
}

/// A Change where many are sorted and handed on: each is large.
pub(crate) type Boxed<'a> = Box<Change<'a>>;

impl<'a> Change<'a> {
    /// The object as it would be after the Change; `None` if there would be none.
    pub(crate) fn after(&'a self) -> Option<&'a Value> {
        match &self.intent {
            Intent::Delete { .. } => None,
            Intent::Create { declared } | Intent::Replace { declared, .. } => Some(declared),
            _ => self.after.as_deref().or(self.live.map(|l| &l.object)),
        }
    }
}

/// A resource that stays as it is.
#[derive(Debug)]
pub(crate) struct Unchanged {
    pub(crate) entry: UnchangedEntry,
    pub(crate) source: usize,
    /// The row, where its bookkeeping (file, line, commit) moves on.
    pub(crate) row: Option<Box<Row>>,
}
