//! One apply behind the port: the locks of its Sources, and the commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::check::moved;
use super::journal::{Body, Head as JournalHead, Outcome, Phase, Step};
use super::lease::Lock;
use super::recover;
use crate::base::ids::{ApplyId, SourceId};
use crate::base::map::HashMap;
use crate::base::resource::{GroupVersionKind, ResourceId};
use crate::inventory::Row;
use crate::merge::FieldSet;
use crate::schema::crd::Crd;
use crate::schema::{Catalog, KindSchema};
use crate::target::kubernetes::connection::Connection;
use crate::target::kubernetes::state::{self, Store};
use crate::target::kubernetes::view::{self, View};
use crate::target::{Batch, Definitions, Reader, Staged, TargetError, Write, Writer, Written};

/// A writer that holds the leases of its Sources.
pub(in super::super) struct Transaction<'c> {
    on: &'c Connection,
    view: View<'c>,
    locks: Vec<Lock>,
    since: Instant,
}

impl<'c> Transaction<'c> {
    /// Makes the state namespace if there is none, takes the leases in order, and finishes or undoes what an earlier apply
    /// of these Sources left.
    pub(in super::super) fn open(
        on: &'c Connection,
        sources: &[SourceId],
        wait: Duration,
    ) -> Result<Self, TargetError> {
        let since = Instant::now();
        let mut ids = sources.to_vec();
        ids.sort();
        ids.dedup();
        let locks = on.wait(async {
            view::make_state_namespace(on).await?;
            loop {
                let locks = take(on, &ids, wait).await?;
                match recover::of_sources(on, &ids, &locks).await {
                    Ok(None) => return Ok(locks),
                    // What is left concerns further Sources: all of them are needed, in order.
                    Ok(Some(more)) => {
                        give_back(locks).await;
                        ids.extend(more);
                        ids.sort();
                        ids.dedup();
                    }
                    Err(error) => {
                        give_back(locks).await;
                        return Err(error);
                    }
                }
            }
        })?;
        Ok(Self { on, view: View::new(on), locks, since })
    }
}

/// Takes leases in order; on an error none is kept.
pub(in super::super) async fn take(
    on: &Connection,
    ids: &[SourceId],
    wait: Duration,
) -> Result<Vec<Lock>, TargetError> {
    let mut locks = Vec::with_capacity(ids.len());
    for id in ids {
        match Lock::take(on, id, wait).await {
            Ok(lock) => locks.push(lock),
            Err(error) => {
                give_back(locks).await;
                return Err(error);
            }
        }
    }
    Ok(locks)
}

/// Gives leases back.
pub(in super::super) async fn give_back(locks: Vec<Lock>) {
    for lock in locks {
        lock.give_back().await;
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let locks = std::mem::take(&mut self.locks);
        self.on.wait(give_back(locks));
    }
}

impl Writer for Transaction<'_> {
    fn reader(&self) -> &dyn Reader {
        &self.view
    }

    fn commit(self: Box<Self>, staged: Staged) -> Result<Written, TargetError> {
        let definitions = self.view.definitions()?;
        let mut written = self.on.wait(commit(&self, staged.batch, definitions))?;
        written.held = self.since.elapsed();
        Ok(written)
    }
}

/// What one apply works with.
pub(super) struct Session<'s> {
    pub(super) on: &'s Connection,
    pub(super) view: &'s View<'s>,
    pub(super) locks: &'s [Lock],
    pub(super) apply: ApplyId,
    /// Rows that the Sources have or get, by resource.
    pub(super) rows: BTreeMap<ResourceId, Row>,
    pub(super) catalog: Catalog,
}

impl Session<'_> {
    pub(super) fn store(&self) -> Store<'_> {
        Store { on: self.on }
    }

    /// The schema of an object's kind.
    pub(super) fn schema(&self, object: &Value) -> Option<Arc<KindSchema>> {
        self.catalog.resolve(&GroupVersionKind::of(object)).ok()
    }

    /// The fields that a value declares.
    pub(super) fn fields(&self, schema: Option<&KindSchema>, declared: &Value) -> FieldSet {
        schema.map(|schema| FieldSet::of_object(schema.root(), declared)).unwrap_or_default()
    }

    /// The wave of each resource.
    pub(super) fn waves(&self) -> HashMap<ResourceId, i32> {
        self.rows.iter().map(|(id, row)| (id.clone(), row.wave)).collect()
    }

    /// Whether the leases leave time for one more write.
    pub(super) fn may_write(&self) -> Result<(), TargetError> {
        if self.locks.iter().all(Lock::may_write) {
            Ok(())
        } else {
            Err(self.on.write_failed("the lease of a Source was lost: this process was stopped for too long"))
        }
    }
}

/// The kinds of a cluster's definitions, and of those that an apply writes itself.
pub(super) fn catalog<'a>(definitions: &Definitions, own: impl Iterator<Item = &'a Value>) -> Catalog {
    let served = definitions.iter().filter_map(|live| Crd::read(&live.object).ok()).collect();
    let is_definition =
        |object: &&Value| object.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition");
    let own = own.filter(is_definition).filter_map(|object| Crd::read(object).ok()).collect();
    definitions.catalog().with_crds(served).with_crds(own)
}

async fn commit(on: &Transaction<'_>, batch: Batch, definitions: Definitions) -> Result<Written, TargetError> {
    let store = Store { on: on.on };
    let heads = store.heads().await?;
    if let (true, Some(plan)) = (batch.single_use, &batch.plan)
        && view::was_applied(on.on, plan).await?
    {
        return Err(on.on.write_failed("the plan was applied before"));
    }
    let mut before = Vec::with_capacity(batch.sources.len());
    let mut rows = BTreeMap::new();
    for commit in &batch.sources {
        let found = heads.iter().find(|(head, _)| head.record.id == commit.record.id);
        let serial = found.map_or(0, |(head, _)| head.record.serial);
        if serial != commit.serial_before {
            let (name, then) = (&commit.record.name, commit.serial_before);
            return Err(on.on.write_failed(format!("the inventory of {name} has serial {serial} and not {then}")));
        }
        let owned = match found {
            Some((head, _)) => view::rows(on.on, head).await?,
            None => Vec::new(),
        };
        rows.extend(owned.iter().map(|row| (row.id.clone(), row.clone())));
        before.push((found.map(|(head, _)| head.clone()), owned));
    }
    for commit in &batch.sources {
        // The waves of what is new; of what is there, what was ours before is what is compared.
        for row in &commit.upserts {
            rows.entry(row.id.clone()).or_insert_with(|| row.clone()).wave = row.wave;
        }
    }
    let catalog = catalog(&definitions, batch.writes.iter().filter_map(Write::declared));
    let session = Session { on: on.on, view: &on.view, locks: &on.locks, apply: batch.apply.clone(), rows, catalog };
    let steps = session.check(&batch).await?;
    session.run(batch, steps, before).await
}

impl Session<'_> {
    /// Journal, writes, commit point, and everything after it.
    async fn run(
        &self,
        batch: Batch,
        steps: Vec<Step>,
        before: Vec<(Option<state::Head>, Vec<Row>)>,
    ) -> Result<Written, TargetError> {
        let body = Body {
            apply: batch.apply.clone(),
            at: batch.at,
            actor: batch.actor.clone(),
            operation: batch.operation.as_str().to_owned(),
            plan: batch.plan.clone(),
            steps,
        };
        self.may_write()?;
        let names = batch.sources.iter().map(|commit| commit.record.name.to_string()).collect();
        let sources = batch.sources.iter().map(|commit| commit.record.id.clone()).collect();
        let (mut head, mut object) = self.open_journal(&body, sources, names).await?;
        let written = match self.write_all(&body.steps, &batch.gates, &batch.interrupt).await {
            Ok(written) => written,
            Err(error) => return Err(self.undo(&head, &object, &body, error).await),
        };
        let outcome = match self.outcome(batch, &body, &written, before).await {
            Ok(outcome) => outcome,
            Err(error) => return Err(self.undo(&head, &object, &body, error).await),
        };
        // The commit point.
        head.phase = Phase::Committed;
        head.outcome = match self.write_outcome(&outcome).await {
            Ok(blob) => Some(blob),
            Err(error) => return Err(self.undo(&head, &object, &body, error).await),
        };
        match self.switch_journal(&head, &object).await {
            Ok(now) => object = now,
            Err(error) => return Err(self.undo_or_unknown(head, &body, error).await),
        }
        let serials = outcome.sources.iter().map(|s| (s.record.id.clone(), s.record.serial)).collect();
        let objects = outcome
            .done
            .iter()
            .filter(|d| d.operation != "deleted")
            .map(|d| (d.id.clone(), d.uid.clone(), d.version.clone()));
        let objects = objects.collect();
        // From here on it is only gone forward with: whatever fails is finished by the next command that writes.
        let receipt = self.finish(&head, &object, &body, outcome).await?;
        Ok(Written { objects, serials, receipt, held: Duration::ZERO })
    }

    /// A commit point of which it isn't known whether it was reached: the journal says.
    async fn undo_or_unknown(&self, head: JournalHead, body: &Body, error: TargetError) -> TargetError {
        match self.read_journal(&head.apply).await {
            Ok(Some((now, object))) if now.phase == Phase::Applying => self.undo(&now, &object, body, error).await,
            Ok(_) | Err(_) => TargetError::Unknown {
                target: self.on.shown.clone(),
                reason: format!("{error}; the next command that writes, or holdfast recover, finishes or undoes it"),
            },
        }
    }
}

/// Fills in what only the writes can say.
pub(super) fn fill(receipt: &mut Value, outcome: &Outcome) {
    let Some(Value::Array(changes)) = receipt.get_mut("changes") else { return };
    let done: HashMap<&ResourceId, _> = outcome.done.iter().map(|done| (&done.id, done)).collect();
    for change in changes.iter_mut().filter_map(Value::as_object_mut) {
        let id = change.get("id").and_then(|id| serde_json::from_value::<ResourceId>(id.clone()).ok());
        if let Some(done) = id.and_then(|id| done.get(&id).copied()) {
            change.insert("uid".to_owned(), done.uid.as_str().into());
            change.insert("version".to_owned(), done.version.clone().into());
        }
    }
}

/// A row that must be there and isn't.
pub(super) fn gone(id: &ResourceId) -> TargetError {
    moved(id, "its inventory row is gone")
}
