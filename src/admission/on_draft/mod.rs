//! Rules that judge the Draft: what needs live objects, one file each. Pure functions over what the planner hands in.

pub mod immutable;
pub mod namespace;
pub mod old_object;
pub mod quota;
pub mod replace;

use std::collections::BTreeMap;

use serde_json::Value;

use super::checked::Checked;
use crate::base::fault::{At, Fault, RuleId, Warning};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::plan::document::Action;
use crate::schema::Catalog;
use crate::target::Live;

/// A field that can't change once the object is made.
pub const RULE_IMMUTABLE: RuleId = RuleId::new("immutable-field");
/// A Namespace that neither exists nor is planned.
pub const RULE_MISSING_NAMESPACE: RuleId = RuleId::new("missing-namespace");
/// A Namespace that is going away.
pub const RULE_TERMINATING: RuleId = RuleId::new("terminating");
/// More than a ResourceQuota allows.
pub const RULE_QUOTA: RuleId = RuleId::new("quota");
/// A replace that takes along what the object holds.
pub const RULE_PROTECTED: RuleId = RuleId::new("protected-delete");
/// What a replace loses.
pub const RULE_REPLACE: RuleId = RuleId::new("replace");

/// One Change of the Draft, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Considered<'a> {
    /// The resource.
    pub id: &'a ResourceId,
    /// What is done.
    pub action: Action,
    /// What is declared; `None` of a removal.
    pub checked: Option<&'a Checked>,
    /// The live object, if there is one.
    pub live: Option<&'a Value>,
    /// The object as it would be; `None` of a removal.
    pub after: Option<&'a Value>,
}

impl Considered<'_> {
    /// Whether the object is there after the plan and was written by it.
    fn is_written(&self) -> bool {
        matches!(
            self.action,
            Action::Create | Action::Update | Action::Own | Action::Replace | Action::Adopt | Action::Transfer
        )
    }
}

/// Whether a Namespace can take new objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceState {
    /// It can.
    Active,
    /// It is being deleted.
    Terminating,
}

/// What the rules need to know of the target.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The Namespaces that exist.
    pub namespaces: &'a BTreeMap<String, NamespaceState>,
    /// All live objects in each namespace that has a ResourceQuota, live or in the plan; the quotas too.
    pub contents: &'a [Live],
    /// All kinds that are known.
    pub catalog: &'a Catalog,
}

/// Puts a fault at a field of a manifest, or at its nearest declared parent.
pub(super) fn placed(fault: Fault, checked: &Checked, path: &Pointer) -> Fault {
    let (path, at) = declared_place(checked, path);
    let fault = fault.at(at).id(checked.id().clone());
    if path.is_root() { fault } else { fault.path(path) }
}

/// Puts a warning at a field of a manifest, or at its nearest declared parent.
pub(super) fn placed_warning(warning: Warning, checked: &Checked, path: &Pointer) -> Warning {
    let (path, at) = declared_place(checked, path);
    let warning = warning.at(at).id(checked.id().clone());
    if path.is_root() { warning } else { warning.path(path) }
}

fn declared_place(checked: &Checked, path: &Pointer) -> (Pointer, At) {
    let mut path = path.clone();
    while !path.is_root() && checked.declared().pointer(path.as_str()).is_none() {
        path.pop();
    }
    let path = checked.as_written(&path);
    let at = if path.is_root() { checked.at() } else { checked.locate(&path) };
    (path, at)
}
