//! Rules that judge manifests, one file each.

pub(in crate::admission) mod ambiguous;
pub(in crate::admission) mod annotations;
pub(in crate::admission) mod controlled;
pub(in crate::admission) mod identity;
pub(in crate::admission) mod policies;
pub(in crate::admission) mod scope;
pub(in crate::admission) mod structure;

use crate::base::fault::RuleId;
use crate::base::pointer::Pointer;
use crate::schema::SchemaFault;

/// What a rule finds at a field, before its place is known.
#[derive(Debug)]
pub(in crate::admission) struct Finding {
    pub(in crate::admission) rule: RuleId,
    /// As written in the file.
    pub(in crate::admission) path: Pointer,
    pub(in crate::admission) text: String,
    pub(in crate::admission) hint: Option<String>,
    /// The text as written, of a warning about it.
    pub(in crate::admission) raw: Option<String>,
}

impl Finding {
    pub(in crate::admission) fn new(rule: RuleId, path: Pointer, text: impl Into<String>) -> Self {
        Self { rule, path, text: text.into(), hint: None, raw: None }
    }

    pub(in crate::admission) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<SchemaFault> for Finding {
    fn from(fault: SchemaFault) -> Self {
        Self { rule: fault.rule, path: fault.path, text: fault.text, hint: fault.hint, raw: None }
    }
}

/// What the rules find in one document.
#[derive(Debug, Default)]
pub(in crate::admission) struct Findings {
    pub(in crate::admission) faults: Vec<Finding>,
    pub(in crate::admission) warnings: Vec<Finding>,
}

impl Findings {
    pub(in crate::admission) fn fault(&mut self, finding: Finding) {
        self.faults.push(finding);
    }

    pub(in crate::admission) fn join(&mut self, other: Self) {
        self.faults.extend(other.faults);
        self.warnings.extend(other.warnings);
    }

    pub(in crate::admission) fn warn(&mut self, finding: Finding) {
        self.warnings.push(finding);
    }
}
