//! Who wrote a field, and when.

use serde_json::Value;

use super::episode::{episodes, overlaps};
use crate::base::clock::Moment;
use crate::base::ids::Manager;
use crate::base::pointer::Pointer;
use crate::merge::ManagedFields;
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
    let all = episodes(log, path);
    let times = all.len();
    if let Some(open) = all.last().filter(|episode| episode.repaired.is_none()) {
        return Blame { who: Some(open.by.clone()), at: Some(open.at), since: Some(open.since), times };
    }
    match live.and_then(|live| holder(live, path)) {
        Some((manager, at)) => {
            let who = Who { name: manager.to_string(), proven: false };
            Blame { who: Some(who), at, since: at, times }
        }
        None => Blame { times, ..Blame::default() },
    }
}

/// Who but an apply of ours holds a field, the latest of several. What can't be read names nobody.
fn holder(live: &Value, path: &Pointer) -> Option<(Manager, Option<Moment>)> {
    let ours = Manager::new(FIELD_MANAGER);
    let fields = ManagedFields::of(live).ok()?;
    let others = fields.entries.into_iter().filter(|entry| !entry.is_apply_of(&ours));
    let holding = others.filter(|entry| entry.fields.leaves().pointers(live).iter().any(|held| overlaps(held, path)));
    holding.max_by_key(|entry| entry.time).map(|entry| (entry.manager, entry.time))
}
