//! Rules that judge manifests, one file each.

pub(super) mod ambiguous;
pub(super) mod annotations;
pub(super) mod controlled;
pub(super) mod identity;
pub(super) mod policies;
pub(super) mod scope;
pub(super) mod structure;

use crate::base::fault::RuleId;
use crate::base::pointer::Pointer;

/// What a rule finds at a field, before its place is known.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) rule: RuleId,
    /// As written in the file.
    pub(super) path: Pointer,
    pub(super) text: String,
    pub(super) hint: Option<String>,
    /// The text as written, of a warning about it.
    pub(super) raw: Option<String>,
}

impl Finding {
    pub(super) fn new(rule: RuleId, path: Pointer, text: impl Into<String>) -> Self {
        Self { rule, path, text: text.into(), hint: None, raw: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// What the rules find in one document.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) faults: Vec<Finding>,
    pub(super) warnings: Vec<Finding>,
}

impl Findings {
    pub(super) fn fault(&mut self, finding: Finding) {
        self.faults.push(finding);
    }

    pub(super) fn warn(&mut self, finding: Finding) {
        self.warnings.push(finding);
    }
}
