//! The one place that a permission to delete comes from. Keep it a leaf: it imports nothing that could make one itself.

use std::fmt;

use super::mark::{BadMark, OwnerMark};
use super::row::Row;
use crate::base::ids::{ObjectUid, SourceId};
use crate::base::resource::ResourceId;

/// What is needed of a live object to judge whose it is.
#[derive(Debug, Clone)]
pub struct LiveIdentity<'a> {
    /// The resource that was read.
    pub id: &'a ResourceId,
    /// Its UID.
    pub uid: &'a ObjectUid,
    /// Its owner mark, as far as it can be read.
    pub mark: &'a Result<Option<OwnerMark>, BadMark>,
}

/// Proof that name, object ID and source ownership agree for one live object.
///
/// A delete can't be written without one, and [`PruneWarrant::issue`] is the only way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneWarrant {
    source: SourceId,
    id: ResourceId,
    uid: ObjectUid,
}

/// Which of the three checks failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The row names another resource than was read.
    Name,
    /// The live object has another UID than the row: deleted and made again since.
    Uid {
        /// The UID in the inventory.
        inventory: ObjectUid,
        /// The UID of the live object.
        live: ObjectUid,
    },
    /// It bears no owner mark.
    NoMark,
    /// Its owner mark can't be read.
    BadMark,
    /// Its mark was made for another resource: copied.
    CopiedMark(ResourceId),
    /// Its mark names another Source.
    OtherSource(SourceId),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("the inventory's row names another resource"),
            Self::Uid { inventory, live } => {
                write!(
                    f,
                    "the live object has UID {live}, the inventory {inventory}: it was made again by somebody else"
                )
            }
            Self::NoMark => f.write_str("the live object bears no owner mark"),
            Self::BadMark => f.write_str("the live object's owner mark can't be read"),
            Self::CopiedMark(id) => write!(f, "the live object's owner mark was made for {id}"),
            Self::OtherSource(id) => write!(f, "the live object's owner mark names Source {id}"),
        }
    }
}

impl PruneWarrant {
    /// Checks a row of `source` against the live object: the resource, the UID, and the mark (this Source, this resource).
    ///
    /// # Errors
    /// The first check that fails; then the object is not this Source's to delete.
    pub fn issue(source: &SourceId, row: &Row, live: &LiveIdentity<'_>) -> Result<Self, Mismatch> {
        if row.id != *live.id {
            return Err(Mismatch::Name);
        }
        if row.uid != *live.uid {
            return Err(Mismatch::Uid { inventory: row.uid.clone(), live: live.uid.clone() });
        }
        let mark = live.mark.as_ref().map_err(|_| Mismatch::BadMark)?.as_ref().ok_or(Mismatch::NoMark)?;
        if mark.source != *source {
            return Err(Mismatch::OtherSource(mark.source.clone()));
        }
        if mark.resource != row.id {
            return Err(Mismatch::CopiedMark(mark.resource.clone()));
        }
        Ok(Self { source: source.clone(), id: row.id.clone(), uid: row.uid.clone() })
    }

    /// The Source that may delete.
    pub fn source(&self) -> &SourceId {
        &self.source
    }

    /// The resource that may be deleted.
    pub fn id(&self) -> &ResourceId {
        &self.id
    }

    /// The UID that it must have.
    pub fn uid(&self) -> &ObjectUid {
        &self.uid
    }
}
