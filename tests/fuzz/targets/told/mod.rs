//! A panic that the library handles is no finding; any other one is told, and ends the process.

use std::panic::{UnwindSafe, catch_unwind, set_hook};
use std::sync::{Mutex, PoisonError};

static LAST: Mutex<String> = Mutex::new(String::new());

pub fn quiet() {
    set_hook(Box::new(|info| *LAST.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string()));
}

pub fn or_end(check: impl FnOnce() + UnwindSafe) {
    if catch_unwind(check).is_err() {
        eprintln!("{}", LAST.lock().unwrap_or_else(PoisonError::into_inner));
        std::process::abort();
    }
}
