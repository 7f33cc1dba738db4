//! A Source that is removed: planned from what the target knows of it, without its repository.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::emergencies::emergencies;
use super::prepare::other;
use super::rename::unknown;
use super::rules::SOURCE_BINDING;
use crate::admission::{self, CheckedSet, Rejection};
use crate::base::fault::Fault;
use crate::base::ids::SourceName;
use crate::base::path::RepoPath;
use crate::base::resource::ResourceId;
use crate::inventory::{Emergency, Inventory, SourceRecord, present};
use crate::manifest::{Limits, ManifestSet};
use crate::plan::document::Purpose;
use crate::plan::{CommitFacts, OtherSource, SourceInput};
use crate::source::scope::{ClusterKinds, Namespaces};
use crate::source::spec::{ServiceAccount, SourceSpec};
use crate::source::url::RepositoryUrl;
use crate::target::{Definitions, Reader, TargetError};

use super::context::Context;
use super::prepare::read_as_account;

/// Which Source is removed, and how.
#[derive(Debug, Clone)]
pub struct Removal {
    /// Its name.
    pub name: SourceName,
    /// [`Purpose::Orphan`] or [`Purpose::Prune`].
    pub purpose: Purpose,
    /// The account of the target that its objects are written as, if the configuration has the Source still.
    pub account: Option<ServiceAccount>,
}

/// A Source that leaves, as the target knows it at one moment.
pub(super) struct Leaving<'k> {
    spec: SourceSpec,
    purpose: Purpose,
    record: &'k SourceRecord,
    inventory: Arc<Inventory>,
    emergencies: BTreeMap<ResourceId, Emergency>,
    set: CheckedSet,
}

impl<'k> Leaving<'k> {
    /// Reads it.
    pub(super) fn read(
        removal: &Removal,
        reader: &dyn Reader,
        known: &'k [SourceRecord],
    ) -> Result<Result<Self, Rejection>, TargetError> {
        let Some(record) = present(known, &removal.name) else {
            return Ok(Err(Rejection::of(unknown(&removal.name, known))));
        };
        let spec = match spec(record, removal.purpose) {
            Ok(spec) => SourceSpec { service_account: removal.account.clone(), ..spec },
            Err(fault) => return Ok(Err(Rejection::of(*fault))),
        };
        let nothing = ManifestSet::join(Vec::new(), &Limits::default());
        let set = match admission::check(&spec, nothing, &reader.definitions()?, &[]) {
            Ok(set) => set,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let inventory = reader.inventory(&record.id)?;
        read_as_account(reader, &spec, &set, &inventory);
        let emergencies = emergencies(reader, &reader.controls(&record.id)?, &inventory)?;
        Ok(Ok(Self { spec, purpose: removal.purpose, record, inventory, emergencies, set }))
    }

    /// What planning needs of it.
    pub(super) fn input(&self) -> SourceInput<'_> {
        SourceInput {
            spec: &self.spec,
            purpose: self.purpose,
            id: self.record.id.clone(),
            record: Some(self.record),
            inventory: &self.inventory,
            set: &self.set,
            facts: CommitFacts { commit: self.record.commit.clone(), preview: false, rewind: false },
            binding: self.record.binding.clone(),
            rebinds: false,
            emergencies: self.emergencies.clone(),
        }
    }
}

/// The other Sources whose wishes a removal with its objects must not cross; one that keeps all objects crosses none.
pub(super) fn others(
    context: &Context<'_>,
    removal: &Removal,
    others: &[&SourceSpec],
    definitions: &Definitions,
) -> Vec<OtherSource> {
    if removal.purpose == Purpose::Orphan {
        return Vec::new();
    }
    others.iter().filter(|spec| spec.name != removal.name).map(|spec| other(context, spec, definitions)).collect()
}

/// What a record says of its Source. It reaches whatever it owns: what is removed is no longer held to a configuration.
fn spec(record: &SourceRecord, purpose: Purpose) -> Result<SourceSpec, Box<Fault>> {
    let url = RepositoryUrl::parse(&record.binding.repository, Path::new("/")).map_err(|bad| {
        let text = format!("what Source {} is bound to can't be read: {bad}", record.name);
        Box::new(Fault::new(SOURCE_BINDING, text))
    })?;
    let mut spec = SourceSpec::new(record.name.clone(), url, Namespaces::Any);
    spec.path = RepoPath::from(record.binding.path.as_str());
    spec.cluster_kinds = ClusterKinds::Any;
    spec.prune = purpose == Purpose::Prune;
    Ok(spec)
}
