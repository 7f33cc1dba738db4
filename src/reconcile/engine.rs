//! What all ticks share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::event::{Event, Level, Report};
use crate::apply::{Context, Ready};
use crate::base::clock::Moment;
use crate::base::ids::{ApplyId, CommitId, Digest, SourceName};
use crate::source::spec::SourceSpec;

/// The loop's surroundings; they live as long as the process.
pub struct Engine {
    /// Target, mirrors, time and limits.
    pub context: Context<'static>,
    /// The Sources that are reconciled.
    pub sources: Vec<&'static SourceSpec>,
    /// The configuration's other Sources on the same target.
    pub others: Vec<&'static SourceSpec>,
    /// Who applies.
    pub actor: String,
    /// How long an apply waits for the target's lock.
    pub lock_timeout: Duration,
    /// Names an apply.
    pub new_apply: fn(Moment) -> ApplyId,
    /// Who is told.
    pub report: &'static dyn Report,
    /// What is in memory of each Source.
    pub slots: Slots,
}

/// What is in memory of each Source; it only saves work.
#[derive(Default)]
pub struct Slots {
    known: Mutex<BTreeMap<SourceName, Slot>>,
    /// Applies that are being written.
    writing: AtomicUsize,
}

/// What is in memory of one Source.
#[derive(Clone, Default)]
pub(super) struct Slot {
    /// The last commit that was read and passed.
    pub(super) ready: Option<Arc<Ready<'static>>>,
    /// The applied commit, where that is another.
    pub(super) applied: Option<Arc<Ready<'static>>>,
    /// What the remote advertised before the last fetch.
    pub(super) advertised: Option<Digest>,
    /// Whether a refusal that stands was told in this process.
    pub(super) told: bool,
    /// When the remote was last looked at with success.
    pub(super) looked_at: Option<Moment>,
    /// Whether its last plan depended on other Sources.
    pub(super) needs_others: bool,
    /// While this is the same, a tick comes to the same.
    pub(super) settled: Option<Settled>,
}

/// What a tick depended on, and what it came to.
#[derive(Clone, PartialEq)]
pub(super) struct Settled {
    pub(super) revision: String,
    pub(super) commit: Option<CommitId>,
    pub(super) held: (bool, Option<CommitId>),
    pub(super) others: Vec<(SourceName, Option<CommitId>)>,
    pub(super) failed: bool,
}

impl Engine {
    pub(super) fn slot(&self, name: &SourceName) -> Slot {
        self.slots.known.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned().unwrap_or_default()
    }

    pub(super) fn update(&self, name: &SourceName, change: impl FnOnce(&mut Slot)) {
        change(self.slots.known.lock().unwrap_or_else(PoisonError::into_inner).entry(name.clone()).or_default());
    }

    /// All Sources of the configuration but one.
    pub(super) fn all_but(&self, name: &SourceName) -> impl Iterator<Item = &'static SourceSpec> {
        let all = self.sources.iter().chain(&self.others).copied();
        all.filter(move |spec| spec.name != *name).collect::<Vec<_>>().into_iter()
    }

    pub(super) fn now(&self) -> Moment {
        self.context.clock.now()
    }

    pub(super) fn line(&self, level: Level, event: &'static str, spec: &SourceSpec, message: String) -> Event {
        Event::new(self.now(), level, event, message).source(&spec.name)
    }

    pub(super) fn tell(&self, event: &Event) {
        self.report.event(event);
    }

    /// Does something that a stop waits for.
    pub(super) fn writing<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Guard<'a>(&'a AtomicUsize);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.slots.writing.fetch_add(1, Ordering::SeqCst);
        let _guard = Guard(&self.slots.writing);
        work()
    }

    /// Whether no apply is being written.
    pub(super) fn is_quiet(&self) -> bool {
        self.slots.writing.load(Ordering::SeqCst) == 0
    }
}
