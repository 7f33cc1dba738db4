//! The deletes of an apply, after its commit point: each with UID, resourceVersion and the mark read again.

use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use http::Method;
use serde::Serialize;

use super::check::is_marked;
use super::journal::{Act, Body, Step, uid, version};
use super::step::delete_options;
use super::writer::Session;
use crate::base::failpoint;
use crate::base::resource::ResourceId;
use crate::schema::crd::defined_kind;
use crate::target::TargetError;
use crate::target::kubernetes::dry_run::hidden;
use crate::target::kubernetes::objects::{self, Depth};
use crate::target::kubernetes::request::{Ask, Failed, JSON};

/// How long a delete is waited for before it counts as pending.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a delete is tried anew after somebody else's write.
const TRIES: usize = 6;

/// A delete that isn't done.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Pending {
    pub(super) id: ResourceId,
    /// `finalizer`: it is being deleted and something holds it. `refused`: the target refuses. `owner-mismatch`,
    /// `uid-mismatch`: it is no longer ours.
    pub(super) rule: &'static str,
    pub(super) reason: String,
}

/// What became of the deletes.
#[derive(Debug, Clone, Default)]
pub(super) struct Pruned {
    pub(super) pending: Vec<Pending>,
}

impl Pruned {
    /// Whether the row of an object that was to be deleted stays: it is ours still.
    pub(super) fn stays(&self, id: &ResourceId) -> bool {
        self.pending.iter().any(|pending| pending.id == *id && matches!(pending.rule, "finalizer" | "refused"))
    }
}

impl Session<'_> {
    /// Deletes group by group. A container is left when something of ours in it is pending.
    pub(super) async fn prune(&self, body: &Body) -> Result<Pruned, TargetError> {
        let steps: Vec<&Step> = body.steps.iter().filter(|step| step.act == Act::Delete).collect();
        let mut pruned = Pruned::default();
        for group in steps.chunk_by(|a, b| a.group == b.group) {
            let work = group.iter().map(|step| self.delete(step, &pruned));
            let found: Vec<Option<Pending>> = stream::iter(work).buffered(16).try_collect().await?;
            pruned.pending.extend(found.into_iter().flatten());
        }
        Ok(pruned)
    }

    async fn delete(&self, step: &Step, so_far: &Pruned) -> Result<Option<Pending>, TargetError> {
        let pending = |rule, reason: String| Ok(Some(Pending { id: step.id.clone(), rule, reason }));
        let Ok(served) = self.kind(step).await else { return Ok(None) };
        let holds = so_far.pending.iter().find(|p| self.lies_in(&p.id, step));
        if let Some(held) = holds {
            return pending("refused", format!("{} in it is not deleted yet", held.id));
        }
        let (Some(source), Some(before)) = (&step.source, step.uid()) else {
            return pending("refused", "the journal doesn't say whose it is".to_owned());
        };
        for _ in 0..TRIES {
            let live = objects::get(self.on, &served, &step.id, (Depth::Whole, step.account.as_ref())).await?;
            let Some(live) = live else { return Ok(None) };
            if uid(&live) != Some(before) {
                return pending("uid-mismatch", "it was deleted and made anew by somebody else".to_owned());
            }
            if live.pointer("/metadata/deletionTimestamp").is_none() {
                if !is_marked(&live, source, &step.id) {
                    return pending("owner-mismatch", "its owner mark is another".to_owned());
                }
                self.may_write()?;
                let options = delete_options(before, version(&live));
                match self
                    .on
                    .send(
                        &Ask::send(Method::DELETE, served.url(&step.id), JSON, &options).acting(step.account.as_ref()),
                    )
                    .await
                {
                    Ok(_) => failpoint::hit(failpoint::AFTER_DELETE),
                    Err(failed) if matches!(failed.code(), Some(404 | 409) | None) => continue,
                    Err(Failed::Status(status)) if status.may_pass() => continue,
                    Err(Failed::Status(status)) => {
                        let texts = status
                            .faults(&[hidden(&live, &step.sensitive), step.hidden()].concat())
                            .into_iter()
                            .map(|(_, text)| text);
                        return pending("refused", texts.collect::<Vec<_>>().join("; "));
                    }
                    Err(Failed::Lost(_)) => continue,
                }
            }
            if self.is_gone(&served, step, before, PATIENCE).await? {
                return Ok(None);
            }
            let finalizers = live.pointer("/metadata/finalizers").map(|f| f.to_string()).unwrap_or_default();
            return pending("finalizer", format!("it is being deleted; finalizers hold it: {finalizers}"));
        }
        pending("refused", "it could not be deleted".to_owned())
    }

    /// Whether a resource lies in the Namespace, or is of the kind, that a step deletes.
    fn lies_in(&self, id: &ResourceId, step: &Step) -> bool {
        if step.id.is_namespace() {
            return id.namespace.as_ref() == Some(&step.id.name);
        }
        step.id.is_definition() && step.before.as_ref().and_then(defined_kind) == Some(id.group_kind())
    }
}
