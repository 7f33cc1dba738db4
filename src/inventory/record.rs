//! What a target knows about a Source.

use serde::{Deserialize, Serialize};

use crate::base::clock::Moment;
use crate::base::ids::{ApplyId, CommitId, Digest, PlanId, SourceId, SourceName};

/// What a Source was bound to at its first apply: another repository, path or unrelated history is refused under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Binding {
    /// The repository's URL in normal form; it holds no credential.
    pub repository: String,
    /// The commits without parents that the applied commit descends from, sorted.
    pub root_commits: Vec<CommitId>,
    /// The path inside the repository, as shown ([`crate::base::path::RepoPath`]'s text).
    pub path: String,
}

/// A name that a Source had before it was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormerName {
    /// The name.
    pub name: SourceName,
    /// When it was given up.
    pub until: Moment,
}

/// A Source as a target keeps it. Written by an apply's own transaction alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SourceRecord {
    /// Its ID: kept by a rename, never reused.
    pub id: SourceId,
    /// Its present name.
    pub name: SourceName,
    /// The names that it had before, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_names: Vec<FormerName>,
    /// What it is bound to.
    pub binding: Binding,
    /// The commit that was last applied.
    pub commit: CommitId,
    /// The plan that brought it.
    pub plan: PlanId,
    /// The apply that brought it.
    pub apply: ApplyId,
    /// When.
    pub applied_at: Moment,
    /// Digest of the Source's specification as applied.
    pub spec: Digest,
    /// Rises when an inventory row changes.
    pub serial: u64,
    /// When it was removed; its ID stays known, so that no mark of its points to nobody.
    pub removed_at: Option<Moment>,
}

impl SourceRecord {
    /// Whether it bore this name before it was renamed.
    pub fn was_called(&self, name: &SourceName) -> bool {
        self.former_names.iter().any(|former| former.name == *name)
    }
}

/// The record of the Source that bears a name now.
pub fn present<'k>(known: &'k [SourceRecord], name: &SourceName) -> Option<&'k SourceRecord> {
    known.iter().find(|record| record.name == *name && record.removed_at.is_none())
}
