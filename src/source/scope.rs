//! What a Source may write: namespaces, cluster-scoped kinds, kinds at all.

use std::collections::BTreeSet;

use crate::base::resource::GroupKind;

/// The namespaces that a Source may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Namespaces {
    /// Every one (`["*"]`), but the one that holds Holdfast's own state.
    Any,
    /// These alone; none, if the Source writes cluster-scoped objects only.
    Some(BTreeSet<String>),
}

impl Namespaces {
    /// Whether a namespace is among them.
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Some(names) => names.contains(namespace),
        }
    }

    /// The one namespace, where there is exactly one.
    pub fn only(&self) -> Option<&str> {
        match self {
            Self::Some(names) if names.len() == 1 => names.first().map(String::as_str),
            _ => None,
        }
    }
}

/// The cluster-scoped kinds that a Source may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterKinds {
    /// Every one (`["*"]`).
    Any,
    /// These alone.
    Some(Vec<ClusterKind>),
}

/// One cluster-scoped kind, whole or by names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterKind {
    /// The kind.
    pub kind: GroupKind,
    /// Patterns of names (`shop-*`); `None` is every name.
    pub names: Option<Vec<String>>,
}

impl ClusterKinds {
    /// Whether an object of this kind and name is among them.
    pub fn contains(&self, kind: &GroupKind, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Some(kinds) => kinds.iter().any(|allowed| {
                allowed.kind == *kind
                    && allowed
                        .names
                        .as_ref()
                        .is_none_or(|names| names.iter().any(|pattern| matches_name(pattern, name)))
            }),
        }
    }
}

/// Which kinds a Source may write, beside the scope.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kinds {
    /// These alone; empty is every kind.
    pub allow: BTreeSet<GroupKind>,
    /// None of these, even if allowed.
    pub deny: BTreeSet<GroupKind>,
}

impl Kinds {
    /// Whether a kind may be written.
    pub fn allows(&self, kind: &GroupKind) -> bool {
        !self.deny.contains(kind) && (self.allow.is_empty() || self.allow.contains(kind))
    }
}

/// Whether a name matches a pattern, in which `*` stands for any characters.
pub fn matches_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    false
}
