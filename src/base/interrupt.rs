//! Whether somebody asked to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks to stop; looked at before anything is written, and while something is waited for.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// One that a signal handler, or whoever else holds the flag, raises.
    pub fn on(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// Whether somebody asked.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
