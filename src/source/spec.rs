//! A Source: a repository, a ref, a path, what it may write, and its policies.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::ids::{Digest, Manager, SourceName};
use crate::base::path::RepoPath;
use crate::base::pointer::Pointer;
use crate::base::resource::GroupKind;

use super::refs::RefSpec;
use super::scope::{ClusterKinds, Kinds, Namespaces};
use super::url::RepositoryUrl;

/// What people write as `kind: Source`, with the defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceSpec {
    /// Its name; the ID is derived from it and the target.
    pub name: SourceName,
    /// Where the commits come from.
    pub repository: RepositoryUrl,
    /// Which commit.
    pub ref_: RefSpec,
    /// The folder, or one file, inside the commit; empty is the whole tree.
    pub path: RepoPath,
    /// The name of its Target; `None` where the configuration has only one.
    pub target: Option<String>,
    /// The namespaces it may write.
    pub namespaces: Namespaces,
    /// The namespace of manifests that name none.
    pub default_namespace: Option<String>,
    /// The cluster-scoped kinds it may write.
    pub cluster_kinds: ClusterKinds,
    /// The kinds it may write at all.
    pub kinds: Kinds,
    /// Files under the path that are no manifests (patterns as in a gitignore file), in order.
    pub ignore: Vec<String>,
    /// Which permissions manifests may give.
    pub permit_in_git: BTreeSet<GitPermission>,
    /// Whether objects that left the commit are deleted.
    pub prune: bool,
    /// How many deletes need no permission.
    pub prune_budget: PruneBudget,
    /// What the loop does about drift.
    pub drift: DriftMode,
    /// Declared fields that are left alone.
    pub ignore_drift: Vec<IgnoreDrift>,
    /// Fields, beside the usual ones, whose values are never shown or kept.
    pub sensitive: Vec<Sensitive>,
    /// What becomes of plain scalars whose reading surprises.
    pub ambiguous_scalars: Effect,
    /// The policies, in the order written.
    pub policies: Vec<Policy>,
    /// How often the loop looks.
    pub interval: Duration,
    /// What the loop does with a new commit.
    pub apply: ApplyMode,
    /// How long changed objects may take to become healthy.
    pub health_timeout: Duration,
    /// Whether the loop applies a commit that doesn't descend from the applied one.
    pub allow_rewind: bool,
    /// The account that reads and writes on Kubernetes.
    pub service_account: Option<ServiceAccount>,
}

/// A permission that a manifest may give, if the Source's `permitInGit` lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GitPermission {
    /// Take over an object of nobody's.
    Adopt,
    /// Take over an object that another Source releases.
    AdoptFrom,
    /// Delete and create again where a field is immutable.
    Replace,
    /// Delete an object of a protected kind.
    Prune,
}

impl GitPermission {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Adopt, Self::AdoptFrom, Self::Replace, Self::Prune];

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adopt => "adopt",
            Self::AdoptFrom => "adopt-from",
            Self::Replace => "replace",
            Self::Prune => "prune",
        }
    }
}

/// How many deletes a plan may have without a permission: refused is what exceeds both numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneBudget {
    /// In objects.
    pub objects: u64,
    /// In per cent of what the Source owns, 0 to 100.
    pub percent: u8,
}

impl Default for PruneBudget {
    fn default() -> Self {
        Self { objects: 10, percent: 20 }
    }
}

/// What the loop does about drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DriftMode {
    /// Plans and applies the way back.
    #[default]
    AutoRevert,
    /// Reports it.
    Warn,
}

/// What the loop does with a new commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApplyMode {
    /// Plans and applies it.
    #[default]
    Auto,
    /// Plans and reports it; a person applies.
    Reviewed,
    /// Reports it.
    Never,
}

/// Whether something refuses or is only printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Refuses.
    Deny,
    /// Is printed.
    Warn,
}

impl Effect {
    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
        }
    }
}

/// Declared fields that are left as they are on the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreDrift {
    /// Of objects of this kind.
    pub kind: GroupKind,
    /// Of the object with this name alone (`*` stands for any characters).
    pub name: Option<String>,
    /// In this namespace alone.
    pub namespace: Option<String>,
    /// These fields, and what is below them.
    pub pointers: Vec<Pointer>,
    /// Only while this manager holds the field.
    pub manager: Option<Manager>,
}

/// Fields whose values are never shown or kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sensitive {
    /// Of objects of this kind.
    pub kind: GroupKind,
    /// These fields, and what is below them.
    pub pointers: Vec<Pointer>,
}

/// A rule of the user's own choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// A built-in rule by its name.
    Named {
        /// One of [`NAMED_POLICIES`].
        rule: &'static str,
        /// Whether it refuses.
        effect: Effect,
    },
    /// An expression over `object`, `oldObject` and `source` that must hold.
    Cel {
        /// What it is called in reports and waivers.
        name: String,
        /// The kinds that it judges; empty is every kind.
        kinds: BTreeSet<GroupKind>,
        /// The expression.
        cel: String,
        /// What a report says.
        message: Option<String>,
        /// Whether it refuses.
        effect: Effect,
    },
}

/// The built-in rules that a policy may name.
pub const NAMED_POLICIES: [&str; 6] =
    ["image-digest", "no-latest-tag", "probes", "resources", "run-as-non-root", "no-host-access"];

/// An account of a Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl SourceSpec {
    /// A Source with the defaults, for commands that need no file.
    pub fn new(name: SourceName, repository: RepositoryUrl, namespaces: Namespaces) -> Self {
        Self {
            default_namespace: namespaces.only().map(str::to_owned),
            name,
            repository,
            ref_: RefSpec::Head,
            path: RepoPath::default(),
            target: None,
            namespaces,
            cluster_kinds: ClusterKinds::Some(Vec::new()),
            kinds: Kinds::default(),
            ignore: Vec::new(),
            permit_in_git: BTreeSet::new(),
            prune: false,
            prune_budget: PruneBudget::default(),
            drift: DriftMode::default(),
            ignore_drift: Vec::new(),
            sensitive: Vec::new(),
            ambiguous_scalars: Effect::Warn,
            policies: Vec::new(),
            interval: Duration::from_secs(60),
            apply: ApplyMode::default(),
            health_timeout: Duration::from_secs(300),
            allow_rewind: false,
            service_account: None,
        }
    }

    /// Whether it may write into a namespace.
    pub fn may_write_namespace(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }

    /// Whether it may write a cluster-scoped object.
    pub fn may_write_cluster(&self, kind: &GroupKind, name: &str) -> bool {
        self.cluster_kinds.contains(kind, name)
    }

    /// Whether it may write objects of a kind, whatever their scope.
    pub fn allows_kind(&self, kind: &GroupKind) -> bool {
        self.kinds.allows(kind)
    }

    /// Whether a manifest may give a permission.
    pub fn permits_in_git(&self, permission: GitPermission) -> bool {
        self.permit_in_git.contains(&permission)
    }

    /// The digest of all that decides a plan: a plan's binding holds it.
    ///
    /// What the loop alone reads (`interval`, `apply`, `drift`, `allowRewind`), how long an apply waits, and how the
    /// commit is found (`repository`, `ref`; the plan binds the commit itself and the Source's repository) are left out.
    pub fn digest(&self) -> Digest {
        super::digest::of_spec(self)
    }

    /// The digest of where the commits come from, repository and path: a plan's binding holds it, and no URL.
    pub fn origin(&self) -> Digest {
        super::digest::of_origin(self)
    }
}
