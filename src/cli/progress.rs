//! Progress on a terminal; nothing in a pipe.

use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};

use crate::source::mirror::Progress;

/// A bar for one fetch after the other.
pub(crate) struct Bar {
    bar: Mutex<Option<ProgressBar>>,
    shown: bool,
}

impl Bar {
    /// A bar that is shown, or not.
    pub(crate) fn new(shown: bool) -> Self {
        Self { bar: Mutex::new(None), shown }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Ok(mut bar) = self.bar.lock()
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn received(&self, objects: u64, total: u64, bytes: u64) {
        if !self.shown {
            return;
        }
        let Ok(mut slot) = self.bar.lock() else { return };
        let bar = slot.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("fetching {bar:30} {pos}/{len} objects {msg}");
            ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_length(total);
        bar.set_position(objects);
        bar.set_message(indicatif::HumanBytes(bytes).to_string());
    }
}
