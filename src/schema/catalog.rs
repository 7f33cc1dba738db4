//! All kinds that are known: the built-in ones and those of CRDs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::builtin::{self, Published};
use super::crd::Crd;
use super::fault::{SchemaFault, rule};
use super::node::{Node, NodeRef};
use crate::base::digest;
use crate::base::pointer::Pointer;
use crate::base::resource::{GroupKind, GroupVersionKind};

mod hint;

/// Where a kind comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Built into Kubernetes.
    Builtin,
    /// Defined by a CustomResourceDefinition.
    Crd,
}

/// One version of a kind, as it is served.
#[derive(Debug, Clone)]
pub struct KindSchema {
    /// Group, version and kind.
    pub gvk: GroupVersionKind,
    /// The name in URLs, such as `deployments`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// The shape of its objects.
    pub root: NodeRef,
    /// Where it comes from.
    pub origin: Origin,
    /// What can be done with its objects; of CRDs all ordinary verbs.
    pub verbs: Vec<String>,
    /// Whether `status` is a subresource that a manifest can't write.
    pub has_status: bool,
}

impl KindSchema {
    /// Whether objects of it are stored: reviews and bindings are only ever created and answered.
    pub fn is_stored(&self) -> bool {
        self.verbs.iter().any(|verb| verb == "delete")
    }

    /// The shape of the whole object.
    pub fn root(&self) -> &Node {
        &self.root
    }
}

/// Which part of a group, version and kind nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongPart {
    /// The `apiVersion`.
    ApiVersion,
    /// The `kind`.
    Kind,
}

/// A kind that neither Kubernetes nor a CRD defines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct UnknownKind {
    /// Which part is wrong.
    pub part: WrongPart,
    /// One sentence.
    pub text: String,
    /// What was probably meant: the right kind, or the right apiVersion.
    pub hint: Option<String>,
}

impl From<UnknownKind> for SchemaFault {
    fn from(unknown: UnknownKind) -> Self {
        let key = match unknown.part {
            WrongPart::ApiVersion => "apiVersion",
            WrongPart::Kind => "kind",
        };
        SchemaFault { rule: rule::UNKNOWN_KIND, path: Pointer::of([key]), text: unknown.text, hint: unknown.hint }
    }
}

/// All kinds that are known. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// What the target publishes of itself; the built-in kinds where that isn't asked.
    base: Option<&'static Base>,
    crds: Arc<BTreeMap<GroupKind, Crd>>,
}

/// Kinds that somebody published, under the digest of the text.
struct Base {
    digest: String,
    kinds: Kinds,
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Base").field(&self.digest).finish()
    }
}

impl Catalog {
    /// The built-in kinds alone.
    pub fn builtin() -> Self {
        Self::default()
    }

    /// The kinds that an API server publishes of itself, in the form that the built-in ones are kept in. The same text is kept once, for
    /// as long as the process lives: a target publishes another one only when it becomes another version.
    pub fn published(text: &str) -> Self {
        static KNOWN: Mutex<Vec<&'static Base>> = Mutex::new(Vec::new());
        let digest = digest::sha256(text.as_bytes()).to_string();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = known.iter().find(|base| base.digest == digest) {
            return Self { base: Some(base), crds: Arc::default() };
        }
        let published: &'static Published = Box::leak(Box::new(Published::read(Box::leak(Box::<str>::from(text)))));
        let base: &'static Base = Box::leak(Box::new(Base { digest, kinds: Kinds::of(published) }));
        known.push(base);
        Self { base: Some(base), crds: Arc::default() }
    }

    /// What tells the published kinds of two catalogs apart; empty for the built-in ones.
    pub fn base(&self) -> &str {
        self.base.map_or("", |base| base.digest.as_str())
    }

    fn kinds(&self) -> &'static Kinds {
        self.base.map_or_else(builtin_kinds, |base| &base.kinds)
    }

    /// Unpacks the built-in kinds now rather than when the first is asked for.
    pub fn unpack() {
        builtin_kinds();
    }

    /// The same with these CRDs; one of a kind that is there already takes its place. None takes a built-in kind's.
    #[must_use]
    pub fn with_crds(&self, crds: Vec<Crd>) -> Self {
        if crds.is_empty() {
            return self.clone();
        }
        let mut all = (*self.crds).clone();
        all.extend(crds.into_iter().map(|crd| (crd.group_kind(), crd)));
        Self { base: self.base, crds: Arc::new(all) }
    }

    /// The schema of a kind.
    ///
    /// # Errors
    /// If nobody defines it, or its CRD doesn't serve this version; with what was probably meant.
    pub fn resolve(&self, gvk: &GroupVersionKind) -> Result<Arc<KindSchema>, UnknownKind> {
        if let Some(kind) = self.kinds().by_kind.get(&gvk.group_kind()).and_then(|all| all.version(&gvk.version)) {
            return Ok(kind.clone());
        }
        let crd = self.crds.get(&gvk.group_kind());
        if let Some(kind) = crd.and_then(|crd| crd.version(&gvk.version)) {
            return Ok(kind.clone());
        }
        Err(hint::unknown(self, gvk))
    }

    /// Every version of a kind that is served, the preferred one first; empty if nobody defines it.
    pub fn by_group_kind(&self, kind: &GroupKind) -> Vec<Arc<KindSchema>> {
        if let Some(all) = self.kinds().by_kind.get(kind) {
            return all.versions.iter().map(LazyKind::get).cloned().collect();
        }
        self.crds.get(kind).map(Crd::served).unwrap_or_default()
    }

    /// The name in URLs of a kind, and whether its objects live in namespaces; `None` if nobody defines it.
    pub fn names_of(&self, kind: &GroupKind) -> Option<(&str, bool)> {
        if let Some(first) = self.kinds().by_kind.get(kind).and_then(|all| all.versions.first()) {
            return Some((&first.resource.plural, first.resource.namespaced));
        }
        self.crds.get(kind).map(|crd| (crd.plural(), crd.namespaced()))
    }

    /// Every kind whose objects are stored, in order.
    pub fn stored_kinds(&self) -> BTreeSet<GroupKind> {
        let builtin = self.kinds().by_kind.iter();
        let builtin = builtin.filter(|(_, all)| all.versions.iter().any(|v| v.get().is_stored()));
        builtin.map(|(kind, _)| kind.clone()).chain(self.crds.keys().cloned()).collect()
    }

    /// The CRDs.
    pub fn crds(&self) -> impl Iterator<Item = &Crd> {
        self.crds.values()
    }

    /// All kinds with their versions and plurals, for hints.
    fn names(&self) -> impl Iterator<Item = hint::Known<'_>> {
        let builtin = self.kinds().published.resources.iter().map(|r| hint::Known {
            group: &r.group,
            version: &r.version,
            kind: &r.kind,
            others: std::iter::once(&r.plural).chain([&r.singular]).chain(&r.short_names).map(String::as_str).collect(),
        });
        let custom = self.crds.values().flat_map(|crd| {
            crd.versions().map(|version| hint::Known {
                group: crd.group(),
                version,
                kind: crd.kind(),
                others: crd.other_names().collect(),
            })
        });
        builtin.chain(custom)
    }
}

struct LazyKind {
    published: &'static Published,
    resource: &'static builtin::Resource,
    schema: OnceLock<Arc<KindSchema>>,
}

impl LazyKind {
    fn get(&self) -> &Arc<KindSchema> {
        self.schema.get_or_init(|| {
            let r = self.resource;
            let root = r.definition(self.published).map_or_else(|| Node::default().into(), NodeRef::Builtin);
            Arc::new(KindSchema {
                gvk: GroupVersionKind { group: r.group.clone(), version: r.version.clone(), kind: r.kind.clone() },
                plural: r.plural.clone(),
                namespaced: r.namespaced,
                has_status: root.properties.contains_key("status"),
                root,
                origin: Origin::Builtin,
                verbs: r.verbs.clone(),
            })
        })
    }
}

struct Versions {
    versions: Vec<LazyKind>,
}

impl Versions {
    fn version(&self, version: &str) -> Option<&Arc<KindSchema>> {
        self.versions.iter().find(|v| v.resource.version == version).map(LazyKind::get)
    }
}

/// Published kinds, each with its versions.
struct Kinds {
    published: &'static Published,
    by_kind: BTreeMap<GroupKind, Versions>,
}

impl Kinds {
    /// Indexes them. The preferred version of a kind comes first.
    fn of(published: &'static Published) -> Self {
        let mut by_kind: BTreeMap<GroupKind, Versions> = BTreeMap::new();
        for resource in &published.resources {
            let of_kind = by_kind
                .entry(GroupKind::new(&resource.group, &resource.kind))
                .or_insert_with(|| Versions { versions: Vec::new() });
            of_kind.versions.push(LazyKind { published, resource, schema: OnceLock::new() });
        }
        Self { published, by_kind }
    }
}

/// The built-in kinds.
fn builtin_kinds() -> &'static Kinds {
    static KINDS: OnceLock<Kinds> = OnceLock::new();
    KINDS.get_or_init(|| Kinds::of(builtin::published()))
}
