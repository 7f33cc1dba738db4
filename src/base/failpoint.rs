//! Places where a process can be made to die or to wait, for crash tests: compiled always, so that what is tested is what is shipped.
//!
//! Nothing happens unless the command line armed one at its start. Not armed, a place costs one relaxed load.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Every place, in the order in which an apply on the embedded target meets them.
pub const NAMES: [&str; 11] = [
    STORE_MADE,
    STORE_PLACED,
    BEFORE_BEGIN,
    AFTER_BEGIN,
    AFTER_CHECKS,
    AFTER_OBJECT,
    AFTER_DELETE,
    AFTER_INVENTORY,
    AFTER_LOG,
    BEFORE_COMMIT,
    AFTER_COMMIT,
];

/// The places that only an apply behind a journal meets.
pub const JOURNALED: [&str; 10] = [
    JOURNAL_OPENED,
    JOURNAL_WRITTEN,
    BEFORE_OWNERS,
    WAITING,
    BEFORE_UNDO,
    UNDO_BEGUN,
    AFTER_UNDO,
    JOURNAL_CLOSING,
    PARTS_GONE,
    JOURNAL_CLOSED,
];

/// The journal has a head and no body.
pub const JOURNAL_OPENED: &str = "journal-opened";
/// The journal is written; the first object comes next.
pub const JOURNAL_WRITTEN: &str = "journal-written";
/// An object that is taken over is written, and its former owners still hold what they did.
pub const BEFORE_OWNERS: &str = "before-owners";
/// Before it waits for the health of what it wrote.
pub const WAITING: &str = "waiting";
/// Something failed, and the undo begins.
pub const BEFORE_UNDO: &str = "before-undo";
/// The journal says that the apply is undone.
pub const UNDO_BEGUN: &str = "undo-begun";
/// After each object that is taken back.
pub const AFTER_UNDO: &str = "after-undo";
/// The journal says that all is done.
pub const JOURNAL_CLOSING: &str = "journal-closing";
/// The journal's parts are gone, its head is not.
pub const PARTS_GONE: &str = "parts-gone";
/// The journal is gone.
pub const JOURNAL_CLOSED: &str = "journal-closed";

/// A new store is whole, under a name of its own.
pub const STORE_MADE: &str = "store-made";
/// A new store has its name.
pub const STORE_PLACED: &str = "store-placed";
/// Before the transaction begins.
pub const BEFORE_BEGIN: &str = "before-begin";
/// The transaction has begun.
pub const AFTER_BEGIN: &str = "after-begin";
/// All that must hold was checked.
pub const AFTER_CHECKS: &str = "after-checks";
/// After each object that is written.
pub const AFTER_OBJECT: &str = "after-object";
/// After each object that is deleted.
pub const AFTER_DELETE: &str = "after-delete";
/// The inventories are written, or what is kept of a Source.
pub const AFTER_INVENTORY: &str = "after-inventory";
/// The operation log and the receipt are written.
pub const AFTER_LOG: &str = "after-log";
/// Just before the commit.
pub const BEFORE_COMMIT: &str = "before-commit";
/// Just after the commit.
pub const AFTER_COMMIT: &str = "after-commit";

/// A name of no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no failpoint; there are {names}", names = NAMES.join(", "))]
pub struct UnknownFailpoint(String);

fn all() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(JOURNALED)
}

/// The armed place as its index in [`NAMES`] plus one; 0 for none.
static ARMED: AtomicUsize = AtomicUsize::new(0);
/// Whether it stops there, and doesn't abort.
static STOPS: AtomicBool = AtomicBool::new(false);
/// How many times it may still be passed.
static PASSES: AtomicUsize = AtomicUsize::new(0);

/// What the process does at the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It aborts.
    Abort,
    /// It stops until somebody lets it go on (`kill -CONT`), so that something can happen meanwhile.
    Stop,
}

/// Arms a place, which the process comes to for the `nth` time (from 1).
///
/// # Errors
/// If no place has that name.
pub fn arm(name: &str, nth: usize, act: Act) -> Result<(), UnknownFailpoint> {
    let index = all().position(|n| n == name).ok_or_else(|| UnknownFailpoint(name.to_owned()))?;
    STOPS.store(act == Act::Stop, Ordering::SeqCst);
    PASSES.store(nth.saturating_sub(1), Ordering::SeqCst);
    ARMED.store(index + 1, Ordering::SeqCst);
    Ok(())
}

/// A place. Aborts or stops the process if it is armed.
#[inline]
pub fn hit(name: &'static str) {
    let armed = ARMED.load(Ordering::Relaxed);
    if armed != 0 {
        reached(armed, name);
    }
}

#[cold]
fn reached(armed: usize, name: &'static str) {
    if all().nth(armed - 1) != Some(name) {
        return;
    }
    let passed = PASSES.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    if passed.is_err() {
        if !STOPS.load(Ordering::SeqCst) {
            std::process::abort();
        }
        ARMED.store(0, Ordering::SeqCst);
        // Where that can't be done the test that waits for it fails.
        let _ = signal_hook::low_level::raise(signal_hook::consts::SIGSTOP);
    }
}
