//! The actions besides `plan` and `apply`.

use std::collections::BTreeMap;

use serde::Deserialize;

use serde_json::Value;

use super::plan::Refusal;
use super::{Fields, Live, Updated};
use crate::expected::OneOf;
use crate::ids::{Id, Permission};
use crate::pointer::Pointer;
use crate::reasons::Reason;

/// `converge`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Converge {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(super) source: Option<String>,
    pub(super) sources: Option<Vec<String>>,
    pub(crate) commit: String,
    #[serde(default)]
    pub(crate) allow: Vec<Permission>,
    pub(crate) allow_deletes: Option<u64>,
}

impl Converge {
    /// The Sources that are planned.
    pub(crate) fn planned(&self) -> Vec<String> {
        super::planned(self.source.as_ref(), self.sources.as_ref())
    }
}

/// A file that somebody puts on the target.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Put {
    /// As it is.
    File(String),
    /// With labels and annotations of a live object.
    WithMetadata(PutWithMetadata),
}

/// A file and the live object whose labels and annotations it takes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutWithMetadata {
    pub(crate) file: String,
    pub(crate) metadata_of: Id,
}

/// `outside`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outside {
    #[serde(rename = "note")]
    _note: Option<String>,
    /// The actor.
    #[serde(rename = "as")]
    pub(crate) actor: String,
    #[serde(default)]
    pub(crate) delete: Vec<Id>,
    #[serde(default)]
    pub(crate) recreate: Vec<Id>,
    #[serde(default)]
    pub(crate) put: Vec<Put>,
    #[serde(default)]
    pub(crate) set: BTreeMap<Id, Fields>,
    #[serde(default)]
    pub(crate) append: BTreeMap<Id, Fields>,
    #[serde(default)]
    pub(crate) unset: BTreeMap<Id, Vec<Pointer>>,
}

/// `drift`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drift {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) source: String,
    pub(crate) drift: Vec<Updated>,
}

/// `auto-revert`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AutoRevert {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) source: String,
    pub(crate) writes: Option<u64>,
    #[serde(default)]
    pub(crate) live_after: Live,
}

/// `rename-source`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenameSource {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) source: String,
    pub(crate) to: String,
    pub(crate) config: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) same_uid: Vec<Id>,
}

/// `remove-source`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveSource {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) allow: Vec<Permission>,
    pub(crate) allow_deletes: Option<u64>,
    pub(crate) outcome: RemoveOutcome,
    #[serde(default)]
    pub(crate) refusals: Vec<Refusal>,
}

/// What came of the removal of a Source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RemoveOutcome {
    /// Done.
    Applied,
    /// Refused.
    Refused,
}

/// `git`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Git {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) script: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
}

/// What all objects must have after a race.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SameValue {
    pub(crate) ids: Vec<Id>,
    pub(crate) path: Pointer,
    pub(crate) one_of: Vec<Value>,
}

/// `race`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Race {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) one_of: Vec<String>,
    #[serde(default)]
    pub(crate) always: Vec<String>,
    pub(crate) reason: OneOf<Reason>,
    pub(crate) same_value: Option<SameValue>,
}

/// A state that a crash may leave.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) last_applied: String,
    pub(crate) live: Live,
}

/// `crash`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Crash {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) plan: String,
    /// Moments of the journaled protocol; the embedded target, one transaction, is cut at its own sync points instead.
    #[serde(rename = "points")]
    _points: Vec<Point>,
    pub(crate) states: Vec<State>,
}

/// A moment of a journaled apply.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Point(String);

impl TryFrom<String> for Point {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let write = text.strip_prefix("after-write-").is_some_and(|k| k.len() == 1 && ("1"..="9").contains(&k));
        if write || ["before-journal", "after-journal", "after-inventory"].contains(&text.as_str()) {
            Ok(Self(text))
        } else {
            Err(format!("unknown point {text:?}"))
        }
    }
}

/// `same-meaning`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SameMeaning {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) source: String,
    pub(crate) file: String,
    pub(crate) template: String,
    pub(crate) pairs: Vec<(String, String)>,
}
