//! What a schema finds wrong in a value.

use crate::base::fault::{Fault, RuleId};
use crate::base::pointer::Pointer;

/// The rules of this room.
pub mod rule {
    use crate::base::fault::RuleId;

    /// A field that the schema doesn't have: an API server would drop it or refuse it.
    pub const UNKNOWN_FIELD: RuleId = RuleId::new("unknown-field");
    /// A value of another type or syntax than the schema's; quantities, times and base64 too.
    pub const TYPE_MISMATCH: RuleId = RuleId::new("type-mismatch");
    /// A field that must be there.
    pub const MISSING_FIELD: RuleId = RuleId::new("missing-field");
    /// A value outside the allowed ones.
    pub const OUT_OF_RANGE: RuleId = RuleId::new("out-of-range");
    /// Two entries of a list with the same key.
    pub const DUPLICATE_LIST_KEY: RuleId = RuleId::new("duplicate-list-key");
    /// A name or key with a syntax that the API server refuses.
    pub const BAD_NAME: RuleId = RuleId::new("bad-name");
    /// A size over the API server's limit.
    pub const SIZE_LIMIT: RuleId = RuleId::new("size-limit");
    /// A kind that nobody defines.
    pub const UNKNOWN_KIND: RuleId = RuleId::new("unknown-kind");
    /// Fields that don't fit each other, such as a selector and the labels of its template.
    pub const CONFLICTING_FIELDS: RuleId = RuleId::new("conflicting-fields");
    /// A CustomResourceDefinition that defines no kind that could be served.
    pub const BAD_CRD: RuleId = RuleId::new("bad-crd");
    /// A rule in CEL that the value doesn't pass.
    pub const CEL_RULE: RuleId = RuleId::new("cel-rule");
    /// A rule in CEL that can't be run here, or not within its limit. Refused, never skipped.
    pub const CEL_UNSUPPORTED: RuleId = RuleId::new("cel-unsupported");
}

/// All rules of this room.
pub const RULES: &[RuleId] = &[
    rule::UNKNOWN_FIELD,
    rule::TYPE_MISMATCH,
    rule::MISSING_FIELD,
    rule::OUT_OF_RANGE,
    rule::DUPLICATE_LIST_KEY,
    rule::BAD_NAME,
    rule::SIZE_LIMIT,
    rule::UNKNOWN_KIND,
    rule::CONFLICTING_FIELDS,
    rule::BAD_CRD,
    rule::CEL_RULE,
    rule::CEL_UNSUPPORTED,
];

/// One thing that is wrong in a value. No text of it holds a value of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// The rule that refuses.
    pub rule: RuleId,
    /// The field; of a missing one its parent.
    pub path: Pointer,
    /// One sentence.
    pub text: String,
    /// What was probably meant, or what to do.
    pub hint: Option<String>,
}

impl SchemaFault {
    /// A fault of a rule at a field.
    pub fn new(rule: RuleId, path: Pointer, text: impl Into<String>) -> Self {
        Self { rule, path, text: text.into(), hint: None }
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<SchemaFault> for Fault {
    /// A fault without file and resource: the caller adds them.
    fn from(fault: SchemaFault) -> Self {
        let whole = Fault::new(fault.rule, fault.text).path(fault.path);
        match fault.hint {
            Some(hint) => whole.hint(hint),
            None => whole,
        }
    }
}
