//! The keys of an object that no field set has: what it is called, and what only the server writes.

use crate::base::server_owned::METADATA;

/// How deep in the object a map stands, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// The object itself.
    Root,
    /// Its `metadata`.
    Metadata,
    /// Anything below.
    Deep,
}

impl Level {
    /// The level of the value of a key.
    pub(super) fn below(self, key: &str) -> Self {
        if self == Self::Root && key == "metadata" { Self::Metadata } else { Self::Deep }
    }

    /// Whether nobody holds this key here (the API server's own list).
    pub(super) fn is_nobodys(self, key: &str) -> bool {
        match self {
            Self::Root => matches!(key, "apiVersion" | "kind"),
            Self::Metadata => matches!(key, "name" | "namespace") || is_server_owned(key),
            Self::Deep => false,
        }
    }
}

/// Whether the server alone writes this key of `metadata`.
pub(super) fn is_server_owned(key: &str) -> bool {
    // Servers of old wrote the cluster's name, too.
    METADATA.contains(&key) || key == "clusterName"
}
