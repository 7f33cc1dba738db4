//! Where an apply waits for the health of what it wrote: before a later wave, and before anything is deleted.

use std::time::Duration;

use crate::base::resource::ResourceId;
use crate::plan::document::{Action, ChangeEntry};
use crate::target::{Gate, Wait, Write};

/// What of one write decides where an apply waits.
pub(super) struct Written<'w> {
    wave: i32,
    deletes: bool,
    /// What is waited for after its wave, and how long.
    wait: Option<(&'w ResourceId, Duration)>,
}

impl<'w> Written<'w> {
    /// Of the write that a Change comes to; its Source waits so long.
    pub(super) fn of(change: &ChangeEntry, write: &'w Write, patience: Duration) -> Self {
        let is_written = !matches!(write, Write::Delete { .. } | Write::Unmark { .. });
        let changes = matches!(change.action, Action::Create | Action::Replace) || !change.fields.is_empty();
        let wait = (is_written && changes && !patience.is_zero()).then(|| (write.id(), patience));
        Self { wave: change.wave, deletes: matches!(write, Write::Delete { .. }), wait }
    }
}

/// The gates of a batch, in the order of its writes. After the last wave nothing is waited for unless something is deleted.
pub(super) fn gates<'w>(written: impl Iterator<Item = Written<'w>>) -> Vec<Gate> {
    let mut gates = Vec::new();
    let mut waits: Vec<(&ResourceId, Duration)> = Vec::new();
    let mut last: Option<(bool, i32)> = None;
    for (after, write) in written.enumerate() {
        let part = (write.deletes, if write.deletes { 0 } else { write.wave });
        if last.is_some_and(|last| last != part) && !waits.is_empty() {
            let waits = waits.drain(..).map(|(id, patience)| Wait { id: id.clone(), patience }).collect();
            gates.push(Gate { after, waits });
        }
        last = Some(part);
        waits.extend(write.wait);
    }
    gates
}
