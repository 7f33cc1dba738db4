//! Checks that the published schemas lack and the API server makes all the same.

use serde_json::{Map, Value};

use super::node::Node;
use super::path::{Out, Path};

/// A check of one field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    /// 1 to 65535.
    Port,
}

/// A check of a struct as a whole.
#[derive(Clone, Copy)]
pub(super) struct StructRule(pub(super) fn(&Map<String, Value>, &Path<'_>, &mut Out));

impl std::fmt::Debug for StructRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StructRule")
    }
}

/// Adds the checks of a definition.
pub(super) fn refine(_name: &str, _node: &mut Node) {}
