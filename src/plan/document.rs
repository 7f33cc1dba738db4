//! The saved plan: plain data, as it stands in the file. A claim, never an instruction.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::{CommitId, ContentId, Digest, Manager, ObjectUid, PlanId, SourceId, SourceName, TargetIdentity};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::inventory::Keeper;
use crate::target::TargetKind;

/// The version of the format that this build writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// What becomes of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Made anew.
    Create,
    /// Declared fields change.
    Update,
    /// Values are equal; fields become declared, so that a later removal works.
    Own,
    /// Deleted and made anew, with a new UID.
    Replace,
    /// Deleted.
    Delete,
    /// An object of nobody's becomes this Source's.
    Adopt,
    /// An object goes from one Source to another: same UID, no delete.
    Transfer,
    /// Let go: its row ends, the object stays (or is gone already).
    Release,
    /// A delete that is not done, with its reason.
    Keep,
}

impl Action {
    /// Every action, in the order of the summary.
    pub const ALL: [Self; 9] = [
        Self::Create,
        Self::Update,
        Self::Own,
        Self::Replace,
        Self::Delete,
        Self::Adopt,
        Self::Transfer,
        Self::Release,
        Self::Keep,
    ];

    /// Its name in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Own => "own",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Adopt => "adopt",
            Self::Transfer => "transfer",
            Self::Release => "release",
            Self::Keep => "keep",
        }
    }

    /// Whether it is pending work: a keep changes nothing, and an own no value.
    pub fn is_pending(self) -> bool {
        !matches!(self, Self::Keep | Self::Own)
    }
}

/// How a Change could be undone by a journaled target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// Wholly.
    Exact,
    /// By making the object anew, with another UID.
    NewUid,
    /// Not at all.
    None,
}

/// Who judged what would be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Admitted {
    /// The target's own dry run.
    Server,
    /// Holdfast's rules and schemas alone: a target without admission, or what a dry run can't reach yet.
    Offline,
}

/// One field that changes; sensitive values are masked. The root pointer stands for a whole object made or deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Where: list entries by index, in the object after the change where it is there, else before.
    pub path: Pointer,
    /// The live value; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    pub before: Option<Arc<Value>>,
    /// The value after; absent if it is removed. Of a created object without sensitive values it is what is declared.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    pub after: Option<Arc<Value>>,
}

/// A `null` that stands in the file is a value; only an absent key is none.
mod present {
    use super::{Arc, Value};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Option<Arc<Value>>, to: S) -> Result<S::Ok, S::Error> {
        value.as_deref().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Arc<Value>>, D::Error> {
        Value::deserialize(from).map(|value| Some(Arc::new(value)))
    }
}

/// A field taken from another manager.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakenField {
    /// The field.
    pub path: Pointer,
    /// Who holds it now.
    pub manager: Manager,
}

/// A warning, of a Change or of the whole plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarningEntry {
    /// The rule that warns.
    pub rule: String,
    /// One sentence.
    pub text: String,
    /// The file, as shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Pointer>,
    /// The resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ResourceId>,
    /// The text as it stands in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// One Change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ChangeEntry {
    /// What is done.
    pub action: Action,
    /// To which resource.
    pub id: ResourceId,
    /// For which Source.
    pub source: SourceName,
    /// The Source that gives it up, of a transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<SourceName>,
    /// The file that declares it, or that did when it was last applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line where its document starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Its wave.
    pub wave: i32,
    /// How it could be undone.
    pub undo: Undo,
    /// The fields that change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// The rule behind a keep or release, in one word; for machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, and what to do; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a kept or cascading delete would take along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<ResourceId>,
    /// The tools that made or keep what is adopted: their hold on what is declared ends, and those that claim it were told to be
    /// passed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keepers: Vec<Keeper>,
    /// Fields taken, and from whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<TakenField>,
    /// Fields that git dropped and somebody else holds: they stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<TakenField>,
    /// Defaults of the target that are dropped because a declared change needs it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_defaults: Vec<Pointer>,
    /// What the target makes of declared fields, as its dry run says: `before` is declared, `after` its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<Field>,
    /// Warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningEntry>,
    /// Who judged it.
    pub admitted: Admitted,
    /// The live object's UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<ObjectUid>,
    /// Digest of what was seen live at the fields that are or were declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Digest>,
    /// Digest of what is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Digest>,
    /// Whether sensitive values are written: they are bound by commit and file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
}

impl ChangeEntry {
    /// A Change of which nothing more is known: in wave 0, wholly undone, admitted offline.
    pub(super) fn new(action: Action, id: ResourceId, source: SourceName) -> Self {
        Self {
            action,
            id,
            source,
            from: None,
            file: None,
            line: None,
            wave: 0,
            undo: Undo::Exact,
            fields: Vec::new(),
            rule: None,
            reason: None,
            holds: Vec::new(),
            keepers: Vec::new(),
            taken: Vec::new(),
            left: Vec::new(),
            dropped_defaults: Vec::new(),
            rewritten: Vec::new(),
            warnings: Vec::new(),
            admitted: Admitted::Offline,
            uid: None,
            seen: None,
            declared: None,
            sensitive: false,
        }
    }
}

/// A resource that is as it is declared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct UnchangedEntry {
    /// The resource.
    pub id: ResourceId,
    /// For which Source.
    pub source: SourceName,
    /// Its UID.
    pub uid: ObjectUid,
    /// Digest of what was seen.
    pub seen: Digest,
    /// Digest of what is declared.
    pub declared: Digest,
}

/// What is planned of a Source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Its commit is applied.
    #[default]
    Apply,
    /// It is removed, and its objects stay without a mark.
    Orphan,
    /// It is removed, and its objects are deleted.
    Prune,
    /// It takes back what bears its mark; nothing on the target is written.
    Rebuild,
}

impl Purpose {
    /// Whether the Source is there no more afterwards.
    pub fn removes(self) -> bool {
        matches!(self, Self::Orphan | Self::Prune)
    }

    /// Whether a commit is applied: the usual.
    pub fn is_apply(&self) -> bool {
        *self == Self::Apply
    }
}

/// One Source of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SourceEntry {
    /// Its name.
    pub name: SourceName,
    /// Its ID on this target.
    pub id: SourceId,
    /// What is planned of it.
    #[serde(default, skip_serializing_if = "Purpose::is_apply")]
    pub purpose: Purpose,
    /// The path inside it, as shown.
    pub path: String,
    /// The commit.
    pub commit: CommitId,
    /// The commit that is applied now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<CommitId>,
    /// The serial of its inventory.
    pub inventory_serial: u64,
    /// Digest of its specification.
    pub spec: Digest,
    /// Digest of its repository and path.
    pub origin: Digest,
    /// The commit is not reachable from the Source's ref: applying it needs `--allow-unmerged`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
    /// The commit doesn't descend from the applied one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewind: bool,
    /// It is bound anew: another repository, path or history than before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebinds: bool,
}

/// The target of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetEntry {
    /// What stands behind.
    pub kind: TargetKind,
    /// Which one it is.
    pub identity: TargetIdentity,
}

/// How many Changes there are of each action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Made anew.
    pub create: usize,
    /// Changed.
    pub update: usize,
    /// Equal, newly declared.
    pub own: usize,
    /// Deleted and made anew.
    pub replace: usize,
    /// Deleted.
    pub delete: usize,
    /// Taken on.
    pub adopt: usize,
    /// Moved between Sources.
    pub transfer: usize,
    /// Let go.
    pub release: usize,
    /// Deletes not done.
    pub keep: usize,
    /// As declared.
    pub unchanged: usize,
}

/// Permissions used, by name and count. They count at an apply only where the applier gives them again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Allowances {
    /// `--allow-deletes N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletes: Option<usize>,
    /// `--allow ID` or `--allow ID=N`, as given, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// `--adopt ID` or pattern, as given, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adopt: Vec<String>,
    /// `--allow-adoptions N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adoptions: Option<usize>,
    /// `--adopt-from SOURCE`, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adopt_from: Vec<String>,
    /// `--take-over TOOL/NAME=N`, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub take_over: Vec<String>,
    /// `--release ID`, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub release: Vec<String>,
    /// `--waive-dry-run WEBHOOK`, sorted. Of a plan that asked the target nothing: all that were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waive_dry_run: Vec<String>,
}

/// A user policy that was waived.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// The policy.
    pub rule: String,
    /// Why.
    pub reason: String,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlanDocument {
    /// [`FORMAT_VERSION`] of the build that wrote it.
    pub format_version: u32,
    /// SHA-256 of everything here but itself, `contentId` and `createdAt`.
    pub plan_id: PlanId,
    /// SHA-256 of what it would do, whatever commit brought it.
    pub content_id: ContentId,
    /// When it was made, RFC 3339; outside the digests, and all that differs between two runs.
    pub created_at: String,
    /// The target.
    pub target: TargetEntry,
    /// The Sources, sorted by name.
    pub sources: Vec<SourceEntry>,
    /// The Changes, in the order of their doing.
    pub changes: Vec<ChangeEntry>,
    /// What stays as it is, sorted by resource.
    pub unchanged: Vec<UnchangedEntry>,
    /// Counts.
    pub summary: Summary,
    /// Warnings of no single Change.
    pub warnings: Vec<WarningEntry>,
    /// Permissions used.
    pub allowances: Allowances,
    /// Policies waived.
    pub waivers: Vec<Waiver>,
}
