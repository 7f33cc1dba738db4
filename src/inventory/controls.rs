//! What people told a target about a Source: pauses and pins, each with who, why and until when.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::clock::Moment;
use crate::base::ids::CommitId;

/// So many ended pauses are kept apart; older ones are kept as one.
const WINDOWS: usize = 64;

/// Who did something: as the system knows, and as they say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Actor {
    /// The user that the command ran as.
    pub proven: String,
    /// Who they say they are (`--as`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.claimed {
            Some(claimed) => write!(f, "{} (claims to be {claimed})", self.proven),
            None => f.write_str(&self.proven),
        }
    }
}

/// Holds back every apply of a Source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Pause {
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: String,
    /// Since when.
    pub at: Moment,
    /// It ends by itself at this moment; nobody has to write for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
}

/// Holds a Source at a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Pin {
    /// The commit.
    pub commit: CommitId,
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: String,
    /// Since when.
    pub at: Moment,
    /// It ends by itself at this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
}

/// When a pause or a pin ends, in words.
pub fn ending(until: Option<Moment>) -> String {
    until.map_or_else(|| "until further notice".to_owned(), |until| format!("until {until}"))
}

/// A pause that ended: what others wrote within it is an emergency change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PauseWindow {
    /// Its first moment.
    pub from: Moment,
    /// The first moment after it.
    pub to: Moment,
    /// Why it was paused.
    pub reason: String,
}

/// All that people told a target about one Source. A Source that was never applied has them too: its ID is known before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Controls {
    /// The last pause, unless somebody ended it. It may have expired: ask [`Controls::paused`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The last pin, unless somebody ended it. It may have expired: ask [`Controls::pinned`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// Pauses that ended, in the order of time. Those that were given up are dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<PauseWindow>,
    /// What was written in pauses up to this moment was given up (`resume --revert`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_up: Option<Moment>,
}

impl Controls {
    /// The pause that holds at a moment.
    pub fn paused(&self, now: Moment) -> Option<&Pause> {
        self.pause.as_ref().filter(|pause| pause.until.is_none_or(|until| now < until))
    }

    /// The pin that holds at a moment.
    pub fn pinned(&self, now: Moment) -> Option<&Pin> {
        self.pin.as_ref().filter(|pin| pin.until.is_none_or(|until| now < until))
    }

    /// Begins a pause. One that holds is replaced, and what was written in it stays an emergency change.
    #[must_use]
    pub fn begin_pause(mut self, pause: Pause) -> Self {
        self.end(pause.at);
        self.pause = Some(pause);
        self
    }

    /// Ends the pause, whether it holds or has expired.
    #[must_use]
    pub fn end_pause(mut self, now: Moment) -> Self {
        self.end(now);
        self
    }

    /// Gives up all emergency changes that were written until now, and ends the pause.
    #[must_use]
    pub fn give_up(mut self, now: Moment) -> Self {
        self.end(now);
        self.given_up = Some(self.given_up.map_or(now, |before| before.max(now)));
        self.windows.retain(|window| self.given_up.is_none_or(|given_up| window.to > given_up));
        self
    }

    /// Whether a write, done at one of these moments, may have fallen into a pause and was not given up.
    pub fn is_emergency(&self, from: Moment, to: Moment) -> bool {
        let given_up = |moment: Moment| self.given_up.is_some_and(|given_up| moment <= given_up);
        if given_up(from) {
            return false;
        }
        let in_pause = |pause: &Pause| pause.at <= to && pause.until.is_none_or(|until| from < until);
        self.pause.as_ref().is_some_and(in_pause) || self.windows.iter().any(|w| w.from <= to && from < w.to)
    }

    /// Whether nothing can be an emergency change: there was no pause, or all were given up.
    pub fn had_no_pause(&self) -> bool {
        self.pause.is_none() && self.windows.is_empty()
    }

    fn end(&mut self, now: Moment) {
        let Some(pause) = self.pause.take() else { return };
        let to = pause.until.map_or(now, |until| until.min(now));
        if to > pause.at {
            self.windows.push(PauseWindow { from: pause.at, to, reason: pause.reason });
        }
        // Kept as one they may cover writes between them: those are then left alone too, never reverted unseen.
        while self.windows.len() > WINDOWS {
            let first = self.windows.remove(0);
            if let Some(next) = self.windows.first_mut() {
                next.from = next.from.min(first.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Moment {
        Moment::from_millis(second * 1000)
    }

    fn pause(from: i64, until: Option<i64>) -> Pause {
        let by = Actor { proven: "ada".into(), claimed: None };
        Pause { by, reason: "incident".into(), at: at(from), until: until.map(at) }
    }

    #[test]
    fn a_pause_ends_by_itself_and_what_was_written_in_it_stays_an_emergency_change() {
        let controls = Controls::default().begin_pause(pause(10, Some(20)));
        assert!(controls.paused(at(19)).is_some() && controls.paused(at(20)).is_none());
        for (second, emergency) in [(9, false), (10, true), (19, true), (20, false)] {
            assert_eq!(controls.is_emergency(at(second), at(second)), emergency, "{second}");
            let ended = controls.clone().end_pause(at(30));
            assert_eq!(ended.is_emergency(at(second), at(second)), emergency, "{second}, resumed late");
            assert!(ended.pause.is_none());
        }
    }

    #[test]
    fn a_second_pause_takes_the_place_of_the_first_without_a_gap() {
        let controls = Controls::default().begin_pause(pause(10, None)).begin_pause(pause(20, None)).end_pause(at(30));
        assert!((10..30).all(|second| controls.is_emergency(at(second), at(second))));
        assert!(!controls.is_emergency(at(30), at(30)));
    }

    #[test]
    fn what_is_given_up_is_no_emergency_change_any_more_and_what_comes_later_is() {
        let controls = Controls::default().begin_pause(pause(10, None)).give_up(at(20)).begin_pause(pause(30, None));
        assert!(!controls.is_emergency(at(15), at(15)) && controls.is_emergency(at(31), at(31)));
        assert!(controls.windows.is_empty());
    }

    #[test]
    fn many_pauses_take_bounded_room_and_forget_no_emergency_change() {
        let many = (0..1000).fold(Controls::default(), |controls, n| {
            controls.begin_pause(pause(n * 10, None)).end_pause(at(n * 10 + 5))
        });
        assert_eq!(many.windows.len(), WINDOWS);
        assert!((0..1000).all(|n| many.is_emergency(at(n * 10), at(n * 10))));
    }

    #[test]
    fn controls_read_back_as_they_were_written() {
        let controls = Controls::default().begin_pause(pause(10, Some(20))).end_pause(at(15));
        let text = serde_json::to_string(&controls).unwrap();
        assert_eq!(serde_json::from_str::<Controls>(&text).unwrap(), controls);
        assert_eq!(serde_json::from_str::<Controls>("{}").unwrap(), Controls::default());
    }
}
