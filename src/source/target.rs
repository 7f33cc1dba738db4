//! A Target as people write it: which control plane a configuration writes to.

use std::path::PathBuf;

/// The namespace of Holdfast's own state where none is named.
pub const DEFAULT_STATE_NAMESPACE: &str = "holdfast-system";

/// What people write as `kind: Target`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSpec {
    /// Its name in the configuration; what it is, its identity says.
    pub name: String,
    /// What it is.
    pub kind: TargetKind,
}

/// A kind of control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetKind {
    /// The embedded one.
    Embedded {
        /// Its database file.
        path: PathBuf,
    },
    /// A Kubernetes cluster.
    Kubernetes {
        /// The kubeconfig; `None` is where kubectl would look.
        kubeconfig: Option<PathBuf>,
        /// The context; `None` is the kubeconfig's current one.
        context: Option<String>,
        /// The namespace of Holdfast's own state.
        state_namespace: String,
        /// Whether one account may write for all Sources.
        single_tenant: bool,
    },
}
