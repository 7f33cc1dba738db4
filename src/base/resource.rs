//! What a resource is called: group, kind, namespace and name, without the version.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The group and kind of a resource; the core group is the empty text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind, as the API spells it.
    pub kind: String,
}

impl GroupKind {
    /// Joins a group and a kind.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }

    /// Reads `Kind` or `Kind.group`.
    pub fn parse(text: &str) -> Self {
        match text.split_once('.') {
            Some((kind, group)) => Self::new(group, kind),
            None => Self::new("", text),
        }
    }
}

impl fmt::Display for GroupKind {
    /// Writes `Kind.group`, of the core group `Kind` alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

/// The group, version and kind of an object as a manifest declares it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl GroupVersionKind {
    /// Splits an `apiVersion` and joins it with a kind.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// What an object says of itself; what it doesn't say is empty.
    pub fn of(object: &Value) -> Self {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        Self::new(text("apiVersion"), text("kind"))
    }

    /// The same without the version.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.kind.clone())
    }

    /// `group/version`, of the core group the version alone.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// Names one resource of a control plane.
///
/// It has no version: `autoscaling/v1` and `autoscaling/v2` of one HorizontalPodAutoscaler are the same resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceId {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace; `None` if the kind is cluster-scoped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// A text that names no resource.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no resource: write Kind/namespace/name, Kind.group/namespace/name, or Kind/name if cluster-scoped")]
pub struct BadResourceId(String);

impl ResourceId {
    /// The group and kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.kind.clone())
    }

    /// Whether it is of this group and kind.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Whether it is a Namespace.
    pub fn is_namespace(&self) -> bool {
        self.is("", "Namespace")
    }

    /// Whether it is a CustomResourceDefinition.
    pub fn is_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Reads `Kind/namespace/name`, `Kind.group/namespace/name` or `Kind/name`, as people write it on a command line.
    ///
    /// # Errors
    /// If it has not two or three parts, none of them empty.
    pub fn parse(text: &str) -> Result<Self, BadResourceId> {
        let mut parts = text.split('/');
        let (kind, namespace, name) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(kind), Some(namespace), Some(name), None) => (kind, Some(namespace), name),
            (Some(kind), Some(name), None, None) => (kind, None, name),
            _ => return Err(BadResourceId(text.to_owned())),
        };
        if kind.is_empty() || name.is_empty() || namespace == Some("") {
            return Err(BadResourceId(text.to_owned()));
        }
        let GroupKind { group, kind } = GroupKind::parse(kind);
        Ok(Self { group, kind, namespace: namespace.map(str::to_owned), name: name.to_owned() })
    }
}

impl fmt::Display for ResourceId {
    /// Writes what [`ResourceId::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, "/{namespace}")?;
        }
        write!(f, "/{}", self.name)
    }
}
