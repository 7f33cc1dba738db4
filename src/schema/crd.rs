//! Kinds that a CustomResourceDefinition defines.

use std::sync::Arc;

use serde_json::Value;

use super::catalog::KindSchema;
use super::fault::SchemaFault;
use crate::base::resource::GroupKind;

/// A CustomResourceDefinition, read.
#[derive(Debug, Clone)]
pub struct Crd {
    group: String,
    kind: String,
    others: Vec<String>,
    storage: String,
    served: Vec<Arc<KindSchema>>,
}

impl Crd {
    /// Reads a CustomResourceDefinition.
    ///
    /// # Errors
    /// Everything that keeps it from being served.
    pub fn read(_value: &Value) -> Result<Self, Vec<SchemaFault>> {
        Err(Vec::new())
    }

    /// The group and kind that it defines.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }

    /// The group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The version that the target stores.
    pub fn storage_version(&self) -> &str {
        &self.storage
    }

    /// A version, if it is served.
    pub fn version(&self, version: &str) -> Option<&Arc<KindSchema>> {
        self.served.iter().find(|kind| kind.gvk.version == version)
    }

    /// The names of the versions that are served.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.served.iter().map(|kind| kind.gvk.version.as_str())
    }

    /// The versions that are served, the stored one first.
    pub fn served(&self) -> Vec<Arc<KindSchema>> {
        self.served.clone()
    }

    pub(super) fn other_names(&self) -> impl Iterator<Item = &str> {
        self.others.iter().map(String::as_str)
    }
}
