//! Inventory rows: one for every object that a Source owns.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::Rows;
use crate::base::clock::Moment;
use crate::base::ids::{ApplyId, CommitId, Digest, ObjectUid, SourceId, SourceName};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::merge::DeclaredFields;

/// What a manifest said about its own removal when it was last applied. A removal counts only what stands here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrunePermission {
    /// Nothing: deleted if ordinary, kept if protected.
    #[default]
    Unsaid,
    /// `holdfast.dev/prune: keep`: never deleted.
    Keep,
    /// `holdfast.dev/prune: allow`: deleted although protected.
    Allow,
}

/// Permissions that a manifest gave, as the last applied commit had them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Permissions {
    /// What it said about its removal.
    pub prune: PrunePermission,
    /// The Source that it was released to before it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_to: Option<SourceName>,
}

/// A field that the target made something else of than was declared: a default inside a list that is one value, or the
/// word of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Where, in the object as the target answered.
    pub path: Pointer,
    /// What stands there; `None` where it left something out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Something else was declared there; not only that the target filled something in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewritten: bool,
    /// What stands there is sensitive, so that the place alone is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// One object that a Source owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Row {
    /// The resource.
    pub id: ResourceId,
    /// The UID that the object had when it was last written or found unchanged.
    pub uid: ObjectUid,
    /// The API version that it was declared in.
    pub api_version: String,
    /// The file that declared it, as shown.
    pub file: String,
    /// The line where its document starts.
    pub line: u32,
    /// Its wave: removals go in reverse.
    pub wave: i32,
    /// The commit that brought what is declared now.
    pub commit: CommitId,
    /// Digest of what is declared; of a sensitive object, of what is not sensitive in it.
    pub declared: Digest,
    /// The fields that were declared; stored as `fieldsV1`.
    pub fields: DeclaredFields,
    /// The object's resourceVersion after the last apply: while it stands, nobody wrote the object since.
    pub version: String,
    /// Digest of what was seen at these fields after the last apply.
    pub seen: Digest,
    /// Something declared was left alone (replicas under an autoscaler, `ignoreDrift`): compare anew at every plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_alone: bool,
    /// What the Source's `sensitive` names in objects of this kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitive: Vec<Pointer>,
    /// Permissions that the manifest gave.
    #[serde(default)]
    pub permissions: Permissions,
    /// Where the target answered something else than was declared; while that stands, it is no drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
}

impl Row {
    /// Where something else stands than was declared, for the target rewrote it.
    pub fn rewritten(&self) -> impl Iterator<Item = &Pointer> {
        self.answers.iter().filter(|answer| answer.rewritten).map(|answer| &answer.path)
    }

    /// Whether it says the same as another, whatever was seen live: a repair leaves such a row behind.
    pub fn says_the_same(&self, other: &Self) -> bool {
        // Spelled out, so that a field that is added can't be forgotten here.
        let Self {
            id,
            uid,
            api_version,
            file,
            line,
            wave,
            commit,
            declared,
            fields,
            version: _,
            seen: _,
            left_alone,
            sensitive,
            permissions,
            answers: _,
        } = self;
        (id, uid, api_version, file, line, wave)
            == (&other.id, &other.uid, &other.api_version, &other.file, &other.line, &other.wave)
            && (commit, declared, fields) == (&other.commit, &other.declared, &other.fields)
            && (left_alone, sensitive, permissions) == (&other.left_alone, &other.sensitive, &other.permissions)
    }
}

/// A row that was let go because the live object turned out not to be ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Released {
    /// The resource.
    pub id: ResourceId,
    /// The UID that the inventory had.
    pub uid: ObjectUid,
    /// Why it was released, for people.
    pub reason: String,
    /// The apply that released it.
    pub apply: ApplyId,
    /// When.
    pub at: Moment,
}

/// All that one Source owns on one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// The Source.
    pub source: SourceId,
    /// Its serial; 0 before the first apply.
    pub serial: u64,
    /// The rows.
    pub rows: Rows,
}

impl Inventory {
    /// The inventory of a Source that was never applied.
    pub fn empty(source: SourceId) -> Self {
        Self { source, serial: 0, rows: Rows::default() }
    }

    /// What it has of a resource.
    pub fn row(&self, id: &ResourceId) -> Option<&Row> {
        self.rows.get(id).map(Arc::as_ref)
    }
}
