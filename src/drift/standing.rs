//! Whose a declared object is now.

use crate::base::ids::{ObjectUid, SourceId};
use crate::inventory::{Row, SourceRecord};
use crate::plan::Marked;
use crate::target::Head;

/// How a declared object stands to the Source that applied it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Name, UID and owner mark agree.
    Ours,
    /// It is gone.
    Missing,
    /// Deleted and made again by somebody else.
    Recreated {
        /// The UID that the inventory has.
        was: ObjectUid,
        /// The live one.
        is: ObjectUid,
    },
    /// Its owner mark was taken off.
    MarkRemoved,
    /// Its owner mark can't be read, or was made for another resource.
    MarkDamaged,
    /// Its owner mark names another Source.
    TakenOver {
        /// That Source's name, or its ID where the target doesn't know it.
        by: String,
    },
    /// It is there, but the Source's inventory hasn't it.
    NotOwned,
}

impl Standing {
    /// The name in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ours => "changed",
            Self::Missing => "missing",
            Self::Recreated { .. } => "recreated",
            Self::MarkRemoved => "mark-removed",
            Self::MarkDamaged => "mark-damaged",
            Self::TakenOver { .. } => "taken-over",
            Self::NotOwned => "not-owned",
        }
    }

    /// What happened, for people; nothing where only fields differ.
    pub fn text(&self) -> Option<String> {
        Some(match self {
            Self::Ours => return None,
            Self::Missing => "it was deleted".to_owned(),
            Self::Recreated { was, is } => format!("it was deleted and made again (UID {was}, now {is})"),
            Self::MarkRemoved => "its owner mark was taken off".to_owned(),
            Self::MarkDamaged => "its owner mark can't be read, or was made for another object".to_owned(),
            Self::TakenOver { by } => format!("its owner mark names Source {by}"),
            Self::NotOwned => "it is there, and not in this Source's inventory".to_owned(),
        })
    }
}

/// Compares inventory, live identity and owner mark, as every plan does.
pub fn standing(source: &SourceId, row: Option<&Row>, head: Option<&Head>, known: &[SourceRecord]) -> Standing {
    let Some(head) = head else { return Standing::Missing };
    let Some(row) = row else { return Standing::NotOwned };
    if row.uid != head.uid {
        return Standing::Recreated { was: row.uid.clone(), is: head.uid.clone() };
    }
    match Marked::of(head, source, known) {
        Marked::Malformed | Marked::Copied(_) => Standing::MarkDamaged,
        Marked::None => Standing::MarkRemoved,
        Marked::Other(record) => Standing::TakenOver { by: record.name.to_string() },
        Marked::Unknown(other) => Standing::TakenOver { by: other.to_string() },
        Marked::Ours => Standing::Ours,
    }
}
