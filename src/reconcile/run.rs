//! Drives the ticks: each Source in a thread of its own, none waits for another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use super::engine::Engine;
use super::event::{Event, Level};
use super::schedule::{Outcome, Schedule};
use super::tick::{Ticked, ticked};
use super::watch::Watches;
use crate::apply::source_id;
use crate::base::clock::Moment;
use crate::base::ids::SourceName;
use crate::target::{TargetError, Told};

/// So often it is asked whether somebody wants to stop.
const ATTENTION: Duration = Duration::from_millis(100);
/// So often it is asked whether somebody wants a Source to be tried at once.
const RETRIES: i64 = 1000;
/// So often at most a Source is looked at in one `--once`.
const ROUNDS: usize = 4;

/// How long it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One tick of every Source.
    Once,
    /// Until somebody asks to stop.
    Forever,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// A Source was refused or out of reach at its last tick.
    pub failed: bool,
    /// Somebody asked to stop.
    pub interrupted: bool,
}

/// Runs the loop. `seed` is for the jitter.
///
/// # Errors
/// If no thread can be had.
pub fn run(engine: &'static Engine, mode: Mode, seed: u64) -> std::io::Result<Ended> {
    match mode {
        Mode::Once => once(engine),
        Mode::Forever => forever(engine, seed),
    }
}

/// What the loop hears.
pub(super) enum Heard {
    /// A tick has ended.
    Ended(SourceName, Ticked),
    /// Somebody wrote to what a Source owns, or can't be heard.
    Told(SourceName, Told),
}

/// Tells how a tick ended, also if it panicked.
struct Guard {
    name: SourceName,
    say: Sender<Heard>,
    ticked: Ticked,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // After a stop nobody hears it.
        let _ = self.say.send(Heard::Ended(self.name.clone(), self.ticked));
    }
}

fn start(
    engine: &'static Engine,
    name: &SourceName,
    say: &Sender<Heard>,
    watches: &Arc<Watches>,
) -> std::io::Result<()> {
    let Some(spec) = engine.sources.iter().copied().find(|spec| spec.name == *name) else { return Ok(()) };
    // What is said of a thread that breaks.
    let guard = Guard { name: name.clone(), say: say.clone(), ticked: ticked(true, false, None) };
    let watches = Arc::clone(watches);
    watches.begins(name);
    std::thread::Builder::new().name(format!("source {name}")).spawn(move || {
        let mut guard = guard;
        guard.ticked = engine.tick(spec);
        watches.refresh(engine, spec);
    })?;
    Ok(())
}

fn once(engine: &'static Engine) -> std::io::Result<Ended> {
    let (say, hear) = mpsc::channel();
    let watches = Arc::default();
    let mut last: BTreeMap<SourceName, Ticked> = BTreeMap::new();
    let all: BTreeSet<SourceName> = engine.sources.iter().map(|spec| spec.name.clone()).collect();
    let mut asked = all.clone();
    for _ in 0..ROUNDS {
        for name in &asked {
            start(engine, name, &say, &watches)?;
        }
        let mut running = asked.len();
        while running > 0 {
            if stopping(engine, &hear) {
                return Ok(Ended { failed: true, interrupted: true });
            }
            if let Ok(Heard::Ended(name, ticked)) = hear.recv_timeout(ATTENTION) {
                running -= 1;
                last.insert(name, ticked);
            }
        }
        let wrote = last.iter().any(|(name, ticked)| asked.contains(name) && ticked.applied);
        let again = |ticked: &Ticked| {
            ticked.after_others
                || (wrote && ticked.on_target)
                || (!ticked.failed && matches!(ticked.outcome, Outcome::Again(_)))
        };
        let waits = last.iter().any(|(name, ticked)| asked.contains(name) && ticked.after_others);
        asked = match waits {
            // The others too: one that was looked at a moment too early isn't looked at by itself again.
            true => all.clone(),
            false => last.iter().filter(|(_, ticked)| again(ticked)).map(|(name, _)| name.clone()).collect(),
        };
        if asked.is_empty() {
            break;
        }
    }
    Ok(Ended { failed: last.values().any(|ticked| ticked.failed), interrupted: false })
}

fn forever(engine: &'static Engine, seed: u64) -> std::io::Result<Ended> {
    let (say, hear) = mpsc::channel();
    let each = engine.sources.iter().map(|spec| (spec.name.clone(), spec.interval));
    let mut schedule = Schedule::new(each, engine.now(), seed);
    let mut last: BTreeMap<SourceName, Ticked> = BTreeMap::new();
    let watches = Arc::new(Watches::new(engine, &say)?);
    let mut retries = Retries { asked_at: engine.now(), revision: None };
    loop {
        if stopping(engine, &hear) {
            return Ok(Ended { failed: false, interrupted: true });
        }
        for name in schedule.due(engine.now()) {
            start(engine, &name, &say, &watches)?;
        }
        match hear.recv_timeout(wait(schedule.next(), engine.now())) {
            Ok(Heard::Ended(name, ticked)) => {
                schedule.done(&name, engine.now(), ticked.outcome);
                watches.ended(engine, &name, &mut schedule);
                // What another one waits for may be there now.
                let helps =
                    |other: &Ticked| (other.on_target && ticked.applied) || (other.after_others && !ticked.failed);
                for (other, _) in last.iter().filter(|(other, then)| **other != name && helps(then)) {
                    schedule.at_once(other, engine.now());
                }
                last.insert(name, ticked);
            }
            Ok(Heard::Told(name, told)) => watches.told(engine, &name, &told, &mut schedule),
            Err(_) => {}
        }
        watches.again(engine)?;
        match retries.asked(engine) {
            Ok(asked) => asked.iter().for_each(|name| schedule.at_once(name, engine.now())),
            Err(error) => {
                let text = format!("whether somebody asked for a retry can't be read: {error}");
                engine.tell(&Event::new(engine.now(), Level::Debug, "unreachable", text));
            }
        }
    }
}

/// Whether somebody asked to stop; then what is being written has ended.
fn stopping(engine: &Engine, hear: &Receiver<Heard>) -> bool {
    if !engine.context.interrupt.is_raised() {
        return false;
    }
    while !engine.is_quiet() {
        // Only for the time to pass: results no longer matter.
        let _ = hear.recv_timeout(ATTENTION);
    }
    true
}

fn wait(next: Option<Moment>, now: Moment) -> Duration {
    let millis = next.map_or(i64::MAX, |next| next.as_millis().saturating_sub(now.as_millis()));
    Duration::from_millis(millis.clamp(1, 100).unsigned_abs())
}

/// Retries that other processes ask for, by the target's records.
struct Retries {
    asked_at: Moment,
    revision: Option<String>,
}

impl Retries {
    fn asked(&mut self, engine: &Engine) -> Result<Vec<SourceName>, TargetError> {
        let now = engine.now();
        if (now.as_millis() - self.asked_at.as_millis()).abs() < RETRIES {
            return Ok(Vec::new());
        }
        self.asked_at = now;
        let reader = engine.context.target.reader()?;
        let revision = reader.revision()?;
        // Whoever asks for a retry leaves a line in the operation log.
        if revision.is_some() && revision == self.revision {
            return Ok(Vec::new());
        }
        self.revision = revision;
        let (identity, known) = (reader.identity()?, reader.sources()?);
        let mut asked = Vec::new();
        for spec in &engine.sources {
            if reader.loop_record(&source_id(&identity, &spec.name, &known))?.retry_asked.is_some() {
                asked.push(spec.name.clone());
            }
        }
        Ok(asked)
    }
}
