//! What the target makes of what is declared: shown, and no drift while it stands.

use std::sync::Arc;

use serde_json::Value;

use super::FIELD_MANAGER;
use super::document::Field;
use super::draft::Draft;
use super::wanted::masked;
use crate::admission::Checked;
use crate::base::fault::{RuleId, Warning};
use crate::base::ids::Manager;
use crate::base::pointer::Pointer;
use crate::base::sensitive;
use crate::merge;

/// What a webhook of the target made of a declared value stands.
pub(super) const REWRITTEN: RuleId = RuleId::new("rewritten-by-target");
/// Fields that are shown of one object.
const MOST: usize = 100;
/// Objects that one line names.
const NAMED: usize = 3;

/// The fields that the target rewrites, with what is declared and what it answers; sensitive values are masked.
fn fields(checked: &Checked, declared: &Value, answer: &Value) -> Vec<Field> {
    // What can't be merged is refused elsewhere.
    let found = merge::answered(checked.schema(), declared, answer, &Manager::new(FIELD_MANAGER)).unwrap_or_default();
    let rewritten = found.into_iter().filter(merge::FieldChange::is_rewritten);
    let hidden = |object: &Value| sensitive::pointers(object, checked.sensitive());
    let hidden: Vec<Pointer> = [hidden(declared), hidden(answer)].concat();
    let field = |change: merge::FieldChange| Field {
        before: change.after.map(|value| Arc::new(masked(&value, &change.path, &hidden))),
        after: change.before.map(|value| Arc::new(masked(&value, &change.before_path, &hidden))),
        path: change.before_path,
    };
    rewritten.take(MOST).map(field).collect()
}

impl Draft<'_> {
    /// Notes what the target would make of what a Change declares.
    pub(crate) fn rewritten(&mut self, place: usize, declared: &Value, answer: &Value) {
        if let Some(change) = self.changes.get_mut(place)
            && let Some(checked) = change.checked
        {
            change.entry.rewritten = fields(checked, declared, answer);
        }
    }

    /// That objects which stay as they are differ from what is declared, for the target rewrote them at the last apply.
    pub(super) fn rewritten_before(&self) -> Option<Warning> {
        let mut named = Vec::new();
        let mut count = 0;
        for unchanged in &self.unchanged {
            let Some(row) = self.inputs[unchanged.source].inventory.rows.get(&unchanged.entry.id) else { continue };
            let mut fields = row.rewritten().peekable();
            if fields.peek().is_none() {
                continue;
            }
            count += 1;
            if named.len() < NAMED {
                let fields: Vec<&str> = fields.take(NAMED).map(Pointer::as_str).collect();
                named.push(format!("{} ({})", row.id, fields.join(", ")));
            }
        }
        let more = if count > NAMED { format!(" and {} objects more", count - NAMED) } else { String::new() };
        let text = format!("rewritten by the target, and so no drift while it stands: {}{more}", named.join(", "));
        (count > 0).then(|| Warning::new(REWRITTEN, text))
    }
}
