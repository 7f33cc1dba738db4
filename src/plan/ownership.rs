//! Whose a live object is: the truth table that every plan goes by.
//!
//! | mark \ inventory UID | equal | different | absent |
//! |---|---|---|---|
//! | none | unowned | unowned | unowned |
//! | ours | **ours** | unowned | unowned |
//! | another Source's | theirs | theirs | theirs |
//! | unknown Source's | theirs | theirs | theirs |
//! | copied (made for another resource) | unowned | unowned | unowned |
//! | malformed | unreadable | unreadable | unreadable |
//!
//! Wanted: *ours* is applied; *unowned* needs an adoption that was asked for; *theirs* needs a transfer; *unreadable* is
//! refused. Not wanted any more: *ours* may be deleted with a warrant; everything else is kept and its row released.

use crate::base::fault::RuleId;
use crate::base::ids::SourceId;
use crate::base::resource::ResourceId;
use crate::inventory::{OwnerMark, Row, SourceRecord};
use crate::target::Head;

/// A live object that this Source doesn't own and nobody else does.
pub(super) const EXISTS_UNOWNED: RuleId = RuleId::new("exists-unowned");
/// A live object that another Source owns.
pub(super) const OWNED_BY_OTHER: RuleId = RuleId::new("owned-by-other");
/// A live object whose UID is not the inventory's.
pub(super) const UID_MISMATCH: RuleId = RuleId::new("uid-mismatch");
/// A live object whose owner mark isn't this Source's for this resource.
pub(super) const OWNER_MISMATCH: RuleId = RuleId::new("owner-mismatch");

/// What the owner mark of a live object says, from one Source's point of view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkState<'a> {
    /// It bears none.
    None,
    /// This Source's, for this resource.
    Ours,
    /// That of a Source which the target knows.
    Other(&'a SourceRecord),
    /// That of a Source which the target doesn't know.
    Unknown(SourceId),
    /// This Source's or another's, but made for another resource.
    Copied(ResourceId),
    /// It can't be read.
    Malformed,
}

impl<'a> MarkState<'a> {
    /// Reads the mark of a live object for the Source `ours`.
    pub(super) fn of(head: &Head, ours: &SourceId, known: &'a [SourceRecord]) -> Self {
        let mark = match &head.mark {
            Err(_) => return Self::Malformed,
            Ok(None) => return Self::None,
            Ok(Some(mark)) => mark,
        };
        let OwnerMark { source, resource, .. } = mark;
        if *resource != head.id {
            return Self::Copied(resource.clone());
        }
        if source == ours {
            return Self::Ours;
        }
        known.iter().find(|r| r.id == *source).map_or_else(|| Self::Unknown(source.clone()), Self::Other)
    }
}

/// How the UID in the inventory compares with the live one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UidState {
    /// The same.
    Equal,
    /// Another: deleted and made again.
    Different,
    /// The inventory has no row.
    Absent,
}

impl UidState {
    /// Compares.
    pub(super) fn of(row: Option<&Row>, head: &Head) -> Self {
        match row {
            None => Self::Absent,
            Some(row) if row.uid == head.uid => Self::Equal,
            Some(_) => Self::Different,
        }
    }
}

/// Whose a live object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ownership<'a> {
    /// This Source's: name, UID and mark agree.
    Ours,
    /// Nobody's that can be proven; the reason is for people, the rule for a kept delete.
    Unowned {
        /// [`UID_MISMATCH`] or [`OWNER_MISMATCH`], as a kept delete names it.
        rule: RuleId,
        /// Why it isn't this Source's.
        reason: String,
    },
    /// Another Source's.
    Theirs {
        /// It, if the target knows it.
        record: Option<&'a SourceRecord>,
        /// Why.
        reason: String,
    },
    /// Its mark can't be read, so it is not known whose it is.
    Unreadable,
}

/// Looks a live object up in the table.
pub(super) fn ownership<'a>(mark: &MarkState<'a>, uid: UidState) -> Ownership<'a> {
    match (mark, uid) {
        (MarkState::Ours, UidState::Equal) => Ownership::Ours,
        (MarkState::Ours, UidState::Different) => Ownership::Unowned {
            rule: UID_MISMATCH,
            reason: "it bears this Source's mark, but was made again since the last apply (another UID)".to_owned(),
        },
        (MarkState::Ours, UidState::Absent) => Ownership::Unowned {
            rule: OWNER_MISMATCH,
            reason: "it bears this Source's mark, but stands in no inventory".to_owned(),
        },
        (MarkState::None, UidState::Equal) => {
            Ownership::Unowned { rule: OWNER_MISMATCH, reason: "its owner mark was taken off".to_owned() }
        }
        (MarkState::None, UidState::Different) => Ownership::Unowned {
            rule: UID_MISMATCH,
            reason: "somebody else made it again since the last apply (another UID, no owner mark)".to_owned(),
        },
        (MarkState::None, UidState::Absent) => {
            Ownership::Unowned { rule: OWNER_MISMATCH, reason: "it exists and no Source owns it".to_owned() }
        }
        (MarkState::Copied(of), uid) => Ownership::Unowned {
            rule: if uid == UidState::Different { UID_MISMATCH } else { OWNER_MISMATCH },
            reason: format!("its owner mark was copied from {of} and proves nothing"),
        },
        (MarkState::Other(record), _) => Ownership::Theirs {
            record: Some(record),
            reason: match record.removed_at {
                None => format!("Source {} owns it", record.name),
                Some(_) => format!("Source {}, since removed, owned it", record.name),
            },
        },
        (MarkState::Unknown(id), _) => Ownership::Theirs {
            record: None,
            reason: format!("its owner mark names Source {id}, which this target doesn't know"),
        },
        (MarkState::Malformed, _) => Ownership::Unreadable,
    }
}
