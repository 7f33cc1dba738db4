//! The last two states of a plan: admitted, and sealed under its PlanId.

use std::collections::BTreeMap;
use std::time::Duration;

use super::change::{Boxed, Change, Giver, Intent, RowChange, Unchanged};
use super::document::{
    Action, ChangeEntry, FORMAT_VERSION, PlanDocument, Purpose, SourceEntry, Summary, TargetEntry, UnchangedEntry,
    Waiver, WarningEntry,
};
use super::draft::Draft;
use super::identity;
use super::input::SourceInput;
use super::lint;
use super::removal::EndedRow;
use super::serial;
use super::warnings::entry as warning_entry;
use crate::base::ids::{ContentId, Digest, PlanId, SourceId, SourceName};
use crate::base::resource::ResourceId;
use crate::inventory::{Binding, FormerName, Row, SourceRecord};
use crate::source::spec::ServiceAccount;

/// A Draft that passed every rule. Only admission makes one; it can be sealed and nothing else.
pub struct Plan<'a> {
    draft: Draft<'a>,
    waivers: Vec<Waiver>,
}

/// A finished plan: the document that people review and, out of reach of any file, what an apply would do.
#[derive(Debug)]
#[must_use = "a sealed plan is there to be shown, saved or applied"]
pub struct SealedPlan {
    document: PlanDocument,
    made: Made,
}

/// What an apply of a sealed plan would do.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) steps: Vec<Step>,
    pub(crate) moved_rows: Vec<(usize, Row)>,
    pub(crate) ended_rows: Vec<EndedRow>,
    pub(crate) sources: Vec<SealedSource>,
    /// The Sources outside the plan that give objects up; [`Giver::Outside`] is an index into them.
    pub(crate) outside: Vec<SourceRecord>,
    /// The target's revision that it was made on, where the target has such a thing: while that stands, so does the plan.
    pub(crate) revision: Option<String>,
}

/// What an apply does for one Change; in the order of the document's `changes`.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) id: ResourceId,
    pub(crate) source: usize,
    pub(crate) from: Option<Giver>,
    pub(crate) intent: Intent,
    pub(crate) row: RowChange,
}

/// What an apply needs of one Source.
#[derive(Debug)]
pub(crate) struct SealedSource {
    pub(crate) id: SourceId,
    pub(crate) name: SourceName,
    pub(crate) binding: Binding,
    pub(crate) spec: Digest,
    /// What is planned of it.
    pub(crate) purpose: Purpose,
    /// The serial of its inventory before the apply.
    pub(crate) serial: u64,
    /// Whether it rises.
    pub(crate) rises: bool,
    /// The names that it had before.
    pub(crate) former_names: Vec<FormerName>,
    /// How long what it changed may take to become healthy; zero doesn't wait.
    pub(crate) health_timeout: Duration,
    /// As which account of the target its objects are written.
    pub(crate) account: Option<ServiceAccount>,
}

/// A finished plan that breaks a promise: a fault of Holdfast's own. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[error("the finished plan breaks its own rules, nothing was written; please report this: {}", .0.join("; "))]
pub struct BrokenPlan(pub Vec<String>);

impl<'a> Plan<'a> {
    /// Takes a Draft that admission found no fault in.
    pub(crate) fn admitted(draft: Draft<'a>, waivers: Vec<Waiver>) -> Self {
        Self { draft, waivers }
    }

    /// Seals it: orders and counts, re-checks it independently, and names it by its content.
    ///
    /// `created_at` stands outside the digests.
    ///
    /// # Errors
    /// If the finished plan breaks a promise.
    pub fn seal(self, created_at: String) -> Result<SealedPlan, BrokenPlan> {
        let Self { mut draft, mut waivers } = self;
        let rewritten = draft.rewritten_before();
        let mut warnings: Vec<WarningEntry> = draft.warnings.iter().chain(&rewritten).map(warning_entry).collect();
        warnings.sort();
        warnings.dedup();
        waivers.sort();
        let (inputs, others, observed) = (draft.inputs, draft.others, draft.observed);
        let allowances = draft.used_allowances();
        let summary = count(&draft.changes, draft.unchanged.len());
        let moved_rows = moved_rows(&mut draft.unchanged);
        let rises = |source: usize| serial::rises(source, inputs, &draft.changes, &moved_rows, &draft.ended);
        let sources = inputs.iter().enumerate().map(|(at, input)| sealed_source(input, rises(at))).collect();
        let (changes, steps): (Vec<ChangeEntry>, Vec<Step>) = draft.changes.into_iter().map(split).unzip();
        let unchanged: Vec<UnchangedEntry> = draft.unchanged.into_iter().map(|u| u.entry).collect();
        let blank = identity::unnamed();
        let mut document = PlanDocument {
            format_version: FORMAT_VERSION,
            plan_id: PlanId::new(&blank),
            content_id: ContentId::new(&blank),
            created_at,
            target: TargetEntry { kind: observed.target.kind, identity: observed.target.identity.clone() },
            sources: inputs.iter().map(source_entry).collect(),
            changes,
            unchanged,
            summary,
            warnings,
            allowances,
            waivers,
        };
        let (broken, names) =
            rayon::join(|| lint::lint(&document, inputs, others, observed), || identity::name(&document));
        if !broken.is_empty() {
            return Err(BrokenPlan(broken));
        }
        let (plan_id, content_id) = names.map_err(|error| BrokenPlan(vec![error.to_string()]))?;
        document.plan_id = plan_id;
        document.content_id = content_id;
        let outside = observed.outside.iter().map(|other| other.record.clone()).collect();
        let made = Made { steps, moved_rows, ended_rows: draft.ended, sources, outside, revision: None };
        Ok(SealedPlan { document, made })
    }
}

impl Made {
    /// Indexes of the Sources outside the plan that do give something up.
    pub(crate) fn givers(&self) -> Vec<usize> {
        let gives = |at: &usize| self.steps.iter().any(|step| step.from == Some(Giver::Outside(*at)));
        (0..self.outside.len()).filter(gives).collect()
    }
}

impl SealedPlan {
    /// The document that people review.
    pub fn document(&self) -> &PlanDocument {
        &self.document
    }

    /// Notes what the target's view, all of which it was made from, called its revision.
    pub(crate) fn made_on(self, revision: Option<String>) -> Self {
        Self { made: Made { revision, ..self.made }, ..self }
    }

    /// What was shown, and what would be done.
    pub(crate) fn into_parts(self) -> (PlanDocument, Made) {
        (self.document, self.made)
    }
}

fn split(change: Boxed<'_>) -> (ChangeEntry, Step) {
    let Change { entry, source, from, intent, row, .. } = *change;
    let id = entry.id.clone();
    (entry, Step { id, source, from, intent, row })
}

fn moved_rows(unchanged: &mut [Unchanged]) -> Vec<(usize, Row)> {
    unchanged.iter_mut().filter_map(|u| u.row.take().map(|row| (u.source, *row))).collect()
}

fn count(changes: &[Boxed<'_>], unchanged: usize) -> Summary {
    let mut by_action: BTreeMap<Action, usize> = BTreeMap::new();
    for change in changes {
        *by_action.entry(change.entry.action).or_default() += 1;
    }
    let of = |action| by_action.get(&action).copied().unwrap_or(0);
    Summary {
        create: of(Action::Create),
        update: of(Action::Update),
        own: of(Action::Own),
        replace: of(Action::Replace),
        delete: of(Action::Delete),
        adopt: of(Action::Adopt),
        transfer: of(Action::Transfer),
        release: of(Action::Release),
        keep: of(Action::Keep),
        unchanged,
    }
}

fn source_entry(input: &SourceInput<'_>) -> SourceEntry {
    SourceEntry {
        name: input.spec.name.clone(),
        id: input.id.clone(),
        purpose: input.purpose,
        path: input.binding.path.clone(),
        commit: input.facts.commit.clone(),
        applied: input.record.map(|r| r.commit.clone()),
        inventory_serial: input.inventory.serial,
        spec: input.spec_digest(),
        origin: input.spec.origin(),
        preview: input.facts.preview,
        rewind: input.facts.rewind,
        rebinds: input.rebinds,
    }
}

fn sealed_source(input: &SourceInput<'_>, rises: bool) -> SealedSource {
    SealedSource {
        id: input.id.clone(),
        name: input.spec.name.clone(),
        binding: input.binding.clone(),
        spec: input.spec_digest(),
        purpose: input.purpose,
        serial: input.inventory.serial,
        rises,
        former_names: input.record.map(|record| record.former_names.clone()).unwrap_or_default(),
        health_timeout: input.spec.health_timeout,
        account: input.spec.service_account.clone(),
    }
}
