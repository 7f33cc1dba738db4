//! What an interrupted apply left: before its commit point it is undone, after it gone forward with.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};

use super::close::{journals, reason};
use super::journal::{Act, Body, Head, Outcome, Phase, Step};
use super::judge::{Found, judge};
use super::lease::Lock;
use super::sound::{out_of_scope, unsound};
use super::writer::{Session, catalog, give_back, take};
use crate::base::failpoint;
use crate::base::ids::SourceId;
use crate::base::map::HashSet;
use crate::base::resource::ResourceId;
use crate::target::kubernetes::connection::Connection;
use crate::target::kubernetes::objects::{self, Depth};
use crate::target::kubernetes::request::{APPLY, Ask};
use crate::target::kubernetes::state::{Blob, Kind, Store};
use crate::target::kubernetes::view::{self, View};
use crate::target::{HistoryEntry, Interrupted, Recovered, TargetError};

/// Applies that were begun and neither finished nor undone; others may be at work on them.
pub(in super::super) async fn unfinished(on: &Connection) -> Result<Vec<Interrupted>, TargetError> {
    let all = journals(on).await?;
    let begun = all.into_iter().filter(|(head, _)| !head.closing);
    let told = |(head, _): (Head, Value)| Interrupted {
        apply: head.apply,
        sources: head.names,
        at: head.at,
        committed: head.phase == Phase::Committed,
    };
    Ok(begun.map(told).collect())
}

/// Finishes or undoes whatever is left of these Sources, whose leases are held. Further Sources that are needed for it are
/// the answer; then nothing was done.
pub(super) async fn of_sources(
    on: &Connection,
    ids: &[SourceId],
    locks: &[Lock],
) -> Result<Option<Vec<SourceId>>, TargetError> {
    let concerned = |head: &Head| head.sources.iter().any(|id| ids.contains(id));
    let left: Vec<(Head, Value)> = journals(on).await?.into_iter().filter(|(head, _)| concerned(head)).collect();
    let more: BTreeSet<&SourceId> =
        left.iter().flat_map(|(head, _)| &head.sources).filter(|id| !ids.contains(id)).collect();
    if !more.is_empty() {
        return Ok(Some(more.into_iter().cloned().collect()));
    }
    for (head, object) in left {
        one(on, locks, head, object).await?;
    }
    Ok(None)
}

/// Finishes or undoes everything that is left on the cluster.
pub(in super::super) async fn recover_all(on: &Connection, wait: Duration) -> Result<Vec<Recovered>, TargetError> {
    let (mut done, mut first) = (Vec::new(), None);
    for (found, _) in journals(on).await? {
        let mut ids = found.sources.clone();
        ids.sort();
        let locks = take(on, &ids, wait).await?;
        // Whoever held the leases may have been at work on it until now.
        let now = journals(on).await.map(|all| all.into_iter().find(|(head, _)| head.apply == found.apply));
        let result = match now {
            Ok(Some((head, object))) => one(on, &locks, head, object).await.map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        give_back(locks).await;
        // One that can't be recovered holds up none of the others.
        match result {
            Ok(recovered) => done.extend(recovered),
            Err(error) => first = first.or(Some(error)),
        }
    }
    first.map_or(Ok(done), Err)
}

async fn one(on: &Connection, locks: &[Lock], head: Head, object: Value) -> Result<Recovered, TargetError> {
    let view = View::new(on);
    let definitions = view::definitions(on).await?;
    let mut session = Session {
        on,
        view: &view,
        locks,
        apply: head.apply.clone(),
        rows: BTreeMap::new(),
        catalog: catalog(&definitions, std::iter::empty()),
    };
    let told = |committed: bool, left: Vec<(ResourceId, String)>| Recovered {
        apply: head.apply.clone(),
        sources: head.names.clone(),
        finished: committed,
        left,
    };
    let Some(blob) = &head.body else {
        // Nothing was begun, or all is done.
        session.close_journal(&head).await?;
        return Ok(told(head.closing && head.phase == Phase::Committed, Vec::new()));
    };
    let body: Body = read(on, blob).await?;
    let is_committed = head.phase == Phase::Committed;
    // What is committed is only finished, and its deletes ask the live mark.
    let outside = || if is_committed { None } else { out_of_scope(&head, &body, &on.sources) };
    if let Some(why) = unsound(&head, &body, &on.state_namespace).or_else(outside) {
        return Err(on.damaged(format!("the journal of apply {}: {why}; nothing of it was done", head.apply)));
    }
    session.catalog = catalog(&definitions, body.steps.iter().filter_map(|step| step.declared.as_ref()));
    if is_committed {
        let Some(blob) = &head.outcome else {
            let text =
                format!("the journal of apply {} is committed and has no outcome; nothing of it was done", head.apply);
            return Err(on.damaged(text));
        };
        let outcome: Outcome = read(on, blob).await?;
        session.finish(&head, &object, &body, outcome).await?;
        return Ok(told(true, Vec::new()));
    }
    session.begin_undo(&head, &object).await?;
    session.fence(&body).await?;
    let left = session.take_all_back(&body).await?;
    session.close_undone(&head, &body, &left).await?;
    Ok(told(false, left))
}

async fn read<T: serde::de::DeserializeOwned>(on: &Connection, blob: &Blob) -> Result<T, TargetError> {
    let text = Store { on }.read_blob(Kind::Secret, blob).await?;
    crate::base::json::read(&text).map_err(|_| on.damaged("a journal can't be read"))
}

impl Session<'_> {
    /// Undoes what this apply wrote, after `error`; what is said then.
    pub(super) async fn undo(&self, head: &Head, object: &Value, body: &Body, error: TargetError) -> TargetError {
        failpoint::hit(failpoint::BEFORE_UNDO);
        let undone = async {
            self.begin_undo(head, object).await?;
            let left = self.take_all_back(body).await?;
            self.close_undone(head, body, &left).await?;
            Ok::<_, TargetError>(left)
        };
        match undone.await {
            Ok(left) if left.is_empty() => error,
            Ok(left) => TargetError::Partial { target: self.on.shown.clone(), reason: reason(error), left },
            Err(then) => TargetError::Unfinished {
                target: self.on.shown.clone(),
                reason: format!("{}, and the undo stopped: {}", reason(error), reason(then)),
            },
        }
    }

    /// Says in the journal that the apply is undone from now on: no commit point can be reached any more.
    async fn begin_undo(&self, head: &Head, object: &Value) -> Result<(), TargetError> {
        self.switch_journal(&Head { phase: Phase::Undoing, ..head.clone() }, object).await?;
        failpoint::hit(failpoint::UNDO_BEGUN);
        Ok(())
    }

    /// Takes every step back, in reverse; what isn't ours to take back, with the reason.
    async fn take_all_back(&self, body: &Body) -> Result<Vec<(ResourceId, String)>, TargetError> {
        let mut left = Vec::new();
        let steps: Vec<&Step> = body.steps.iter().filter(|step| step.act != Act::Delete).rev().collect();
        for group in steps.chunk_by(|a, b| a.group == b.group) {
            let work = group.iter().map(|step| async move {
                let result = self.take_back(step).await;
                failpoint::hit(failpoint::AFTER_UNDO);
                result.map(|why| why.map(|why| (step.id.clone(), why)))
            });
            let results: Vec<_> = stream::iter(work).buffered(16).collect().await;
            for result in results {
                left.extend(result?);
            }
        }
        Ok(left)
    }

    /// A holder that slept may wake up and send what it had begun: its updates name the version that they were planned on,
    /// so every such object that isn't written is moved to another one.
    async fn fence(&self, body: &Body) -> Result<(), TargetError> {
        let updates = body.steps.iter().filter(|step| matches!(step.act, Act::Apply | Act::Replace | Act::Unmark));
        let work = updates.map(|step| async move {
            let Ok(served) = self.kind(step).await else { return Ok(()) };
            let Some(live) = objects::get(self.on, &served, &step.id, (Depth::Whole, step.account.as_ref())).await?
            else {
                return Ok(());
            };
            if judge(step, Some(&live)) != Found::NotWritten {
                return Ok(());
            }
            self.may_write()?;
            // A field of a manager of its own that comes and goes: nothing is left of it but the new version.
            let of = |at: &str| live.pointer(at).cloned().unwrap_or_default();
            let mut bare = json!({"apiVersion": of("/apiVersion"), "kind": of("/kind"),
                "metadata": {"name": of("/metadata/name"), "uid": of("/metadata/uid")}});
            if let Some(namespace) = &step.id.namespace {
                bare["metadata"]["namespace"] = namespace.as_str().into();
            }
            let mut with = bare.clone();
            with["metadata"]["annotations"] = json!({"holdfast.dev/fence": body.apply});
            let url = format!("{}?fieldManager=holdfast-fence&force=true", served.url(&step.id));
            for object in [&with, &bare] {
                let sent = self
                    .on
                    .send(&Ask::send(Method::PATCH, url.clone(), APPLY, object).acting(step.account.as_ref()))
                    .await;
                sent.map_err(|e| self.on.write_failed(format!("{} can't be fenced: {}", step.id, e.text())))?;
            }
            Ok(())
        });
        let results: Vec<Result<(), TargetError>> = stream::iter(work).buffer_unordered(16).collect().await;
        results.into_iter().collect()
    }

    /// Closes the journal of an apply that was undone, and says so in the log.
    async fn close_undone(&self, head: &Head, body: &Body, left: &[(ResourceId, String)]) -> Result<(), TargetError> {
        let over: Vec<Value> = left.iter().map(|(id, why)| json!({"id": id, "reason": why})).collect();
        let result = if left.is_empty() { "undone".to_owned() } else { format!("undone, {} left over", left.len()) };
        let entry = HistoryEntry {
            id: format!("undo-{}", body.apply),
            at: body.at,
            actor: body.actor.clone(),
            claimed: false,
            operation: "undone".to_owned(),
            sources: head.names.clone(),
            commits: Vec::new(),
            plan: body.plan.clone(),
            result,
            objects: left.iter().map(|(id, _)| id.clone()).collect::<HashSet<_>>().into_iter().collect(),
        };
        let details = json!({"receipt": {"result": "undone", "applyId": body.apply, "leftOver": over}});
        if !left.is_empty() {
            self.store().write_entry(entry, &details).await?;
        }
        self.close_journal(head).await
    }
}
