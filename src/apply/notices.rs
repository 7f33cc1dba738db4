//! What an apply tells at its Sources and at the objects that failed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::context::Context;
use crate::admission::Rejection;
use crate::base::ids::{CommitId, ObjectUid, PlanId, SourceName};
use crate::base::resource::ResourceId;
use crate::source::spec::ServiceAccount;
use crate::target::{About, Batch, HistoryEntry, Notice, TargetError, TargetKind, Write};

/// So many objects are told of at a time.
const MOST: usize = 40;

/// What an apply is about, kept while it is done.
pub(super) struct Subject {
    actor: String,
    sources: Vec<(SourceName, CommitId)>,
    plan: Option<PlanId>,
    /// The objects that are written, each with its UID, as far as it has one, and its account.
    objects: BTreeMap<ResourceId, (Option<ObjectUid>, Option<ServiceAccount>)>,
}

impl Subject {
    /// `None` on a target where nobody watches.
    pub(super) fn of(context: &Context<'_>, batch: &Batch) -> Option<Self> {
        if context.target.kind() != TargetKind::Kubernetes {
            return None;
        }
        let uid = |write: &Write| match write {
            Write::Apply { uid, .. } | Write::Replace { uid, .. } | Write::Unmark { uid, .. } => Some(uid.clone()),
            Write::Create { .. } | Write::Delete { .. } => None,
        };
        let objects = batch.writes.iter().zip(&batch.accounts);
        Some(Self {
            actor: batch.actor.clone(),
            sources: batch.sources.iter().map(|s| (s.record.name.clone(), s.record.commit.clone())).collect(),
            plan: batch.plan.clone(),
            objects: objects.map(|(write, account)| (write.id().clone(), (uid(write), account.clone()))).collect(),
        })
    }

    /// The same at every Source.
    fn at_sources(&self, reason: &'static str, text: &str) -> Vec<Notice> {
        let each = self.sources.iter();
        each.map(|(name, commit)| {
            Notice::new(name, reason, "Apply", text.to_owned()).at(Some(commit), self.plan.as_ref())
        })
        .collect()
    }

    fn at_object(&self, id: &ResourceId, reason: &'static str, text: String) -> Option<Notice> {
        let (name, commit) = self.sources.first()?;
        let (uid, account) = self.objects.get(id).cloned().unwrap_or_default();
        let about = About { id: id.clone(), uid, account };
        Some(Notice::new(name, reason, "Apply", text).warning().about(about).at(Some(commit), self.plan.as_ref()))
    }

    /// After an apply that took place.
    pub(super) fn applied(&self, receipt: &Value) -> Vec<Notice> {
        let count = |key: &str| receipt.get(key).and_then(Value::as_u64).unwrap_or_default();
        let text = format!("applied by {}: {} written, {} deleted", self.actor, count("writes"), count("deletes"));
        let mut notices = self.at_sources("Applied", &text);
        let pending = receipt.get("pending").and_then(Value::as_array).into_iter().flatten();
        let pending = pending.filter_map(|p| serde_json::from_value::<ResourceId>(p.get("id")?.clone()).ok());
        let told = |id: ResourceId| self.at_object(&id, "DeletePending", "its delete is not done yet".to_owned());
        notices.extend(pending.filter_map(told).take(MOST));
        notices
    }

    /// After one that did not.
    pub(super) fn failed(&self, error: &TargetError) -> Vec<Notice> {
        let reason = match error {
            TargetError::Partial { .. } => "ApplyPartial",
            TargetError::Unfinished { .. } | TargetError::Unknown { .. } => "ApplyUnfinished",
            _ => "ApplyFailed",
        };
        let mut notices: Vec<Notice> =
            self.at_sources(reason, &error.to_string()).into_iter().map(Notice::warning).collect();
        let failed: Vec<(&ResourceId, String)> = match error {
            TargetError::Refused { faults } => {
                faults.iter().filter_map(|fault| Some((fault.id.as_ref()?, fault.text.clone()))).collect()
            }
            TargetError::Precondition { id, .. } => vec![(id, error.to_string())],
            TargetError::Partial { left, .. } => {
                left.iter().map(|(id, why)| (id, format!("it was not taken back: {why}"))).collect()
            }
            _ => Vec::new(),
        };
        notices.extend(failed.into_iter().filter_map(|(id, text)| self.at_object(id, reason, text)).take(MOST));
        notices
    }
}

/// Tells of a refusal that stands in the operation log.
pub fn tell_refused(context: &Context<'_>, entry: &HistoryEntry, rejection: &Rejection) {
    let text = format!("refused: {}: {}", entry.result, rejection.in_a_line());
    let notice = |(name, commit): (&String, Option<&String>)| {
        let name = SourceName::parse(name).ok()?;
        let commit = commit.and_then(|commit| CommitId::parse(commit).ok());
        Some(Notice::new(&name, "Refused", "Admit", text.clone()).warning().at(commit.as_ref(), entry.plan.as_ref()))
    };
    let commits = entry.commits.iter().map(Some).chain(std::iter::repeat(None));
    tell(context, &entry.sources.iter().zip(commits).filter_map(notice).collect::<Vec<_>>());
}

/// Tells, and says what could not be told.
pub fn tell(context: &Context<'_>, notices: &[Notice]) {
    context.target.tell(notices).iter().for_each(|failed| context.progress.noted(failed));
}
