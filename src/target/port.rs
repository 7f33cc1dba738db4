//! The traits that an adapter implements.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definitions::Definitions;
use super::error::TargetError;
use super::follow::Followed;
use super::notice::Notice;
use super::write::{Asked, Batch, Interrupted, Recovered, Staged, Verdict, Written};
use crate::base::clock::Moment;
use crate::base::ids::{ObjectUid, PlanId, SourceId, TargetIdentity};
use crate::base::map::HashMap;
use crate::base::resource::{GroupKind, ResourceId};
use crate::inventory::{BadMark, Controls, Inventory, LogLine, LoopRecord, OwnerMark, Released, SourceRecord};
use crate::source::spec::ServiceAccount;

/// How a target writes the Changes of one apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomicity {
    /// In one transaction: nobody ever sees the middle.
    Atomic,
    /// One by one behind a journal: all or nothing until the commit point, but others can see the middle.
    Journaled,
}

/// What stands behind the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// The embedded control plane: one SQLite file.
    Embedded,
    /// A Kubernetes API server.
    Kubernetes,
}

/// The identity of a live object without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The resource.
    pub id: ResourceId,
    /// Its UID.
    pub uid: ObjectUid,
    /// Its resourceVersion: opaque, moves with every write.
    pub version: String,
    /// Its owner mark.
    pub mark: Result<Option<OwnerMark>, BadMark>,
    /// UIDs in its owner references, the controller's first; what the garbage collector would take along with them.
    pub owners: Vec<ObjectUid>,
    /// Whether one of its owner references is a controller's.
    pub controlled: bool,
}

/// A live object.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// Its identity.
    pub head: Head,
    /// The whole object, metadata included.
    pub object: Value,
}

/// What a list asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Contents {
    /// All objects in a namespace.
    Namespace(String),
    /// All objects of a kind.
    Kind(GroupKind),
    /// All objects of a kind in a namespace.
    KindIn(GroupKind, String),
}

/// A line of the operation log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Its ID: an apply's ID, or the target's own number for other writes.
    pub id: String,
    /// When.
    pub at: Moment,
    /// Who, as the target knows or was told.
    pub actor: String,
    /// Whether the actor is only what was said (`--as`): a claim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claimed: bool,
    /// `apply`, `refused`, `put`, `delete`, and so on.
    pub operation: String,
    /// The Sources concerned, by name at that time.
    pub sources: Vec<String>,
    /// Their commits, in the same order.
    pub commits: Vec<String>,
    /// The plan, where there was one.
    pub plan: Option<PlanId>,
    /// What came of it, in a word or two.
    pub result: String,
    /// The resources written, of a write by hand.
    pub objects: Vec<ResourceId>,
}

/// A change of what people told the target about a Source.
#[derive(Debug, Clone)]
pub struct ControlWrite {
    /// The Source, applied before or not.
    pub source: SourceId,
    /// What the change was made on.
    pub was: Controls,
    /// What it becomes.
    pub becomes: Controls,
    /// The line of the operation log.
    pub entry: HistoryEntry,
    /// Its details.
    pub details: Value,
}

/// A change of what the loop remembers of a Source.
#[derive(Debug, Clone)]
pub struct LoopWrite {
    /// The Source, applied before or not.
    pub source: SourceId,
    /// What the change was made on.
    pub was: LoopRecord,
    /// What it becomes.
    pub becomes: LoopRecord,
    /// A line of the operation log with its details, where a person asked for it.
    pub entry: Option<(HistoryEntry, Value)>,
}

/// What `history` asks for.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// At most so many entries, newest first.
    pub limit: usize,
}

/// The half that reads: one consistent view for as long as it lives, where the target can give one.
///
/// # Errors
/// Every method fails if the target can't be read; absence is told apart from failure by the value.
pub trait Reader {
    /// Which target this is, whatever a configuration calls it.
    fn identity(&self) -> Result<TargetIdentity, TargetError>;
    /// A text that differs after every commit to the target, whoever made it: two views with the same one see the same, but
    /// for what the loop remembers ([`Reader::loop_record`]).
    /// `None` if the target has no such thing.
    fn revision(&self) -> Result<Option<String>, TargetError>;
    /// Every Source that the target knows, removed ones too, sorted by ID.
    fn sources(&self) -> Result<Vec<SourceRecord>, TargetError>;
    /// What a Source owns; empty with serial 0 if it was never applied.
    fn inventory(&self, source: &SourceId) -> Result<Arc<Inventory>, TargetError>;
    /// Rows of a Source that were released, newest first, with the reason.
    fn released(&self, source: &SourceId) -> Result<Vec<Released>, TargetError>;
    /// What people told the target about a Source; nothing if nobody did, also of one that was never applied.
    fn controls(&self, source: &SourceId) -> Result<Controls, TargetError>;
    /// What the loop remembers of a Source; nothing if no loop ever saw it.
    fn loop_record(&self, source: &SourceId) -> Result<LoopRecord, TargetError>;
    /// Says in which API versions bodies of these are wanted from now on. A target that keeps one form of an object has
    /// no choice.
    fn prefer(&self, _versions: &mut dyn Iterator<Item = (&ResourceId, String)>) {}
    /// Says as which account of the target these are read from now on; else it is our own. A target without accounts has
    /// no choice.
    fn read_as(&self, _account: &ServiceAccount, _ids: &[&ResourceId]) {}
    /// Applies that were begun here and are neither finished nor undone. Whoever reads only tells of them.
    fn interrupted(&self) -> Result<Vec<Interrupted>, TargetError> {
        Ok(Vec::new())
    }
    /// The kinds that the target serves.
    fn definitions(&self) -> Result<Definitions, TargetError>;
    /// The identities of those of `ids` that exist.
    fn heads(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Head>, TargetError>;
    /// Those of `ids` that exist, whole.
    fn objects(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Live>, TargetError>;
    /// The identities of all objects in a namespace or of a kind, sorted by resource.
    fn list(&self, contents: &Contents) -> Result<Vec<Head>, TargetError>;
    /// Whether a plan was applied here before.
    fn was_applied(&self, plan: &PlanId) -> Result<bool, TargetError>;
    /// The operation log, newest first.
    fn history(&self, ask: &History) -> Result<Vec<HistoryEntry>, TargetError>;
    /// The receipt of an apply or the details of another entry, by its ID or a beginning of it that no other
    /// has ([`TargetError::Ambiguous`]).
    fn receipt(&self, id: &str) -> Result<Option<(HistoryEntry, Value)>, TargetError>;
    /// Every write of a resource, newest first, as far as the target keeps them.
    fn log(&self, id: &ResourceId) -> Result<Vec<LogLine>, TargetError>;
}

/// The half that asks the target's own admission; its one call never writes.
pub trait DryRunner {
    /// Asks what the target would say to each of all writes of a plan, in order.
    ///
    /// # Errors
    /// If the target can't be asked.
    fn dry_run(&self, writes: &[Asked]) -> Result<Vec<Verdict>, TargetError>;

    /// Which rights the account that writes lacks for all that a plan would do: known before anything is sent.
    ///
    /// # Errors
    /// If the target can't be asked.
    fn lacking(&self, deeds: &[Deed]) -> Result<Vec<Lacking>, TargetError>;
}

/// Something that is done to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// What.
    pub act: Act,
    /// To which.
    pub id: ResourceId,
    /// As which account of the target; `None` is our own.
    pub account: Option<ServiceAccount>,
}

/// What is done to an object, as far as rights go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// It is made; and deleted again, should the apply be undone.
    Make,
    /// It is changed.
    Change,
    /// It is deleted; and made again, should the apply be undone.
    Remake,
    /// It is deleted.
    Delete,
}

/// A right that is lacking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Such as `delete configmaps in Namespace shop`.
    pub right: String,
    /// The account that lacks it; `None` is our own.
    pub account: Option<ServiceAccount>,
    /// What needs it.
    pub ids: Vec<ResourceId>,
}

/// The half that writes. It holds whatever lock the target needs from its making to [`Writer::commit`] or its drop,
/// which leaves the target as it was.
pub trait Writer {
    /// The view inside this writer's own lock: what it says can't change before the commit.
    fn reader(&self) -> &dyn Reader;
    /// Writes everything of one apply and makes it last. It consumes the writer: a transaction can't commit twice.
    /// A batch that was staged on another revision than this writer's is refused: stage it anew, or commit it as it is.
    ///
    /// # Errors
    /// [`TargetError::Unknown`] if it can't be told whether it took place; any other error wrote nothing.
    fn commit(self: Box<Self>, staged: Staged) -> Result<Written, TargetError>;
}

/// A control plane.
pub trait Target: Send + Sync {
    /// What stands behind.
    fn kind(&self) -> TargetKind;
    /// The name for messages, such as the database's path.
    fn describe(&self) -> String;
    /// How it writes.
    fn atomicity(&self) -> Atomicity;
    /// Opens a consistent view.
    ///
    /// # Errors
    /// If it can't be opened.
    fn reader(&self) -> Result<Box<dyn Reader + '_>, TargetError>;
    /// The dry runner; `None` of a target that has no admission of its own.
    ///
    /// # Errors
    /// If it can't be reached.
    fn dry_runner(&self) -> Result<Option<Box<dyn DryRunner + '_>>, TargetError>;
    /// Works out as much of a batch as can be without the lock, for a writer that sees the same [`Reader::revision`].
    ///
    /// # Errors
    /// Those of [`Writer::commit`] that show by now.
    fn stage(&self, batch: Batch) -> Result<Staged, TargetError> {
        Ok(batch.into())
    }
    /// Takes the lock of these Sources and opens a writer.
    ///
    /// # Errors
    /// [`TargetError::Locked`] if another process holds it beyond `wait`.
    fn writer(&self, sources: &[SourceId], wait: std::time::Duration) -> Result<Box<dyn Writer + '_>, TargetError>;
    /// Finishes or undoes every apply that was interrupted, and tells what it did. A target that writes in one transaction
    /// has nothing to do.
    ///
    /// # Errors
    /// If the target fails, or another process holds a Source beyond `wait`.
    fn recover(&self, _wait: std::time::Duration) -> Result<Vec<Recovered>, TargetError> {
        Ok(Vec::new())
    }
    /// Whether it can be heard when somebody writes to its objects.
    fn can_be_followed(&self) -> bool {
        false
    }
    /// Tells of writes to these objects until nobody listens ([`Followed::end`]); what fails is told too, and tried again.
    fn follow(&self, _followed: &Followed) {}
    /// Notes in the operation log what was refused; it holds no object's values.
    ///
    /// # Errors
    /// If it can't be written.
    fn note(&self, entry: HistoryEntry, details: Value) -> Result<(), TargetError>;
    /// Tells people who watch the target with its own tools; what could not be told, for people. It fails nothing. A target
    /// whose operation log is all there is to watch has nothing to do.
    fn tell(&self, _notices: &[Notice]) -> Vec<String> {
        Vec::new()
    }
    /// Writes what people told about a Source with its line of the log, whole or not at all. False, and nothing written, if
    /// what the change was made on is no longer what is there, or the Source was removed. Once it is true, no apply of the
    /// Source commits that hasn't seen it.
    ///
    /// # Errors
    /// If it can't be read or written.
    fn control(&self, write: ControlWrite) -> Result<bool, TargetError>;
    /// Writes what the loop remembers of a Source, in the same way.
    ///
    /// # Errors
    /// If it can't be read or written.
    fn note_loop(&self, write: LoopWrite) -> Result<bool, TargetError>;
}
