//! Where an apply waits for the health of what it wrote: before a later wave, and before anything is deleted.

use std::time::Duration;

use crate::base::resource::ResourceId;
use crate::plan::document::{Action, ChangeEntry};
use crate::target::{Gate, Wait, Write};

/// What of one write decides where an apply waits.
pub(super) struct Written {
    wave: i32,
    deletes: bool,
    /// What is waited for after its wave.
    wait: Option<Wait>,
}

impl Written {
    /// Of the write that a Change comes to; its Source waits so long.
    pub(super) fn of(change: &ChangeEntry, write: &Write, patience: Duration) -> Self {
        let is_written = !matches!(write, Write::Delete { .. } | Write::Unmark { .. });
        let changes = matches!(change.action, Action::Create | Action::Replace) || !change.fields.is_empty();
        let id: &ResourceId = write.id();
        let wait = (is_written && changes && !patience.is_zero()).then(|| Wait { id: id.clone(), patience });
        Self { wave: change.wave, deletes: matches!(write, Write::Delete { .. }), wait }
    }
}

/// The gates of a batch, in the order of its writes. After the last wave nothing is waited for unless something is deleted.
pub(super) fn gates(written: impl Iterator<Item = Written>) -> Vec<Gate> {
    let mut gates = Vec::new();
    let mut waits: Vec<Wait> = Vec::new();
    let mut last: Option<(bool, i32)> = None;
    for (after, write) in written.enumerate() {
        let part = (write.deletes, if write.deletes { 0 } else { write.wave });
        if last.is_some_and(|last| last != part) && !waits.is_empty() {
            gates.push(Gate { after, waits: std::mem::take(&mut waits) });
        }
        last = Some(part);
        waits.extend(write.wait);
    }
    gates
}
