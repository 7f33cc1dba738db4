//! Progress on a terminal; nothing in a pipe.

use std::sync::{Mutex, PoisonError};

use super::output::Output;
use indicatif::{ProgressBar, ProgressStyle};

use crate::base::progress::{Progress, Stage};

/// A bar for one part of a command after the other.
pub(crate) struct Bar {
    shown: bool,
    output: Output,
    bar: Mutex<Option<(Part, ProgressBar)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Fetch,
    Stage(Stage),
}

impl Part {
    fn template(self) -> &'static str {
        match self {
            Self::Fetch => "fetching {bar:30} {pos}/{len} objects {msg}",
            Self::Stage(Stage::Reading) => "reading {bar:30} {pos}/{len} files",
            Self::Stage(Stage::Admission) => "checking {bar:30} {pos}/{len} manifests",
            Self::Stage(Stage::Observation) => "observing {bar:30} {pos}/{len} objects",
            Self::Stage(Stage::Apply) => "applying {bar:30} {pos}/{len} changes",
        }
    }
}

impl Bar {
    /// A bar that is shown, or not.
    pub(crate) fn new(shown: bool, output: &Output) -> Self {
        Self { shown, output: output.clone(), bar: Mutex::new(None) }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Some((_, bar)) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }

    fn show(&self, part: Part, done: u64, total: u64, message: Option<String>) {
        if !self.shown {
            return;
        }
        let mut slot = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, former)) = slot.take_if(|(shown, _)| *shown != part) {
            former.finish_and_clear();
        }
        let (_, bar) = slot.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(part.template());
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            (part, ProgressBar::new(total).with_style(style))
        });
        if let Some(message) = message {
            bar.set_message(message);
        }
        // Both at once, so that it is drawn once.
        bar.update(|state| {
            state.set_len(total);
            state.set_pos(done);
        });
    }
}

impl Progress for Bar {
    fn received(&self, objects: u64, total: u64, bytes: u64) {
        self.show(Part::Fetch, objects, total, Some(indicatif::HumanBytes(bytes).to_string()));
    }

    fn reached(&self, stage: Stage, done: u64, total: u64) {
        if total > 0 {
            self.show(Part::Stage(stage), done, total, None);
        }
        if done >= total {
            self.clear();
        }
    }

    fn noted(&self, text: &str) {
        self.clear();
        self.output.note(&format!("warning: {text}"));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}
