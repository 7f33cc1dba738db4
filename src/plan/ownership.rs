//! Whose a live object is: the truth table that every plan goes by.
//!
#![doc = include_str!("ownership.md")]

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It bears none.
    None,
    /// This Source's, for this resource.
    Ours,
    /// That of a Source which the target knows.
    Other,
    /// That of a Source which was removed from the target.
    Removed,
    /// That of a Source which the target doesn't know.
    Unknown,
    /// This Source's or another's, but made for another resource.
    Copied,
    /// It can't be read.
    Malformed,
}

/// How the UID in this Source's inventory compares with the live one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uid {
    /// The same.
    Equal,
    /// Another: deleted and made again.
    Different,
    /// The inventory has no row.
    Absent,
}

/// Whether the person who plans, or the manifest, asks for an adoption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// No.
    No,
    /// Yes.
    Yes,
}

/// What becomes of a live object that the Source declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    /// Name, UID and mark agree: it is applied.
    Ours,
    /// It becomes this Source's, unless the control plane or a controller owns it.
    Adopted,
    /// Refused: nobody's that can be proven.
    Unowned,
    /// Refused, unless it is transferred with the consent of both Sources.
    Theirs,
    /// Refused: whose it is can't be read.
    Unreadable,
}

/// What becomes of a live object that the Source no longer declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// Name, UID and mark agree: it is deleted with a warrant, or kept for a reason of its own.
    Ours,
    /// Kept, and the row is let go: it was made again by somebody else.
    OtherUid,
    /// Kept, and the row is let go: its mark isn't this Source's for this resource.
    OtherMark,
    /// The inventory has no row: it isn't looked at.
    Unconcerned,
}

/// The half of the table for what is declared.
pub(super) const fn declared(mark: Mark, uid: Uid, asked: Asked) -> Declared {
    match (mark, uid, asked) {
        (Mark::Ours, Uid::Equal, Asked::No | Asked::Yes) => Declared::Ours,
        (Mark::Ours, Uid::Different | Uid::Absent, Asked::Yes)
        | (Mark::None | Mark::Copied, Uid::Equal | Uid::Different | Uid::Absent, Asked::Yes) => Declared::Adopted,
        (Mark::Ours, Uid::Different | Uid::Absent, Asked::No)
        | (Mark::None | Mark::Copied, Uid::Equal | Uid::Different | Uid::Absent, Asked::No) => Declared::Unowned,
        (
            Mark::Other | Mark::Removed | Mark::Unknown,
            Uid::Equal | Uid::Different | Uid::Absent,
            Asked::No | Asked::Yes,
        ) => Declared::Theirs,
        (Mark::Malformed, Uid::Equal | Uid::Different | Uid::Absent, Asked::No | Asked::Yes) => Declared::Unreadable,
    }
}

/// The half of the table for what is no longer declared; that an adoption was asked for changes nothing there.
pub(super) const fn gone(mark: Mark, uid: Uid) -> Gone {
    match (mark, uid) {
        (Mark::Ours, Uid::Equal) => Gone::Ours,
        (Mark::None | Mark::Ours | Mark::Copied, Uid::Different) => Gone::OtherUid,
        (Mark::None | Mark::Copied, Uid::Equal)
        | (Mark::Other | Mark::Removed | Mark::Unknown | Mark::Malformed, Uid::Equal | Uid::Different) => {
            Gone::OtherMark
        }
        (
            Mark::None | Mark::Ours | Mark::Other | Mark::Removed | Mark::Unknown | Mark::Copied | Mark::Malformed,
            Uid::Absent,
        ) => Gone::Unconcerned,
    }
}

/// What the owner mark of a live object says, with who and what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Marked<'a> {
    /// It bears none.
    None,
    /// This Source's, for this resource.
    Ours,
    /// That of a Source which the target knows, removed or not.
    Other(&'a SourceRecord),
    /// That of a Source which the target doesn't know.
    Unknown(SourceId),
    /// Made for another resource.
    Copied(ResourceId),
    /// It can't be read.
    Malformed,
}

impl<'a> Marked<'a> {
    /// Reads the mark of a live object for the Source `ours`.
    pub(crate) fn of(head: &Head, ours: &SourceId, known: &'a [SourceRecord]) -> Self {
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

    /// Its place in the table.
    pub(super) fn mark(&self) -> Mark {
        match self {
            Self::None => Mark::None,
            Self::Ours => Mark::Ours,
            Self::Other(record) if record.removed_at.is_some() => Mark::Removed,
            Self::Other(_) => Mark::Other,
            Self::Unknown(_) => Mark::Unknown,
            Self::Copied(_) => Mark::Copied,
            Self::Malformed => Mark::Malformed,
        }
    }

    /// Why the object isn't this Source's, for people.
    pub(super) fn why(&self, uid: Uid) -> String {
        match (self, uid) {
            (Self::Ours, Uid::Equal) => "it is this Source's".to_owned(),
            (Self::Ours, Uid::Different) => {
                "it bears this Source's mark, but was made again since the last apply (another UID)".to_owned()
            }
            (Self::Ours, Uid::Absent) => "it bears this Source's mark, but stands in no inventory".to_owned(),
            (Self::None, Uid::Equal) => "its owner mark was taken off".to_owned(),
            (Self::None, Uid::Different) => {
                "somebody else made it again since the last apply (another UID, no owner mark)".to_owned()
            }
            (Self::None, Uid::Absent) => "it exists and no Source owns it".to_owned(),
            (Self::Copied(of), _) => format!("its owner mark was copied from {of} and proves nothing"),
            (Self::Other(record), _) => match record.removed_at {
                None => format!("Source {} owns it", record.name),
                Some(_) => format!("Source {}, since removed, owned it", record.name),
            },
            (Self::Unknown(id), _) => {
                format!("its owner mark names Source {id}, which this target doesn't know")
            }
            (Self::Malformed, _) => "its owner mark can't be read".to_owned(),
        }
    }
}

impl Uid {
    /// Compares.
    pub(super) fn of(row: Option<&Row>, head: &Head) -> Self {
        match row {
            None => Self::Absent,
            Some(row) if row.uid == head.uid => Self::Equal,
            Some(_) => Self::Different,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: [(Mark, &str); 7] = [
        (Mark::None, "none"),
        (Mark::Ours, "ours"),
        (Mark::Other, "another Source's"),
        (Mark::Removed, "a removed Source's"),
        (Mark::Unknown, "an unknown Source's"),
        (Mark::Copied, "copied (made for another resource)"),
        (Mark::Malformed, "malformed"),
    ];
    const UIDS: [(Uid, &str); 3] = [(Uid::Equal, "equal"), (Uid::Different, "different"), (Uid::Absent, "absent")];

    fn word(verdict: Declared) -> &'static str {
        match verdict {
            Declared::Ours => "**applied**",
            Declared::Adopted => "adopted",
            Declared::Unowned => "refused: `exists-unowned`",
            Declared::Theirs => "refused: `owned-by-other`",
            Declared::Unreadable => "refused: `owner-mismatch`",
        }
    }

    fn end(verdict: Gone) -> &'static str {
        match verdict {
            Gone::Ours => "**deleted**, or kept with its reason",
            Gone::OtherUid => "kept, row let go: `uid-mismatch`",
            Gone::OtherMark => "kept, row let go: `owner-mismatch`",
            Gone::Unconcerned => "not concerned",
        }
    }

    /// The table as the docs have it: UIDs of the same verdicts share a row.
    fn table() -> String {
        let mut out =
            "| owner mark | UID in the inventory | declared | declared, adoption asked | no longer declared |\n\
                       |---|---|---|---|---|\n"
                .to_owned();
        for (mark, name) in MARKS {
            let mut rows: Vec<(Vec<&str>, String)> = Vec::new();
            for (uid, uid_name) in UIDS {
                let cells = format!(
                    "{} | {} | {}",
                    word(declared(mark, uid, Asked::No)),
                    word(declared(mark, uid, Asked::Yes)),
                    end(gone(mark, uid))
                );
                match rows.last_mut() {
                    Some((uids, same)) if *same == cells => uids.push(uid_name),
                    _ => rows.push((vec![uid_name], cells)),
                }
            }
            for (uids, cells) in rows {
                out.push_str(&format!("| {name} | {} | {cells} |\n", uids.join(", ")));
            }
        }
        out
    }

    #[test]
    fn the_table_stands_in_the_docs_and_the_readme_as_the_code_has_it() {
        let table = table();
        assert!(include_str!("ownership.md").contains(&table), "src/plan/ownership.md should have:\n{table}");
        assert!(include_str!("../../README.md").contains(&table), "README.md should have:\n{table}");
    }

    #[test]
    fn only_name_uid_and_mark_together_make_an_object_ours_and_nothing_else_is_ever_deleted() {
        for (mark, _) in MARKS {
            for (uid, _) in UIDS {
                let all_agree = (mark, uid) == (Mark::Ours, Uid::Equal);
                assert_eq!(gone(mark, uid) == Gone::Ours, all_agree, "{mark:?} {uid:?}");
                for asked in [Asked::No, Asked::Yes] {
                    assert_eq!(declared(mark, uid, asked) == Declared::Ours, all_agree, "{mark:?} {uid:?}");
                }
                assert_ne!(declared(mark, uid, Asked::No), Declared::Adopted, "{mark:?} {uid:?}: unasked");
            }
        }
    }
}
