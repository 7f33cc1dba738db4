//! Fields over which an apply and somebody else contend.

use super::episode::{Episode, episodes};
use crate::base::clock::Moment;
use crate::base::pointer::Pointer;
use crate::target::LogLine;

/// So many repairs within [`WINDOW`] make a field contested.
pub const REPAIRS: usize = 3;
/// Ten minutes, in milliseconds.
pub const WINDOW: i64 = 600_000;

/// A field that was repaired again and again: the loop leaves it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contest {
    /// Who wrote it between the repairs, each once, in order of name.
    pub by: Vec<String>,
    /// When the first of the last repairs was.
    pub since: Moment,
    /// How often it was repaired since.
    pub repairs: usize,
}

/// Whether a field is contested: its last three repairs lie within ten minutes.
///
/// It stays so however long ago that was, so that the loop doesn't begin anew every ten minutes; a repair that comes
/// later, by a person or with a new commit, ends it. The root pointer stands for the object as a whole.
pub fn contest(log: &[LogLine], path: &Pointer) -> Option<Contest> {
    contest_in(&episodes(log, path))
}

/// The same of a field whose episodes are known.
pub(super) fn contest_in(all: &[Episode]) -> Option<Contest> {
    let repaired: Vec<_> = all.iter().filter_map(|episode| Some((episode, episode.repaired?))).collect();
    let last = repaired.get(repaired.len().checked_sub(REPAIRS)?..)?;
    let (since, until) = (last.first()?.1, last.last()?.1);
    if until.as_millis() - since.as_millis() > WINDOW {
        return None;
    }
    let mut by: Vec<String> = last.iter().map(|(episode, _)| episode.by.name.clone()).collect();
    by.sort();
    by.dedup();
    Some(Contest { by, since, repairs: last.len() })
}
