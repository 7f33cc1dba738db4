//! `plan`, and what its report is compared with.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Fields, Kept, Updated};
use crate::expected::{OneOf, SourceSpec};
use crate::ids::{Id, Permission};
use crate::pointer::Pointer;
use crate::reasons::Reason;

/// What came of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PlanOutcome {
    /// Something to do.
    Planned,
    /// Nothing to do.
    NoChange,
    /// A rule refused.
    Refused,
    /// It could not be judged.
    Error,
}

/// Another place that a refusal names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Also {
    pub(crate) file: Option<String>,
    pub(crate) line: Option<OneOf<u64>>,
}

/// One entry of an exact report.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    pub(crate) reason: OneOf<Reason>,
    pub(crate) file: Option<String>,
    /// For people: readers count documents differently.
    #[serde(rename = "doc")]
    pub(crate) _doc: Option<u64>,
    pub(crate) path: Option<Pointer>,
    pub(crate) line: Option<OneOf<u64>>,
    pub(crate) id: Option<Id>,
    #[serde(default)]
    pub(crate) also: Vec<Also>,
    pub(crate) owner: Option<String>,
    #[serde(default)]
    pub(crate) holds: Vec<Id>,
    pub(crate) resource: Option<String>,
    pub(crate) limit: Option<String>,
    pub(crate) used: Option<String>,
    pub(crate) asked: Option<String>,
    #[serde(default)]
    pub(crate) optional: bool,
}

/// A warning, by what it must name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Warned {
    pub(crate) file: Option<String>,
    pub(crate) path: Option<Pointer>,
    pub(crate) id: Option<Id>,
    pub(crate) raw: Option<String>,
}

/// The most that a command may take.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) seconds: Option<f64>,
    pub(crate) mib: Option<f64>,
}

/// What keeps a plan from being judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PlanFault {
    /// The repository is renamed away for this step.
    RepositoryUnreadable,
}

/// `plan`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    #[serde(rename = "note")]
    _note: Option<String>,
    pub(super) source: Option<String>,
    pub(super) sources: Option<Vec<String>>,
    pub(crate) commit: String,
    pub(crate) config: Option<Vec<String>>,
    pub(crate) with: Option<SourceSpec>,
    pub(crate) target: Option<String>,
    pub(crate) save: Option<String>,
    #[serde(default)]
    pub(crate) allow: Vec<Permission>,
    pub(crate) allow_deletes: Option<u64>,
    pub(crate) fault: Option<PlanFault>,
    pub(crate) limits: Option<Limits>,
    pub(crate) outcome: OneOf<PlanOutcome>,
    pub(crate) create: Option<Vec<Id>>,
    pub(crate) update: Option<Vec<Updated>>,
    pub(crate) replace: Option<Vec<Id>>,
    pub(crate) delete: Option<Vec<Id>>,
    pub(crate) keep: Option<Vec<Kept>>,
    pub(crate) adopt: Option<Vec<Id>>,
    pub(crate) transfer: Option<Vec<Id>>,
    #[serde(default)]
    pub(crate) unchanged: Vec<Id>,
    #[serde(default)]
    pub(crate) counts: BTreeMap<Counted, u64>,
    #[serde(default)]
    pub(crate) order: Vec<Vec<Id>>,
    #[serde(default)]
    pub(crate) cascade: BTreeMap<Id, Vec<Id>>,
    #[serde(default)]
    pub(crate) values: BTreeMap<Id, Fields>,
    #[serde(default)]
    pub(crate) warnings: Vec<Warned>,
    #[serde(default)]
    pub(crate) no_other_warnings: bool,
    #[serde(default)]
    pub(crate) refusals: Vec<Refusal>,
    #[serde(default)]
    pub(crate) mentions: Vec<String>,
}

impl Plan {
    /// The Sources that are planned.
    pub(crate) fn planned(&self) -> Vec<String> {
        super::planned(self.source.as_ref(), self.sources.as_ref())
    }
}

/// What `counts` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Counted {
    /// Changes of this action.
    Create,
    /// Changes of this action.
    Update,
    /// Changes of this action.
    Replace,
    /// Changes of this action.
    Delete,
    /// Changes of this action.
    Keep,
    /// Changes of this action.
    Adopt,
    /// Changes of this action.
    Transfer,
    /// Objects that the plan leaves alone.
    Unchanged,
}

impl Counted {
    /// The action, as plans spell it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Keep => "keep",
            Self::Adopt => "adopt",
            Self::Transfer => "transfer",
            Self::Unchanged => "unchanged",
        }
    }
}
