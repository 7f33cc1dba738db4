//! A Source takes back what bears its mark, after a restore gave new UIDs or lost inventory rows.
//!
//! Only inventory rows are written: what is live stays as it is, and the next plan shows how it differs from git.

use std::collections::BTreeSet;

use super::change::{Change, Intent, RowChange};
use super::document::{Action, ChangeEntry};
use super::ownership::{Mark, Marked, OWNER_MISMATCH, Uid};
use super::removal;
use super::wanted::{Alone, Beside, UNREADABLE_OBJECT};
use crate::admission::Checked;
use crate::base::fault::{Fault, RuleId, Warning};
use crate::base::resource::ResourceId;
use crate::inventory::{Row, seen_digest};
use crate::target::{Head, Live};

/// An object that bears the Source's mark is its own again.
pub(super) const REBUILT: RuleId = RuleId::new("rebuilt");

/// What taking back came to.
#[derive(Default)]
pub(super) struct TakenBack<'a> {
    pub(super) changes: Vec<Change<'a>>,
    pub(super) warnings: Vec<Warning>,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Beside<'a, '_> {
    /// Everything that bears the mark of `inputs[source]` and is declared or stands in its inventory.
    pub(super) fn take_back(&self, source: usize) -> TakenBack<'a> {
        let input = &self.inputs[source];
        let declared = input.set.manifests().iter().filter(|c| !c.wants().use_).map(Checked::id);
        let ids: BTreeSet<&ResourceId> = declared.chain(input.inventory.rows.keys()).collect();
        let mut taken = TakenBack::default();
        for id in &ids {
            let Some(head) = self.observed.heads.get(*id) else { continue };
            let row = input.inventory.row(id);
            let marked = Marked::of(head, &input.id, &self.observed.known);
            match (marked.mark(), Uid::of(row, head)) {
                (Mark::Ours, Uid::Equal) => {}
                (Mark::Ours, uid) => match self.taken_back(source, head, row, &marked.why(uid)) {
                    Ok(change) => taken.changes.push(change),
                    Err(fault) => taken.faults.push(*fault),
                },
                (_, uid) if row.is_some() => {
                    let text = format!("it is not taken back: {}", marked.why(uid));
                    taken.warnings.push(Warning::new(OWNER_MISMATCH, text).id((*id).clone()));
                }
                _ => {}
            }
        }
        let text = "it bears this Source's mark, but neither commit nor inventory has it: it stays as it is";
        taken.warnings.extend(self.strays(source, |id| ids.contains(id), text));
        taken
    }

    /// What bears the mark of a Source that is removed and stands in no inventory: it isn't touched, but said.
    pub(super) fn left_marked(&self, source: usize) -> Vec<Warning> {
        let rows = &self.inputs[source].inventory.rows;
        let text = "it bears the removed Source's mark and stands in no inventory: it stays, and keeps the mark; \
                    holdfast source rebuild takes it back first";
        self.strays(source, |id| rows.contains_key(id), text)
    }

    fn strays(&self, source: usize, is_known: impl Fn(&ResourceId) -> bool, text: &str) -> Vec<Warning> {
        let (id, known) = (&self.inputs[source].id, &self.observed.known);
        let stray = |head: &&Head| !is_known(&head.id) && Marked::of(head, id, known) == Marked::Ours;
        let strays = self.observed.marked.iter().filter(stray);
        strays.map(|head| Warning::new(OWNER_MISMATCH, text).id(head.id.clone())).collect()
    }

    fn taken_back(&self, source: usize, head: &Head, row: Option<&Row>, why: &str) -> Result<Change<'a>, Box<Fault>> {
        let input = &self.inputs[source];
        let checked = input.set.get(&head.id).filter(|c| !c.wants().use_);
        let unread = || {
            let text = "the live object was not read, so it can't be taken back";
            Box::new(Fault::new(UNREADABLE_OBJECT, text).id(head.id.clone()))
        };
        let live: &'a Live = self.observed.objects.get(&head.id).ok_or_else(unread)?;
        let next = match (checked, row) {
            (Some(checked), _) => self.row(source, checked, row, Alone::default()),
            (None, Some(row)) => row.clone(),
            (None, None) => return Err(unread()),
        };
        let seen = match checked {
            Some(checked) => seen_digest(Some(checked.schema()), &live.object, checked.fields(), checked.sensitive()),
            None => {
                // Its version is another now, so what is seen is taken from the live object.
                let moved = Row { version: String::new(), ..next.clone() };
                removal::seen(&moved, Some(live), input.set.catalog()).ok_or_else(unread)?
            }
        };
        let entry = ChangeEntry {
            file: Some(next.file.clone()),
            line: Some(next.line).filter(|line| *line > 0),
            wave: next.wave,
            rule: Some(REBUILT.as_str().to_owned()),
            reason: Some(format!("{why}; taken back as it is")),
            uid: Some(head.uid.clone()),
            seen: Some(seen.clone()),
            declared: Some(next.declared.clone()),
            ..ChangeEntry::new(Action::Adopt, head.id.clone(), input.spec.name.clone())
        };
        // Without a version the next plan compares it, whatever it looks like.
        let row = Row { uid: head.uid.clone(), version: String::new(), seen, ..next };
        Ok(Change {
            entry,
            source,
            from: None,
            intent: Intent::Nothing,
            row: RowChange::Upsert(Box::new(row)),
            checked: None,
            live: Some(live),
            after: None,
        })
    }
}
