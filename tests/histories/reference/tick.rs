//! What the loop does with a Source when it looks at it once.

use std::collections::{BTreeMap, BTreeSet};

use super::super::step::{Given, Job, Res, Side, What, Who};
use super::{Act, Acts, Commit, Mark, Outcome, World};

/// So many repairs of one field within so many seconds, and it is left alone.
const CONTESTED: (usize, i64) = (3, 600);

/// What became of going for a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pursued {
    Done,
    Applied,
    /// It is left to people.
    Waits,
    Refused,
}

/// What of an object is left alone: keys, and that it is gone.
type Left = BTreeMap<(Side, Res), (BTreeSet<char>, bool)>;

impl World {
    /// The loop looks at a Source once. Whether something was refused.
    pub fn tick(&mut self, side: Side) -> bool {
        let source = &self.sources[&side];
        let pinned = source.pinned(self.now).cloned();
        let is_pinned = pinned.is_some();
        let goal = pinned.unwrap_or_else(|| source.newest().clone());
        let back = source.applied.clone().filter(|applied| applied.number != goal.number);
        let first = self.pursue(side, &goal, is_pinned, false);
        let mut refused = first == Pursued::Refused;
        // While the newest is waited for or refused, drift is brought back to what is applied.
        if let (Pursued::Waits | Pursued::Refused, Some(applied)) = (first, back) {
            refused |= self.pursue(side, &applied, is_pinned, true) == Pursued::Refused;
        }
        refused
    }

    /// Whether the loop may plan a Source together with another.
    fn is_free(&self, side: Side) -> bool {
        let source = &self.sources[&side];
        !source.paused(self.now) && source.pinned(self.now).is_none()
    }

    /// Which Sources are planned: those that objects move to or from, together.
    fn company(&self, side: Side, commit: &Commit) -> (Who, BTreeMap<Side, Commit>) {
        let (source, other) = (&self.sources[&side], side.other());
        let alone = BTreeMap::from([(side, commit.clone())]);
        let lost: Vec<&Res> = source.rows.keys().filter(|res| !commit.tree.contains_key(res)).collect();
        let new = commit.tree.keys().filter(|res| !source.rows.contains_key(res));
        let marks = new.filter_map(|res| match self.live.get(res)?.mark {
            Mark::Of(token, _) => Some(token),
            _ => None,
        });
        let foreign: BTreeSet<_> = marks.filter(|token| *token != self.token(side)).collect();
        if lost.is_empty() && foreign.is_empty() {
            return (Who::Alone(side), alone);
        }
        let theirs = self.sources[&other].newest();
        let is_partner = foreign.contains(&self.token(other)) || lost.iter().any(|res| theirs.tree.contains_key(res));
        if is_partner && self.is_free(side) && self.is_free(other) {
            return (Who::Both, BTreeMap::from([(side, commit.clone()), (other, theirs.clone())]));
        }
        (Who::One(side), alone)
    }

    fn pursue(&mut self, side: Side, commit: &Commit, is_pinned: bool, back: bool) -> Pursued {
        let (who, commits) = self.company(side, commit);
        let job = Job { what: What::Apply, who };
        let Outcome::Planned(mut acts) = self.plan_of(job, Given::default(), &commits) else {
            return Pursued::Refused;
        };
        let is_new = commits.iter().any(|(side, commit)| {
            let source = &self.sources[side];
            source.applied.as_ref().is_none_or(|applied| applied.number != commit.number)
                || source.configured != Some(source.configuration())
        });
        let pending = |acts: &Acts| acts.values().any(|act| act.is_pending());
        if !is_new && !pending(&acts) {
            return Pursued::Done;
        }
        if self.sources[&side].paused(self.now) {
            return Pursued::Waits;
        }
        let owned = |res: &Res| job.who.sides().iter().any(|side| self.sources[side].rows.contains_key(res));
        let is_drift = |(key, act): (&(Side, Res), &Act)| {
            !act.is_pending() || (matches!(act, Act::Create | Act::Update) && owned(&key.1))
        };
        let mut left = Left::new();
        if !is_new && acts.iter().all(is_drift) {
            left = self.contested(&commits, &acts);
        } else {
            let rewind = |(side, commit): (&Side, &Commit)| {
                let applied = self.sources[side].applied.as_ref();
                applied.is_some_and(|applied| !self.descends(commit.number, applied.number))
            };
            if is_new && !is_pinned && commits.iter().any(rewind) {
                return Pursued::Waits;
            }
            if !back && !self.sources[&side].on_branch(commit) {
                return Pursued::Waits;
            }
        }
        let mut after = self.clone();
        after.leave(&left);
        if !left.is_empty() {
            match after.plan_of(job, Given::default(), &commits) {
                Outcome::Planned(fewer) if pending(&fewer) => acts = fewer,
                Outcome::Planned(_) => return Pursued::Done,
                Outcome::Refused(_) => return Pursued::Refused,
            }
        }
        // The loop applies what is on no branch, too: that was judged above.
        if self.is_held(Job { what: What::Rebuild, who }, false, &commits, &acts) {
            return Pursued::Refused;
        }
        after.apply(job, &commits, &acts);
        after.forget(&left, self);
        *self = after;
        Pursued::Applied
    }

    /// What of a repair was repaired again and again.
    fn contested(&self, commits: &BTreeMap<Side, Commit>, acts: &Acts) -> Left {
        let mut left = Left::new();
        for ((side, res), act) in acts {
            let data = commits.get(side).and_then(|commit| commit.tree.get(res)).map(|manifest| &manifest.data);
            let found = match (act, data) {
                (Act::Create, _) => (BTreeSet::new(), self.is_contested(*res, None)),
                (Act::Update, Some(data)) => {
                    let keys = self.changed(*side, *res, data).into_iter();
                    (keys.filter(|key| self.is_contested(*res, Some(*key))).collect(), false)
                }
                _ => continue,
            };
            if found.1 || !found.0.is_empty() {
                left.insert((*side, *res), found);
            }
        }
        left
    }

    /// Whether the last three repairs of a value, or of the object as a whole, lie within ten minutes.
    fn is_contested(&self, res: Res, key: Option<char>) -> bool {
        let mut repairs = Vec::new();
        let mut open = false;
        for line in self.log.get(&res).into_iter().flatten() {
            let wrote = match key {
                None => line.whole,
                // Who makes an object wrote all of it.
                Some(key) if line.whole => line.applied || (!line.gone && key != super::MARK),
                Some(key) => line.keys.contains(&key),
            };
            match (wrote, line.applied) {
                (true, true) if open => {
                    repairs.push(line.at);
                    open = false;
                }
                (true, false) => open = true,
                _ => {}
            }
        }
        let (count, seconds) = CONTESTED;
        let Some(last) = repairs.len().checked_sub(count).map(|from| &repairs[from..]) else { return false };
        match (last.first(), last.last()) {
            (Some(Some(since)), Some(Some(until))) => until - since <= seconds,
            // By the real clock, which hardly moves meanwhile.
            (Some(None), Some(None)) => true,
            _ => false,
        }
    }

    fn leave(&mut self, left: &Left) {
        for ((side, res), (keys, gone)) in left {
            if let Some(row) = self.source(*side).rows.get_mut(res) {
                row.emergency.extend(keys);
                row.deleted |= gone;
            }
        }
    }

    /// What was contested is no emergency.
    fn forget(&mut self, left: &Left, before: &Self) {
        for (side, res) in left.keys() {
            let was = before.sources[side].rows.get(res);
            if let (Some(row), Some(was)) = (self.source(*side).rows.get_mut(res), was) {
                row.emergency.retain(|key| was.emergency.contains(key));
                row.deleted &= was.deleted;
            }
        }
    }
}
