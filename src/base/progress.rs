//! How far the parts of a command have come, told to whoever shows it.

use std::sync::atomic::{AtomicU64, Ordering};

/// A part of a command that may take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Files of a commit are read.
    Reading,
    /// Manifests are checked.
    Admission,
    /// Live objects are read.
    Observation,
    /// Objects are written.
    Apply,
}

/// Told how a command goes on; from several threads at once.
pub trait Progress: Sync {
    /// Of a fetch so many objects have come of so many (0: not known yet), in so many bytes.
    fn received(&self, objects: u64, total: u64, bytes: u64);

    /// Of a stage so many of so many are done; it has ended when they are equal.
    fn reached(&self, stage: Stage, done: u64, total: u64) {
        let _ = (stage, done, total);
    }

    /// Something that people should know, though the command goes on as if it had not been.
    fn noted(&self, text: &str) {
        let _ = text;
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn received(&self, _: u64, _: u64, _: u64) {}
}

/// Told in steps that cost nothing beside the work.
const EVERY: u64 = 64;

/// Counts one stage, from several threads; it ends with this, however far it came.
pub struct Counter<'a> {
    progress: &'a dyn Progress,
    stage: Stage,
    total: u64,
    done: AtomicU64,
}

impl<'a> Counter<'a> {
    /// Begins a stage of so many.
    pub fn begin(progress: &'a dyn Progress, stage: Stage, total: usize) -> Self {
        let total = total as u64;
        progress.reached(stage, 0, total);
        Self { progress, stage, total, done: AtomicU64::new(0) }
    }

    /// One more is done.
    pub fn one(&self) {
        self.more(1);
    }

    /// So many more are done.
    pub fn more(&self, count: usize) {
        let count = count as u64;
        let before = self.done.fetch_add(count, Ordering::Relaxed);
        if before / EVERY != (before + count) / EVERY && before + count < self.total {
            self.progress.reached(self.stage, before + count, self.total);
        }
    }
}

impl Drop for Counter<'_> {
    fn drop(&mut self) {
        self.progress.reached(self.stage, self.total, self.total);
    }
}
