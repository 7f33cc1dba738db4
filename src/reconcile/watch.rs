//! Brings a Source's next tick forward when somebody writes to what it owns; the interval counts all the same.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::engine::Engine;
use super::event::{Event, Level};
use super::run::Heard;
use super::schedule::{Schedule, after};
use crate::apply::source_id;
use crate::base::clock::Moment;
use crate::base::ids::{ApplyId, SourceName};
use crate::base::resource::ResourceId;
use crate::source::spec::SourceSpec;
use crate::target::{Followed, TargetError, Told};

/// Whoever writes once often writes again: so long is waited for more.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// Between two ticks that writes bring forward, or its interval where that is shorter.
const APART: Duration = Duration::from_secs(5);
/// What a Source owns could not be read: it is tried again after so long.
const AGAIN: Duration = Duration::from_secs(5);

/// What is followed of one Source.
struct Watched {
    followed: Arc<Followed>,
    /// The apply after which it read the inventory.
    apply: Mutex<Option<ApplyId>>,
    /// What had been seen when the last tick began, and when that ended.
    last: Mutex<(u64, Option<Moment>)>,
    /// When what it owns is to be read again, after that failed.
    again: Mutex<Option<Moment>>,
}

/// What is followed of each Source; nothing on a target that can't be followed.
#[derive(Default)]
pub(super) struct Watches(BTreeMap<SourceName, Watched>);

impl Watches {
    /// Begins to follow, each Source in a thread of its own.
    pub(super) fn new(engine: &'static Engine, say: &Sender<Heard>) -> std::io::Result<Self> {
        let mut all = BTreeMap::new();
        if !engine.context.target.can_be_followed() {
            return Ok(Self::default());
        }
        for spec in &engine.sources {
            let (name, say) = (spec.name.clone(), say.clone());
            // After a stop nobody hears it.
            let tell = move |told| drop(say.send(Heard::Told(name.clone(), told)));
            let followed = Arc::new(Followed::new(spec.service_account.clone(), Box::new(tell)));
            let shared = Arc::clone(&followed);
            std::thread::Builder::new()
                .name(format!("follow {}", spec.name))
                .spawn(move || engine.context.target.follow(&shared))?;
            let (apply, last, again) = (Mutex::default(), Mutex::default(), Mutex::default());
            let watched = Watched { followed, apply, last, again };
            all.insert(spec.name.clone(), watched);
        }
        Ok(Self(all))
    }

    /// A tick begins: what was seen until now it sees, too.
    pub(super) fn begins(&self, name: &SourceName) {
        if let Some(watched) = self.0.get(name) {
            watched.last.lock().unwrap_or_else(PoisonError::into_inner).0 = watched.followed.mark();
        }
    }

    /// A tick has written what it had to: what the Source owns may be something else.
    pub(super) fn refresh(&self, engine: &Engine, spec: &SourceSpec) {
        let Some(watched) = self.0.get(&spec.name) else { return };
        if let Err(error) = watched.refresh(engine, spec) {
            *watched.again.lock().unwrap_or_else(PoisonError::into_inner) = Some(after(engine.now(), AGAIN));
            let text = format!("what it owns can't be read: {error}");
            engine.tell(&Event::new(engine.now(), Level::Debug, "unreachable", text).source(&spec.name));
        }
    }

    /// Reads again what Sources own, where that failed and its time has come, each in a thread of its own.
    pub(super) fn again(self: &Arc<Self>, engine: &'static Engine) -> std::io::Result<()> {
        let now = engine.now();
        for spec in &engine.sources {
            let Some(watched) = self.0.get(&spec.name) else { continue };
            let due = watched.again.lock().unwrap_or_else(PoisonError::into_inner).take_if(|at| *at <= now);
            if due.is_some() {
                let (all, spec) = (Arc::clone(self), *spec);
                std::thread::Builder::new()
                    .name(format!("owned {}", spec.name))
                    .spawn(move || all.refresh(engine, spec))?;
            }
        }
        Ok(())
    }

    /// A tick has ended: if somebody wrote meanwhile there is another one soon.
    pub(super) fn ended(&self, engine: &Engine, name: &SourceName, schedule: &mut Schedule) {
        let Some(watched) = self.0.get(name) else { return };
        let mark = {
            let mut last = watched.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.1 = Some(engine.now());
            last.0
        };
        if let Some(id) = watched.followed.written_since(mark) {
            self.soon(engine, name, &id, schedule);
        }
    }

    /// Something was told; while a tick runs its end asks for what it missed.
    pub(super) fn told(&self, engine: &Engine, name: &SourceName, told: &Told, schedule: &mut Schedule) {
        let say = |level, event, text| engine.tell(&Event::new(engine.now(), level, event, text).source(name));
        match told {
            Told::Written(id) if !schedule.is_running(name) => self.soon(engine, name, id, schedule),
            Told::Written(_) => {}
            Told::Deaf(why) => {
                say(Level::Warn, "unwatched", format!("writes of others are seen at the interval alone: {why}"))
            }
            Told::Hears(what) => say(Level::Info, "watched", format!("writes of others are heard again: {what}")),
        }
    }

    fn soon(&self, engine: &Engine, name: &SourceName, id: &ResourceId, schedule: &mut Schedule) {
        let Some(watched) = self.0.get(name) else { return };
        let now = engine.now();
        let ended = watched.last.lock().unwrap_or_else(PoisonError::into_inner).1;
        let interval = engine.sources.iter().find(|spec| spec.name == *name).map_or(APART, |spec| spec.interval);
        let earliest = ended.map_or(now, |ended| after(ended, APART.min(interval)));
        schedule.soon(name, after(now, DEBOUNCE).max(earliest));
        let text = format!("{id} was written by others: it is looked at before its interval");
        engine.tell(&Event::new(now, Level::Debug, "noticed", text).source(name));
    }
}

impl Watched {
    fn refresh(&self, engine: &Engine, spec: &SourceSpec) -> Result<(), TargetError> {
        let reader = engine.context.target.reader()?;
        let (identity, known) = (reader.identity()?, reader.sources()?);
        let id = source_id(&identity, &spec.name, &known);
        // A repair is an apply too, and leaves the serial as it is.
        let apply = known.iter().find(|record| record.id == id).map(|record| record.apply.clone());
        if *self.apply.lock().unwrap_or_else(PoisonError::into_inner) == apply {
            return Ok(());
        }
        let inventory = reader.inventory(&id)?;
        self.followed.owns(inventory.rows.values().map(|row| &**row));
        *self.apply.lock().unwrap_or_else(PoisonError::into_inner) = apply;
        Ok(())
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.0.values().for_each(|watched| watched.followed.end());
    }
}
