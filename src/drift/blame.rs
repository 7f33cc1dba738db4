//! Who wrote a field, and when.

use std::cell::OnceCell;

use serde_json::Value;

use super::episode::{Episode, episodes};
use crate::base::clock::Moment;
use crate::base::ids::Manager;
use crate::base::pointer::Pointer;
use crate::merge::{Entry, ManagedFields};
use crate::plan::FIELD_MANAGER;
use crate::target::LogLine;

/// Somebody outside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// The name.
    pub name: String,
    /// Whether the target's operation log proves it; else it is what somebody claims to be.
    pub proven: bool,
}

impl Who {
    /// For people: a name that is only claimed says so.
    pub fn text(&self) -> String {
        if self.proven { self.name.clone() } else { format!("claims to be {}", self.name) }
    }

    /// Who a line of the operation log names.
    pub(super) fn of(line: &LogLine) -> Self {
        Self { name: line.actor.clone(), proven: !line.claimed }
    }
}

/// What is known of how a field came to differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blame {
    /// Who wrote it last; `None` if nobody is known to have.
    pub who: Option<Who>,
    /// When.
    pub at: Option<Moment>,
    /// When somebody first did, since an apply wrote it.
    pub since: Option<Moment>,
    /// How often it came to differ, as far as the log goes.
    pub times: usize,
}

/// Finds who wrote a field: by the operation log, else by who holds it in the live object's `managedFields`.
pub fn blame(log: &[LogLine], live: Option<&Value>, path: &Pointer) -> Blame {
    blame_in(&episodes(log, path), &Holders::of(live), path)
}

/// The same of a field whose episodes are known.
pub(super) fn blame_in(all: &[Episode], holders: &Holders<'_>, path: &Pointer) -> Blame {
    let times = all.len();
    if let Some(open) = all.last().filter(|episode| episode.repaired.is_none()) {
        return Blame { who: Some(open.by.clone()), at: Some(open.at), since: Some(open.since), times };
    }
    match holders.holder(path) {
        Some(holder) => {
            let who = Who { name: holder.manager.to_string(), proven: false };
            Blame { who: Some(who), at: holder.time, since: holder.time, times }
        }
        None => Blame { times, ..Blame::default() },
    }
}

/// Who but an apply of ours holds fields of a live object, read when it is first asked. What can't be read names nobody.
pub(super) struct Holders<'a> {
    live: Option<&'a Value>,
    all: OnceCell<Vec<Holder>>,
}

struct Holder {
    manager: Manager,
    time: Option<Moment>,
    held: Vec<Pointer>,
}

impl<'a> Holders<'a> {
    /// Of an object.
    pub(super) fn of(live: Option<&'a Value>) -> Self {
        Self { live, all: OnceCell::new() }
    }

    /// The latest who holds a field.
    fn holder(&self, path: &Pointer) -> Option<&Holder> {
        let all = self.all.get_or_init(|| self.live.and_then(read).unwrap_or_default());
        let holding = all.iter().filter(|holder| holder.held.iter().any(|held| held.overlaps(path)));
        holding.max_by_key(|holder| holder.time)
    }
}

fn read(live: &Value) -> Option<Vec<Holder>> {
    let ours = Manager::new(FIELD_MANAGER);
    let fields = ManagedFields::of(live).ok()?;
    let others = fields.entries.into_iter().filter(|entry| !entry.is_apply_of(&ours));
    let holder = |entry: Entry| {
        let held = entry.fields.leaves().pointers(live);
        Holder { manager: entry.manager, time: entry.time, held }
    };
    Some(others.map(holder).collect())
}
