//! Whether an inventory's serial rises with a plan.

use super::change::{Boxed, Change, Giver, Intent, RowChange};
use super::input::SourceInput;
use super::removal::EndedRow;
use crate::inventory::Row;

/// Whether rows of `inputs[source]` are made, ended or come to say something else. A repair, which only sees its fields
/// again, doesn't count: it leaves other plans valid.
pub(super) fn rises(
    source: usize,
    inputs: &[SourceInput<'_>],
    changes: &[Boxed<'_>],
    moved: &[(usize, Row)],
    ended: &[EndedRow],
) -> bool {
    moved.iter().any(|(of, _)| *of == source)
        || ended.iter().any(|row| row.source == source)
        || changes.iter().any(|change| {
            change.from == Some(Giver::Planned(source))
                || (change.source == source && changes_row(change, &inputs[source]))
        })
}

fn changes_row(change: &Change<'_>, input: &SourceInput<'_>) -> bool {
    match &change.row {
        RowChange::Stay => false,
        RowChange::Remove | RowChange::Release { .. } => true,
        RowChange::Upsert(row) => {
            // Both give the object a new UID.
            let anew = matches!(change.intent, Intent::Create { .. } | Intent::Replace { .. });
            anew || input.inventory.row(&row.id).is_none_or(|old| !old.says_the_same(row))
        }
    }
}
