//! When which Source is looked at. Pure: the time is handed in, and so is the seed of the jitter.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::base::clock::Moment;
use crate::base::ids::SourceName;

/// A Source that keeps failing is looked at this seldom at least.
const MOST: Duration = Duration::from_secs(600);
/// An interval is made shorter or longer by so much at most, so that many Sources don't go together: 1/10.
const JITTER: u64 = 10;

/// What a tick came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There is nothing more to do until the interval has passed.
    Fine,
    /// It failed: looked at again after a time that grows with each failure.
    Failed,
    /// It is to be looked at again at this moment, if that comes before its interval.
    Again(Moment),
}

/// The times of all Sources.
#[derive(Debug, Clone)]
pub struct Schedule {
    entries: BTreeMap<SourceName, Entry>,
    random: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    interval: Duration,
    due: Moment,
    failures: u32,
    running: bool,
    /// Asked for while it was running.
    asked: bool,
}

impl Schedule {
    /// All are due now.
    pub fn new(sources: impl IntoIterator<Item = (SourceName, Duration)>, now: Moment, seed: u64) -> Self {
        let entry = |interval| Entry { interval, due: now, failures: 0, running: false, asked: false };
        let entries = sources.into_iter().map(|(name, interval)| (name, entry(interval))).collect();
        Self { entries, random: seed | 1 }
    }

    /// The Sources that are due; each counts as running until [`Schedule::done`].
    pub fn due(&mut self, now: Moment) -> Vec<SourceName> {
        let mut due = Vec::new();
        for (name, entry) in &mut self.entries {
            // The clock was set back: what is due in a far future would never come.
            let furthest = after(now, longest(entry.interval));
            entry.due = entry.due.min(furthest);
            if !entry.running && entry.due <= now {
                entry.running = true;
                entry.asked = false;
                due.push(name.clone());
            }
        }
        due
    }

    /// A tick has ended.
    pub fn done(&mut self, name: &SourceName, now: Moment, outcome: Outcome) {
        let random = self.next_random();
        let Some(entry) = self.entries.get_mut(name) else { return };
        entry.running = false;
        let regular = after(now, jittered(entry.interval, random));
        entry.due = match outcome {
            _ if entry.asked => now,
            Outcome::Fine => {
                entry.failures = 0;
                regular
            }
            Outcome::Again(at) => {
                entry.failures = 0;
                regular.min(at)
            }
            Outcome::Failed => {
                entry.failures = entry.failures.saturating_add(1);
                after(now, jittered(backoff(entry.interval, entry.failures), random))
            }
        };
        entry.asked = false;
    }

    /// Somebody asks for a tick at once.
    pub fn at_once(&mut self, name: &SourceName, now: Moment) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.due = entry.due.min(now);
            entry.asked |= entry.running;
        }
    }

    /// Brings the next tick forward to this moment, if that comes first.
    pub fn soon(&mut self, name: &SourceName, at: Moment) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.due = entry.due.min(at);
        }
    }

    /// Whether a tick runs.
    pub fn is_running(&self, name: &SourceName) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.running)
    }

    /// When the next one is due that isn't running.
    pub fn next(&self) -> Option<Moment> {
        self.entries.values().filter(|entry| !entry.running).map(|entry| entry.due).min()
    }

    /// xorshift64: only to spread moments.
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

/// How long is waited after so many failures in a row: twice as long each time, up to ten minutes, and never shorter than
/// the interval.
pub(super) fn backoff(interval: Duration, failures: u32) -> Duration {
    interval.saturating_mul(1_u32.checked_shl(failures.min(20)).unwrap_or(u32::MAX)).min(MOST.max(interval))
}

fn longest(interval: Duration) -> Duration {
    let most = MOST.max(interval);
    most.saturating_add(most)
}

fn jittered(time: Duration, random: u64) -> Duration {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4);
    let spread = millis / JITTER;
    if spread == 0 {
        return time;
    }
    Duration::from_millis(millis - spread + random % (2 * spread + 1))
}

pub(super) fn after(now: Moment, time: Duration) -> Moment {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millis(now.as_millis().saturating_add(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> SourceName {
        SourceName::parse(text).unwrap()
    }

    fn at(second: i64) -> Moment {
        Moment::from_millis(second * 1000)
    }

    fn minute(names: &[&str]) -> Schedule {
        Schedule::new(names.iter().map(|text| (name(text), Duration::from_secs(60))), at(0), 7)
    }

    #[test]
    fn all_are_due_at_the_start_and_then_on_their_interval_with_jitter() {
        let mut schedule = minute(&["a", "b"]);
        assert_eq!(schedule.due(at(0)), [name("a"), name("b")]);
        assert_eq!(schedule.due(at(0)), [], "they are running");
        schedule.done(&name("a"), at(1), Outcome::Fine);
        let due = schedule.next().unwrap();
        assert!(due >= at(55) && due <= at(67), "{due}");
        assert_eq!(schedule.due(at(54)), []);
        assert_eq!(schedule.due(at(67)), [name("a")], "b hangs, and a goes on");
    }

    #[test]
    fn two_sources_drift_apart() {
        let mut schedule = minute(&["a", "b"]);
        schedule.due(at(0));
        for source in ["a", "b"] {
            schedule.done(&name(source), at(0), Outcome::Fine);
        }
        assert_ne!(schedule.entries[&name("a")].due, schedule.entries[&name("b")].due);
    }

    #[test]
    fn failures_are_tried_again_later_and_later_up_to_a_bound_and_a_success_ends_that() {
        let mut schedule = minute(&["a"]);
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..8 {
            schedule.due(now);
            schedule.done(&name("a"), now, Outcome::Failed);
            let next = schedule.next().unwrap();
            waits.push((next.as_millis() - now.as_millis()) / 1000);
            now = next;
        }
        assert!(waits[0] >= 108 && waits[0] <= 132, "{waits:?}");
        assert!(waits[1] >= 216 && waits[1] <= 264, "{waits:?}");
        assert!(waits[3..].iter().all(|wait| (540..=660).contains(wait)), "{waits:?}");
        schedule.due(now);
        schedule.done(&name("a"), now, Outcome::Fine);
        assert!(schedule.next().unwrap() <= after(now, Duration::from_secs(66)));
        assert_eq!(backoff(Duration::from_secs(3600), 3), Duration::from_secs(3600), "never shorter than the interval");
    }

    #[test]
    fn who_asks_is_served_at_once_also_while_a_tick_runs() {
        let mut schedule = minute(&["a"]);
        schedule.due(at(0));
        schedule.at_once(&name("a"), at(1));
        assert_eq!(schedule.due(at(1)), []);
        schedule.done(&name("a"), at(2), Outcome::Failed);
        assert_eq!(schedule.due(at(2)), [name("a")]);
        schedule.done(&name("a"), at(3), Outcome::Again(at(5)));
        assert_eq!(schedule.next(), Some(at(5)));
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nothing() {
        let mut schedule = minute(&["a"]);
        schedule.due(at(1_000_000));
        schedule.done(&name("a"), at(1_000_000), Outcome::Fine);
        schedule.due(at(10));
        assert!(schedule.next().unwrap() <= at(10 + 1200));
    }
}
