//! Emergency changes: what others wrote to a Source's objects while it was paused.
//!
//! They are left alone until they are in git or given up, however the pause ended. Pure: what counts is what the target's
//! own log says.

use serde_json::Value;

use super::controls::Controls;
use super::log::{LogLine, MOST_FIELDS};
use super::row::Row;
use crate::base::clock::Moment;
use crate::base::pointer::Pointer;

/// One emergency change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmergencyChange {
    /// The field, as the live object has it: entries of lists by the index that they had when it was written; the root is
    /// the whole object.
    pub path: Pointer,
    /// Who wrote it.
    pub actor: String,
    /// When.
    pub at: Moment,
    /// It is no emergency change, but one that was repaired again and again: the loop leaves it alone.
    pub contested: bool,
}

/// What of one object was written in an emergency.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Emergency {
    /// Fields, the latest first.
    pub fields: Vec<EmergencyChange>,
    /// The object itself was deleted.
    pub deleted: Option<EmergencyChange>,
}

impl Emergency {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.deleted.is_none()
    }

    /// Where the changes are; the root is the whole object.
    pub fn places(&self) -> Vec<Pointer> {
        self.fields.iter().chain(&self.deleted).map(|change| change.path.clone()).collect()
    }

    /// The change that a field of the live object lies in, holds, or is.
    pub fn of(&self, path: &Pointer) -> Option<&EmergencyChange> {
        self.fields.iter().find(|change| path.overlaps(&change.path))
    }
}

/// The emergency changes of one object that the Source owns by `row`; `lines` are all writes of it, newest first.
///
/// A field counts if somebody outside wrote it within a pause that was not given up, and no apply has declared it since:
/// then it is in git. What somebody outside writes over it later doesn't make it ordinary; once an apply of any Source
/// has, nothing of it is left. An object that was made anew by hand is nobody's, and no emergency change of ours.
pub fn emergency(controls: &Controls, row: &Row, live: Option<&Value>, lines: &[LogLine]) -> Emergency {
    let mut found = Emergency::default();
    if controls.had_no_pause() {
        return found;
    }
    let by_hand = |line: &LogLine| !line.applied && controls.is_emergency(line.at, line.until);
    if live.is_none() {
        found.deleted = lines.first().filter(|line| line.operation == "deleted" && by_hand(line)).map(|line| {
            EmergencyChange { path: Pointer::root(), actor: line.actor.clone(), at: line.at, contested: false }
        });
        return found;
    }
    let declared = Declared::of(row, live);
    let whole = [Pointer::root()];
    let mut overwritten: Vec<&Pointer> = Vec::new();
    for line in lines {
        if line.uid != row.uid || matches!(line.operation.as_str(), "created" | "replaced" | "deleted") {
            break;
        }
        let fields = if line.fields.len() >= MOST_FIELDS { &whole[..] } else { &line.fields };
        if line.applied {
            overwritten.extend(line.fields.iter().filter(|path| !is_in_list(path)));
        }
        if !by_hand(line) {
            continue;
        }
        let settled = is_no_later(&line.version, &row.version);
        for path in fields {
            let known = found.fields.iter().any(|change| path.is_within(&change.path));
            let in_git = settled && declared.has(path);
            let is_gone = overwritten.iter().any(|later| path.is_within(later));
            if !known && !in_git && !is_gone {
                found.fields.push(EmergencyChange {
                    path: path.clone(),
                    actor: line.actor.clone(),
                    at: line.at,
                    contested: false,
                });
            }
        }
    }
    found
}

/// What the last apply declared: what was left alone then is not among it.
enum Declared {
    All,
    Some(Vec<Pointer>),
}

impl Declared {
    fn of(row: &Row, live: Option<&Value>) -> Self {
        match (row.left_alone, live) {
            (false, _) => Self::All,
            (true, Some(live)) => Self::Some(row.fields.leaves().pointers(live)),
            (true, None) => Self::Some(Vec::new()),
        }
    }

    fn has(&self, path: &Pointer) -> bool {
        match self {
            Self::All => true,
            Self::Some(fields) => fields.iter().any(|field| field.overlaps(path)),
        }
    }
}

/// Whether a path may go through a list, where another entry may have its index by now.
fn is_in_list(path: &Pointer) -> bool {
    path.segments().any(|segment| segment.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a version is the other or came before it; what is no number is told apart by being the same alone.
fn is_no_later(version: &str, than: &str) -> bool {
    match (version.parse::<u128>(), than.parse::<u128>()) {
        (Ok(version), Ok(than)) => version <= than,
        _ => version == than,
    }
}
