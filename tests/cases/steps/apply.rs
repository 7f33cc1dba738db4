//! `apply`.

use serde::Deserialize;

use super::{Kept, Live};
use crate::expected::OneOf;
use crate::ids::Id;
use crate::reasons::Reason;

/// What came of an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ApplyOutcome {
    /// Done.
    Applied,
    /// Refused before the first write.
    Refused,
    /// Failed, and all is as before.
    RolledBack,
    /// Failed, and not all could be undone.
    RolledBackInPart,
    /// Done but for deletes that wait.
    AppliedWithPending,
}

/// A change of the plan file before it is applied.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tamper {
    pub(crate) find: String,
    pub(crate) replace: String,
}

/// Writes that a proxy before a Kubernetes target refuses.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFault {
    #[serde(rename = "refuse_writes_to")]
    _refuse_writes_to: Vec<Id>,
    #[serde(default, rename = "then_refuse_writes_to")]
    _then_refuse_writes_to: Vec<Id>,
}

/// `apply`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Apply {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(crate) plan: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) tamper: Option<Tamper>,
    pub(crate) fault: Option<WriteFault>,
    pub(crate) outcome: OneOf<ApplyOutcome>,
    pub(crate) reason: Option<OneOf<Reason>>,
    pub(crate) moved: Option<Vec<Id>>,
    pub(crate) writes: Option<u64>,
    pub(crate) deletes: Option<u64>,
    #[serde(default)]
    pub(crate) live_after: Live,
    #[serde(default)]
    pub(crate) same_uid: Vec<Id>,
    pub(crate) pending: Option<Vec<Kept>>,
    pub(crate) left_over: Option<Vec<Id>>,
    pub(crate) last_applied: Option<String>,
    #[serde(default)]
    pub(crate) allow_unmerged: bool,
}
