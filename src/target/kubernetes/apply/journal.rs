//! What an apply is about to do, with what was there before: enough to undo it, or to go on after its commit point.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::clock::Moment;
use crate::base::ids::{ApplyId, Manager, ObjectUid, PlanId, SourceId};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::inventory::{OWNER_ANNOTATION, Released, Row, SourceRecord};
use crate::source::spec::ServiceAccount;
use crate::target::kubernetes::dry_run::hidden;
use crate::target::kubernetes::state::Blob;

/// Where an apply stands. It moves forward only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum Phase {
    /// It has no body yet: nothing was begun.
    Opening,
    /// Before the commit point: it is undone.
    Applying,
    /// It is being undone. A commit point that was on its way, of a holder that slept or whose answer got lost, finds
    /// another version of the head and fails.
    Undoing,
    /// After it: it is gone forward with.
    Committed,
}

/// The journal's head: small, switched by compare-and-swap.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Head {
    pub(in super::super) apply: ApplyId,
    pub(in super::super) phase: Phase,
    pub(in super::super) sources: Vec<SourceId>,
    /// Their names, for people.
    pub(in super::super) names: Vec<String>,
    pub(in super::super) at: Moment,
    /// All is done: only the journal itself is left to be taken away.
    #[serde(default)]
    pub(in super::super) closing: bool,
    /// The [`Body`], in Secrets.
    pub(in super::super) body: Option<Blob>,
    /// What the commit point makes true, from the commit point on.
    pub(in super::super) outcome: Option<Blob>,
}

/// What is to be done with one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum Act {
    Create,
    Apply,
    Replace,
    Unmark,
    Delete,
}

/// One write, and what was there before it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Step {
    pub(in super::super) act: Act,
    pub(in super::super) id: ResourceId,
    /// Writes of one group may go at once; groups go in order.
    pub(in super::super) group: usize,
    /// The object as it was; `None` of a create.
    pub(in super::super) before: Option<Value>,
    /// What is declared, with the owner mark; `None` of an unmark or a delete.
    pub(in super::super) declared: Option<Value>,
    /// The Source whose mark the object must bear to be deleted.
    pub(in super::super) source: Option<SourceId>,
    /// What the Source's `sensitive` names in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) sensitive: Vec<Pointer>,
    /// Managers whose hold on what is declared ends with the write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) relieves: Vec<Manager>,
    /// As which account it is written, and taken back; `None` is our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) account: Option<ServiceAccount>,
}

impl Step {
    /// The UID that the object had before.
    pub(in super::super) fn uid(&self) -> Option<&str> {
        uid(self.before.as_ref()?)
    }

    /// Its sensitive values, as it was and as it is declared: no message may show them.
    pub(in super::super) fn hidden(&self) -> Vec<String> {
        let both = [&self.declared, &self.before].into_iter().flatten();
        both.flat_map(|object| hidden(object, &self.sensitive)).collect()
    }

    /// The `apiVersion` in which the object is read and written.
    pub(in super::super) fn api_version(&self) -> Option<&str> {
        let object = self.declared.as_ref().or(self.before.as_ref())?;
        object.get("apiVersion")?.as_str()
    }
}

/// Everything of an apply.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Body {
    pub(in super::super) apply: ApplyId,
    pub(in super::super) at: Moment,
    pub(in super::super) actor: String,
    /// What the operation log calls it.
    pub(in super::super) operation: String,
    pub(in super::super) plan: Option<PlanId>,
    pub(in super::super) steps: Vec<Step>,
}

/// What becomes of one Source's records.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct SourceAfter {
    pub(in super::super) record: SourceRecord,
    pub(in super::super) serial_before: u64,
    /// The inventory as it will be, deletes counted as done.
    pub(in super::super) inventory: Option<Blob>,
    pub(in super::super) released: Vec<Released>,
    /// The rows of what the apply deletes: one that stays because its delete was refused keeps its row.
    pub(in super::super) deleted: Vec<Row>,
}

/// What one write came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Done {
    pub(in super::super) id: ResourceId,
    pub(in super::super) operation: String,
    pub(in super::super) uid: ObjectUid,
    pub(in super::super) version: String,
    pub(in super::super) fields: Vec<crate::base::pointer::Pointer>,
}

/// What the commit point makes true: all that is left to do after it needs nothing else.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Outcome {
    pub(in super::super) sources: Vec<SourceAfter>,
    pub(in super::super) done: Vec<Done>,
    pub(in super::super) receipt: Value,
}

/// The UID of an object.
pub(in super::super) fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid")?.as_str()
}

/// The resourceVersion of an object.
pub(in super::super) fn version(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}

/// The text of the owner mark.
pub(in super::super) fn mark(object: &Value) -> Option<&str> {
    object.pointer("/metadata/annotations")?.get(OWNER_ANNOTATION)?.as_str()
}
