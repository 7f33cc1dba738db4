//! What the loop remembers of a Source on the target, and when a refusal is tried again.

use std::time::Duration;

use super::schedule::{after, backoff};
use crate::admission::Rejection;
use crate::base::clock::Moment;
use crate::base::fault::Class;
use crate::base::ids::{CommitId, Digest, PlanId, SourceId};
use crate::inventory::{LoopRecord, LoopRefusal, LoopWaiting};
use crate::target::{LoopWrite, Target, TargetError};

/// So often what the target refused is tried before it is left to people.
const TRIES: u32 = 5;
/// The shortest time between two tries.
const SHORTEST: Duration = Duration::from_secs(5);
/// So often a record is written anew because somebody else was faster.
const WRITES: usize = 10;

/// A Source's record as it was read, and as it becomes.
#[derive(Debug, Clone)]
pub struct Memory {
    was: LoopRecord,
    /// As it becomes.
    pub record: LoopRecord,
}

impl Memory {
    /// From what was read.
    pub fn new(record: LoopRecord) -> Self {
        Self { was: record.clone(), record }
    }

    /// Whether somebody asked to try at once. That is served now.
    pub fn take_retry(&mut self) -> bool {
        self.record.retry_asked.take().is_some()
    }

    /// Notes the newest commit.
    pub fn saw(&mut self, commit: &CommitId, now: Moment) {
        if self.record.commit_seen.as_ref() != Some(commit) {
            self.record.commit_seen = Some(commit.clone());
            self.record.seen_at = Some(now);
        }
    }

    /// All is as it should be.
    pub fn fine(&mut self) {
        self.record.refusal = None;
        self.record.waiting = None;
    }

    /// People have to do something; whether that is news.
    pub fn waits(&mut self, reason: &str, commit: &CommitId, plan: Option<&PlanId>, now: Moment) -> bool {
        self.record.refusal = None;
        let same = |w: &LoopWaiting| w.reason == reason && w.commit == *commit && w.plan.as_ref() == plan;
        if self.record.waiting.as_ref().is_some_and(same) {
            return false;
        }
        self.record.waiting =
            Some(LoopWaiting { reason: reason.to_owned(), commit: commit.clone(), plan: plan.cloned(), since: now });
        true
    }

    /// It was refused; whether that is news.
    pub fn refused(
        &mut self,
        rejection: &Rejection,
        commit: Option<&CommitId>,
        plan: Option<&PlanId>,
        on: Option<&Digest>,
        interval: Duration,
        now: Moment,
    ) -> bool {
        self.record.waiting = None;
        let class = class_of(rejection);
        let first = rejection.faults().next();
        let rule = first.map_or("refused", |fault| fault.rule.as_str()).to_owned();
        let text = rejection.first_text();
        let before = self.record.refusal.take();
        let same = before.as_ref().is_some_and(|r| r.rule == rule && r.text == text && r.commit.as_ref() == commit);
        let (tries, since) = match before {
            Some(before) if same => (before.tries.saturating_add(1), before.since),
            _ => (1, now),
        };
        let again = class == Class::Target && tries < TRIES;
        self.record.refusal = Some(LoopRefusal {
            class: class.as_str().to_owned(),
            rule,
            text,
            faults: rejection.refusals().len(),
            commit: commit.cloned(),
            plan: plan.cloned(),
            on: on.cloned(),
            since,
            tries,
            next_try: again.then(|| after(now, backoff(interval.min(SHORTEST * 4).max(SHORTEST), tries))),
        });
        !same || (class == Class::Target && tries == TRIES)
    }

    /// Whether a refusal stands: of the same commit, on the same rules and the same target, and its next try hasn't come.
    pub fn stands(&self, commit: &CommitId, on: &Digest, now: Moment) -> bool {
        let refusal = self.record.refusal.as_ref().filter(|r| r.commit.as_ref() == Some(commit));
        refusal.is_some_and(|refusal| match refusal.next_try {
            Some(next) => now < next,
            None => refusal.on.as_ref() == Some(on),
        })
    }

    /// Writes what is new. A retry that somebody asked for meanwhile is kept.
    ///
    /// # Errors
    /// If the target can't be read or written.
    pub fn write(self, target: &dyn Target, source: &SourceId) -> Result<(), TargetError> {
        let Self { mut was, mut record } = self;
        for _ in 0..WRITES {
            if was == record {
                return Ok(());
            }
            let write = LoopWrite { source: source.clone(), was, becomes: record.clone(), entry: None };
            if target.note_loop(write)? {
                return Ok(());
            }
            was = target.reader()?.loop_record(source)?;
            record.retry_asked = was.retry_asked;
        }
        Ok(())
    }
}

/// What a refusal waits for: if anything is wrong with the commit, another try is in vain.
pub(super) fn class_of(rejection: &Rejection) -> Class {
    if rejection.faults().all(|fault| fault.class == Class::Target) { Class::Target } else { Class::Commit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fault::{Fault, RuleId};

    fn rejection(class: Class) -> Rejection {
        Rejection::of(Fault::new(RuleId::new("quota"), "too much").class(class))
    }

    fn at(second: i64) -> Moment {
        Moment::from_millis(second * 1000)
    }

    fn commit(digit: &str) -> CommitId {
        CommitId::parse(&digit.repeat(40)).unwrap()
    }

    fn digest(digit: &str) -> Digest {
        Digest::parse(&digit.repeat(64)).unwrap()
    }

    #[test]
    fn what_the_target_refused_is_tried_again_a_bounded_number_of_times_and_then_waits() {
        let mut memory = Memory::new(LoopRecord::default());
        let (on, interval) = (digest("1"), Duration::from_secs(60));
        let mut now = at(0);
        let mut news = Vec::new();
        for _ in 0..5 {
            news.push(memory.refused(&rejection(Class::Target), Some(&commit("a")), None, Some(&on), interval, now));
            let Some(next) = memory.record.refusal.as_ref().unwrap().next_try else { break };
            assert!(memory.stands(&commit("a"), &on, now));
            assert!(!memory.stands(&commit("a"), &on, next), "its time has come");
            now = next;
        }
        assert_eq!(news, [true, false, false, false, true], "told at the first and at the last");
        assert!(memory.stands(&commit("a"), &on, at(1_000_000)), "it waits for a change");
        assert!(!memory.stands(&commit("b"), &on, now), "another commit");
        assert!(!memory.stands(&commit("a"), &digest("2"), now), "other rules, or another target");
    }

    #[test]
    fn what_is_wrong_with_a_commit_waits_for_a_change_at_once() {
        let mut memory = Memory::new(LoopRecord::default());
        let on = digest("1");
        assert!(memory.refused(&rejection(Class::Commit), Some(&commit("a")), None, Some(&on), SHORTEST, at(0)));
        assert!(memory.stands(&commit("a"), &on, at(1_000_000)));
        memory.fine();
        assert!(!memory.stands(&commit("a"), &on, at(1)));
    }
}
