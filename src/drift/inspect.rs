//! Reads what was last applied of a Source and what is live, and tells them apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::added::{Added, added, is_watched};
use super::classify::{Subject, classify};
use super::finding::Drifted;
use super::standing::{Standing, standing};
use crate::admission::{self, Checked, CheckedSet};
use crate::apply::{Context, emergencies, observe_telling, read_applied, read_as_account};
use crate::base::fault::{Fault, Warning};
use crate::base::ids::Manager;
use crate::base::map::HashMap;
use crate::base::path::RepoPath;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::inventory::{Emergency, Inventory, SourceRecord};
use crate::plan::document::{ChangeEntry, Purpose};
use crate::plan::{CommitFacts, Grants, SourceInput, draft};
use crate::source::scope::{ClusterKinds, Kinds, Namespaces};
use crate::source::spec::{Effect, Sensitive, SourceSpec};
use crate::source::url::RepositoryUrl;
use crate::target::{Definitions, Live, Reader, TargetError};

/// Why something can't be told; for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRead {
    /// The rule of the first thing that stood in the way.
    pub rule: &'static str,
    /// What it is.
    pub text: String,
}

/// What was found of one Source that was applied.
#[derive(Debug)]
pub struct Inspection {
    /// What the target knows of it.
    pub record: SourceRecord,
    /// What it owns.
    pub inventory: Arc<Inventory>,
    /// The live objects among those that it declared or owns.
    pub live: HashMap<ResourceId, Live>,
    /// What the last applied commit declares, sorted; an error if it can't be read, and then nothing is known of drift.
    pub declared: Result<Vec<ResourceId>, NotRead>,
    /// What drifted, sorted by resource.
    pub drifted: Vec<Drifted>,
    /// What others added to objects of this Source.
    pub added: Vec<(ResourceId, Added)>,
    /// Objects that can't be compared, sorted.
    pub unknown: Vec<(ResourceId, NotRead)>,
    /// What is declared but left alone.
    pub left_alone: Vec<Warning>,
    /// What drifted as a repair would leave it, sensitive values in clear.
    pub(super) restored: HashMap<ResourceId, Value>,
    /// What the last applied commit declares.
    pub(super) set: Option<CheckedSet>,
}

impl Inspection {
    /// What the Source owns and its last applied commit no longer declares; nothing while that can't be read.
    pub fn kept(&self) -> Vec<&ResourceId> {
        let Ok(declared) = &self.declared else { return Vec::new() };
        self.inventory.rows.keys().filter(|id| declared.binary_search(id).is_err()).collect()
    }

    /// How an object drifted.
    pub(super) fn drift_of(&self, id: &ResourceId) -> Option<&Drifted> {
        self.drifted.binary_search_by(|drifted| drifted.id.cmp(id)).ok().map(|at| &self.drifted[at])
    }

    /// Why an object can't be compared.
    pub(super) fn unknown_of(&self, id: &ResourceId) -> Option<&NotRead> {
        self.unknown.binary_search_by(|(unknown, _)| unknown.cmp(id)).ok().map(|at| &self.unknown[at].1)
    }
}

/// Inspects one Source. Writes nothing on the target; `context` says where the mirror is.
///
/// # Errors
/// If the target can't be read. That the commit can't be is an answer.
pub fn inspect(
    context: &Context<'_>,
    spec: &SourceSpec,
    record: &SourceRecord,
    known: &[SourceRecord],
    reader: &dyn Reader,
) -> Result<Inspection, TargetError> {
    let inventory = reader.inventory(&record.id)?;
    let set = applied_set(context, spec, record, &inventory, &reader.definitions()?);
    let mut found = Inspection {
        record: record.clone(),
        inventory,
        live: HashMap::default(),
        declared: Ok(Vec::new()),
        drifted: Vec::new(),
        added: Vec::new(),
        unknown: Vec::new(),
        left_alone: Vec::new(),
        restored: HashMap::default(),
        set: None,
    };
    let mut ids: BTreeSet<&ResourceId> = found.inventory.rows.keys().collect();
    match &set {
        Ok((_, set)) => ids.extend(set.manifests().iter().map(Checked::id)),
        Err(why) => found.declared = Err(why.clone()),
    }
    if let Ok((spec, set)) = &set {
        read_as_account(reader, spec, set, &found.inventory);
    }
    found.live = reader.objects(&ids.iter().copied().collect::<Vec<_>>())?;
    if let Ok((spec, set)) = set {
        found.declared = Ok(set.manifests().iter().map(|checked| checked.id().clone()).collect());
        compare(context, &spec, &set, known, reader, &mut found)?;
        found.set = Some(set);
    }
    Ok(found)
}

/// What the last applied commit declares, with the specification that it was read by.
///
/// It was admitted when it was applied: today's rules judge what is written, not what was. So those that may have been
/// tightened since are left out here.
fn applied_set(
    context: &Context<'_>,
    spec: &SourceSpec,
    record: &SourceRecord,
    inventory: &Inventory,
    definitions: &Definitions,
) -> Result<(SourceSpec, CheckedSet), NotRead> {
    let spec = opened(spec, record, inventory)?;
    let refused = |rejection: admission::Rejection| NotRead {
        rule: rejection.faults().next().map_or("source-unreadable", |fault| fault.rule.as_str()),
        text: rejection.first_text(),
    };
    let (set, faults) = read_applied(context, &spec, &record.commit).map_err(refused)?;
    if let Some(fault) = faults.first() {
        return Err(not_read(fault));
    }
    let checked = admission::check(&spec, set, definitions, &[]).map_err(refused)?;
    Ok((spec, checked))
}

fn not_read(fault: &Fault) -> NotRead {
    NotRead { rule: fault.rule.as_str(), text: fault.text.clone() }
}

fn opened(spec: &SourceSpec, record: &SourceRecord, inventory: &Inventory) -> Result<SourceSpec, NotRead> {
    let bound = &record.binding;
    let mut opened = spec.clone();
    if opened.repository.normalised() != bound.repository {
        opened.repository = RepositoryUrl::parse(&bound.repository, std::path::Path::new("/")).map_err(|error| {
            NotRead { rule: "source-binding", text: format!("the repository that was applied: {error}") }
        })?;
    }
    if opened.path.to_string() != bound.path {
        opened.path = RepoPath::from(bound.path.as_str());
    }
    // What was sensitive when it was applied stays so.
    for row in inventory.rows.values().filter(|row| !row.sensitive.is_empty()) {
        let kind = row.id.group_kind();
        let known = |pointer: &Pointer| opened.sensitive.iter().any(|s| s.kind == kind && s.pointers.contains(pointer));
        let pointers: Vec<Pointer> = row.sensitive.iter().filter(|pointer| !known(pointer)).cloned().collect();
        if !pointers.is_empty() {
            opened.sensitive.push(Sensitive { kind, pointers });
        }
    }
    opened.policies = Vec::new();
    opened.namespaces = Namespaces::Any;
    opened.cluster_kinds = ClusterKinds::Any;
    opened.kinds = Kinds::default();
    opened.ambiguous_scalars = Effect::Warn;
    opened.prune = false;
    Ok(opened)
}

fn compare(
    context: &Context<'_>,
    spec: &SourceSpec,
    set: &CheckedSet,
    known: &[SourceRecord],
    reader: &dyn Reader,
    found: &mut Inspection,
) -> Result<(), TargetError> {
    let Inspection { record, inventory, live, drifted, added: additions, unknown, left_alone, restored, .. } = found;
    let inputs = [SourceInput {
        spec,
        purpose: Purpose::Apply,
        id: record.id.clone(),
        record: Some(record),
        inventory,
        set,
        facts: CommitFacts { commit: record.commit.clone(), preview: false, rewind: false },
        binding: record.binding.clone(),
        rebinds: false,
        // They are told apart here, not left out.
        emergencies: BTreeMap::new(),
    }];
    let emergencies = emergencies(reader, &reader.controls(&record.id)?, inventory)?;
    let observed = observe_telling(reader, context.target.kind(), known, &inputs, context.progress)?;
    let grants = Grants::default();
    let draft = draft(&inputs, &[], &observed, &grants);
    let changes: HashMap<&ResourceId, (&ChangeEntry, Option<&Value>)> =
        draft.entries().map(|(entry, after)| (&entry.id, (entry, after))).collect();
    let faults: HashMap<&ResourceId, &Fault> =
        draft.faults().filter_map(|fault| Some((fault.id.as_ref()?, fault))).collect();
    *left_alone = draft.warnings().filter(|w| w.rule == admission::LEFT_ALONE).cloned().collect();
    for checked in set.manifests() {
        let id = checked.id();
        let live = live.get(id);
        let (change, fault) = (changes.get(id), faults.get(id));
        if change.is_some() || fault.is_some() {
            let head = observed.heads.get(id);
            let standing = standing(&record.id, inventory.row(id), head, known);
            match (&standing, fault) {
                (Standing::Ours, Some(fault)) => unknown.push((id.clone(), not_read(fault))),
                // What a manifest only uses is nobody's to own.
                (Standing::NotOwned | Standing::Ours, None) if checked.wants().use_ => {}
                _ => {
                    if let Some(after) = change.and_then(|(_, after)| *after) {
                        restored.insert(id.clone(), after.clone());
                    }
                    let log = reader.log(id)?;
                    let emergency: Vec<Pointer> = emergencies.get(id).map(Emergency::places).unwrap_or_default();
                    drifted.extend(classify(Subject {
                        id,
                        uid: head.map(|head| &head.uid),
                        file: checked.file_text().into_owned(),
                        line: checked.line(),
                        standing,
                        fields: change.map_or(&[], |(change, _)| change.fields.as_slice()),
                        live: live.map(|live| &live.object),
                        log: &log,
                        emergency: &emergency,
                    }));
                }
            }
        }
        let ours = inventory.rows.contains_key(id) && !checked.wants().use_;
        if let Some(live) = live.filter(|live| ours && is_watched(id, &live.object)) {
            match added(id, &live.object, checked.fields(), &named(spec, id)) {
                Ok(more) => additions.extend(more.into_iter().map(|added| (id.clone(), added))),
                Err(error) => {
                    unknown.push((id.clone(), NotRead { rule: "unreadable-object", text: error.to_string() }));
                }
            }
        }
    }
    unknown.sort_by(|a, b| a.0.cmp(&b.0));
    unknown.dedup_by(|a, b| a.0 == b.0);
    Ok(())
}

/// Managers that the Source's `ignoreDrift` names for objects of this kind.
fn named<'s>(spec: &'s SourceSpec, id: &ResourceId) -> Vec<&'s Manager> {
    let rules = spec.ignore_drift.iter().filter(|rule| rule.kind == id.group_kind());
    rules.filter_map(|rule| rule.manager.as_ref()).collect()
}
