//! What planning is a function of: the checked manifests, what the target showed, and the permissions given.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::document::{Allowances, Purpose, TargetEntry};
use crate::admission::CheckedSet;
use crate::base::ids::{CommitId, Digest, SourceId, SourceName};
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::{BadResourceId, ResourceId};
use crate::inventory::{Binding, Emergency, Inventory, Released, SourceRecord};
use crate::source::spec::SourceSpec;
use crate::target::{Head, Live};

/// What git says of the commit that is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacts {
    /// The commit.
    pub commit: CommitId,
    /// It is not reachable from the Source's ref.
    pub preview: bool,
    /// It doesn't descend from the applied commit.
    pub rewind: bool,
}

/// One Source that is planned.
pub struct SourceInput<'a> {
    /// Its specification; of one that is removed, what its record says.
    pub spec: &'a SourceSpec,
    /// What is planned of it.
    pub purpose: Purpose,
    /// Its ID on this target.
    pub id: SourceId,
    /// What the target knows of it; `None` before its first apply.
    pub record: Option<&'a SourceRecord>,
    /// What it owns there.
    pub inventory: &'a Inventory,
    /// Its manifests.
    pub set: &'a CheckedSet,
    /// Its commit.
    pub facts: CommitFacts,
    /// What it would be bound to.
    pub binding: Binding,
    /// Whether that differs from what it is bound to, and was allowed.
    pub rebinds: bool,
    /// What others wrote to its objects while it was paused, and that is left alone.
    pub emergencies: BTreeMap<ResourceId, Emergency>,
}

impl SourceInput<'_> {
    /// The digest of its specification; of one that is removed, of the one that was applied last.
    pub fn spec_digest(&self) -> Digest {
        match self.record {
            Some(record) if self.purpose.removes() => record.spec.clone(),
            _ => self.spec.digest(),
        }
    }
}

/// Another Source of the same configuration: what it declares at its newest commit is never deleted.
#[derive(Debug, Clone)]
pub struct OtherSource {
    /// Its name.
    pub name: SourceName,
    /// What it declares, or why that could not be read.
    pub wanted: Result<HashSet<ResourceId>, String>,
}

/// A Source outside the plan that owns something which the plan declares.
#[derive(Debug)]
pub struct OutsideSource {
    /// What the target knows of it.
    pub record: SourceRecord,
    /// What it owns.
    pub inventory: Arc<Inventory>,
    /// What others wrote to its objects while it was paused.
    pub emergencies: BTreeMap<ResourceId, Emergency>,
}

/// What the target showed, in one consistent view.
#[derive(Debug)]
pub struct Observed {
    /// The target.
    pub target: TargetEntry,
    /// Every Source that it knows.
    pub known: Vec<SourceRecord>,
    /// Those outside the plan whose marks declared objects bear, sorted by ID.
    pub outside: Vec<OutsideSource>,
    /// What any Source let go of the declared objects that bear no mark, with its name.
    pub released: Vec<(SourceName, Released)>,
    /// What bears the mark of a Source that is rebuilt or removed, as far as its scope reaches.
    pub marked: Vec<Head>,
    /// Those of the declared and owned resources that exist.
    pub heads: HashMap<ResourceId, Head>,
    /// The bodies of those that have to be compared.
    pub objects: HashMap<ResourceId, Live>,
    /// Everything in the Namespaces, or of the kinds, that a delete could take along.
    pub contents: Vec<Head>,
    /// HorizontalPodAutoscalers in the Namespaces of the plan.
    pub autoscalers: Vec<Live>,
}

/// Permissions that the person who plans or applies gives, by name and count.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    given: Allowances,
    allow: BTreeMap<ResourceId, usize>,
    allow_sources: BTreeSet<String>,
    adopt: Vec<AdoptPattern>,
    take_over: BTreeMap<String, usize>,
    release: BTreeSet<ResourceId>,
}

/// What a plan needs permissions for.
pub(super) struct Uses<'a> {
    /// Whether the deletes need one.
    pub(super) deletes: bool,
    /// Objects deleted or made anew.
    pub(super) allowed: BTreeSet<&'a ResourceId>,
    /// Objects adopted, not by their manifest's own word.
    pub(super) adopted: BTreeSet<&'a ResourceId>,
    /// Objects let go.
    pub(super) released: BTreeSet<&'a ResourceId>,
    /// Sources that objects are taken from, not by the manifests' own word.
    pub(super) taken_from: BTreeSet<&'a str>,
    /// Claims of other tools that are passed over.
    pub(super) claims: BTreeSet<String>,
    /// Sources bound anew.
    pub(super) rebound: Vec<&'a SourceName>,
    /// Webhooks that take no dry run.
    pub(super) deaf: &'a BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AdoptPattern {
    One(ResourceId),
    All { group: String, kind: String, namespace: Option<String> },
}

/// A permission that can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGrant {
    /// It names no resource.
    #[error(transparent)]
    Id(#[from] BadResourceId),
    /// Its count is no number.
    #[error("{0:?}: write ID=N with a number N")]
    Count(String),
    /// A claim of another tool without its number.
    #[error("{0:?}: write CLAIM=N with the claim that the refusal names, such as helm/shop/web=3")]
    Claim(String),
    /// A pattern without a number.
    #[error("{0:?} is a pattern: say with --allow-adoptions N how many objects it may adopt")]
    Uncounted(String),
    /// A `*` where it stands for nothing.
    #[error("{0:?}: only --adopt takes a pattern, and in it only a whole name can be *")]
    Pattern(String),
    /// One object with two counts.
    #[error("{0:?}: the same object is allowed with another count, too")]
    Twice(String),
}

/// One object by its name.
fn named(text: &str) -> Result<ResourceId, BadGrant> {
    if text.contains('*') {
        return Err(BadGrant::Pattern(text.to_owned()));
    }
    Ok(ResourceId::parse(text)?)
}

/// A claim with its number.
pub(super) fn claim(text: &str) -> Option<(&str, usize)> {
    let (claim, count) = text.split_once('=')?;
    count.parse().ok().filter(|_| !claim.is_empty()).map(|count| (claim, count))
}

impl AdoptPattern {
    fn matches(&self, id: &ResourceId) -> bool {
        match self {
            Self::One(one) => one == id,
            Self::All { group, kind, namespace } => id.is(group, kind) && id.namespace == *namespace,
        }
    }
}

impl Grants {
    /// Reads permissions as they are given on the command line.
    ///
    /// # Errors
    /// The first that can't be understood.
    pub fn new(mut given: Allowances) -> Result<Self, BadGrant> {
        let Allowances { allow, adopt, adopt_from, take_over, release, waive_dry_run, .. } = &mut given;
        for list in [allow, adopt, adopt_from, take_over, release, waive_dry_run] {
            list.sort();
            list.dedup();
        }
        let (mut allow, mut allow_sources, mut adopt) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        for text in &given.allow {
            if let Some(name) = text.strip_prefix("source/") {
                allow_sources.insert(name.to_owned());
                continue;
            }
            let (id, count) = match text.split_once('=') {
                None => (text.as_str(), 0),
                Some((id, count)) => (id, count.parse().map_err(|_| BadGrant::Count(text.clone()))?),
            };
            if allow.insert(named(id)?, count).is_some() {
                return Err(BadGrant::Twice(text.clone()));
            }
        }
        for text in &given.adopt {
            if !text.ends_with("/*") {
                adopt.push(AdoptPattern::One(named(text)?));
                continue;
            }
            let id = ResourceId::parse(text)?;
            if text.matches('*').count() > 1 {
                return Err(BadGrant::Pattern(text.clone()));
            }
            if given.adoptions.is_some() {
                adopt.push(AdoptPattern::All { group: id.group, kind: id.kind, namespace: id.namespace });
            } else {
                return Err(BadGrant::Uncounted(text.clone()));
            }
        }
        let mut take_over = BTreeMap::new();
        for text in &given.take_over {
            let (claim, count) = claim(text).ok_or_else(|| BadGrant::Claim(text.clone()))?;
            if take_over.insert(claim.to_owned(), count).is_some() {
                return Err(BadGrant::Twice(text.clone()));
            }
        }
        let release = given.release.iter().map(|t| named(t)).collect::<Result<_, _>>()?;
        Ok(Self { given, allow, allow_sources, adopt, take_over, release })
    }

    /// Those of the permissions that these Changes of a plan need: the form that it records.
    pub(super) fn used(&self, uses: &Uses<'_>) -> Allowances {
        let taken = |texts: &[String], is_used: &dyn Fn(&str) -> bool| -> Vec<String> {
            texts.iter().filter(|text| is_used(text)).cloned().collect()
        };
        let is_one_of = |text: &str, ids: &BTreeSet<&ResourceId>| {
            let id = text.split_once('=').map_or(text, |(id, _)| id);
            ResourceId::parse(id).is_ok_and(|id| ids.contains(&id))
        };
        let adopts = |text: &str| {
            let Ok(named) = ResourceId::parse(text) else { return false };
            uses.adopted.iter().any(|id| {
                **id == named
                    || (named.name == "*" && id.group_kind() == named.group_kind() && id.namespace == named.namespace)
            })
        };
        let given = &self.given;
        let by_pattern = uses.adopted.iter().any(|id| !self.adopts_by_name(id));
        Allowances {
            deletes: given.deletes.filter(|_| uses.deletes),
            allow: taken(&given.allow, &|text| match text.strip_prefix("source/") {
                Some(name) => uses.rebound.iter().any(|source| source.as_str() == name),
                None => is_one_of(text, &uses.allowed),
            }),
            adopt: taken(&given.adopt, &adopts),
            adoptions: given.adoptions.filter(|_| by_pattern),
            adopt_from: taken(&given.adopt_from, &|name| uses.taken_from.contains(name)),
            take_over: taken(&given.take_over, &|text| {
                claim(text).is_some_and(|(claim, _)| uses.claims.contains(claim))
            }),
            release: taken(&given.release, &|text| is_one_of(text, &uses.released)),
            waive_dry_run: taken(&given.waive_dry_run, &|name| uses.deaf.contains(name)),
        }
    }

    /// As given, sorted.
    pub fn given(&self) -> &Allowances {
        &self.given
    }

    /// Allows so many deletes.
    pub(crate) fn allow_deletes(&mut self, deletes: usize) {
        self.given.deletes = Some(deletes);
    }

    /// How many deletes are allowed.
    pub fn deletes(&self) -> Option<usize> {
        self.given.deletes
    }

    /// Objects allowed by name, with the number of nobody's objects that each may take along.
    pub fn allow(&self) -> &BTreeMap<ResourceId, usize> {
        &self.allow
    }

    /// Whether a Source may be bound anew.
    pub fn allows_source(&self, name: &SourceName) -> bool {
        self.allow_sources.contains(name.as_str())
    }

    /// Objects that are let go.
    pub fn release(&self) -> &BTreeSet<ResourceId> {
        &self.release
    }

    /// Whether an object may be adopted, by name or by pattern; a pattern's count is checked over the whole plan.
    pub fn adopts(&self, id: &ResourceId) -> bool {
        self.adopt.iter().any(|pattern| pattern.matches(id))
    }

    /// Whether objects of a Source may be taken over.
    pub fn adopts_from(&self, source: &SourceName) -> bool {
        self.given.adopt_from.iter().any(|name| name == source.as_str())
    }

    /// Whether an object is named for adoption itself, and so counts against no number.
    pub fn adopts_by_name(&self, id: &ResourceId) -> bool {
        self.adopt.iter().any(|pattern| matches!(pattern, AdoptPattern::One(one) if one == id))
    }

    /// Whether objects may pass without a dry run because of this webhook, which takes none.
    pub fn waives_dry_run(&self, webhook: &str) -> bool {
        self.given.waive_dry_run.iter().any(|name| name == webhook)
    }

    /// How many objects may be adopted that a claim of another tool is on.
    pub fn taken_over(&self, claim: &str) -> usize {
        self.take_over.get(claim).copied().unwrap_or_default()
    }

    /// How many objects patterns may adopt.
    pub fn adoptions(&self) -> Option<usize> {
        self.given.adoptions
    }
}
