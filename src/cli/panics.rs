//! A panic is a fault of Holdfast's own: it is told as one, with its own exit code, and a panic that somebody handles (a
//! library's, on a hostile file) isn't told at all.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use super::exit::Failure;

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Runs to the end, or to a panic that nobody handled.
pub(super) fn guard<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    panic::set_hook(Box::new(|info| {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.to_string());
    }));
    panic::catch_unwind(AssertUnwindSafe(run)).map_err(|_| {
        let told = LAST.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        Failure::fault(format!("a fault of Holdfast's own: {told}; what was not committed was not written"))
    })
}
