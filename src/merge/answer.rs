//! What a target made of what was declared.

use serde_json::Value;

use super::changes::FieldChange;
use super::error::MergeError;
use super::outcome::{Ask, merge};
use crate::base::ids::Manager;
use crate::schema::KindSchema;

/// The fields where the answer to an apply is another than was declared: `before` is the answer, `after` what was declared.
/// What the target only filled in beside it is left out, but inside lists that are one value.
///
/// # Errors
/// Those of [`merge`].
pub fn answered(
    schema: &KindSchema,
    declared: &Value,
    answer: &Value,
    manager: &Manager,
) -> Result<Vec<FieldChange>, MergeError> {
    let ask = Ask { schema, live: Some(answer), declared, declared_before: None, manager, left_alone: &[] };
    merge(&ask).map(|outcome| outcome.changes)
}

impl FieldChange {
    /// Of an answer: whether something else was declared there, or an entry more; else a key was only filled in.
    pub fn is_rewritten(&self) -> bool {
        let last = self.before_path.segments().last().unwrap_or_default();
        self.after.is_some() || last.bytes().all(|b| b.is_ascii_digit())
    }
}
