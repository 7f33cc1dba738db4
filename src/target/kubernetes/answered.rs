//! What the API server said to dry runs a moment ago.
//!
//! An apply is planned twice in one command: to be shown, and again once the lock is held. What is then asked word for word
//! of an object in the same version was answered already. Refusals are always asked anew; the write itself is judged by
//! the server in any case.

use std::sync::{Arc, Mutex, PoisonError};

use super::request::Answer;
use crate::base::clock::Moment;
use crate::base::ids::Digest;
use crate::base::map::HashMap;

/// So long, in milliseconds, an answer counts.
const LASTS: i64 = 60_000;
/// So many bytes of answers are kept; what comes then is asked again.
const MOST: usize = 64 << 20;

/// Answers by the digest of what was asked.
#[derive(Default)]
pub(super) struct Answered(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by: HashMap<Digest, (Moment, Arc<Answer>)>,
    bytes: usize,
}

impl Answered {
    /// The answer to the same, if it isn't too old.
    pub(super) fn get(&self, asked: &Digest, now: Moment) -> Option<Arc<Answer>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, answer) = kept.by.get(asked)?;
        is_young(*at, now).then(|| Arc::clone(answer))
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, asked: Digest, now: Moment, answer: &Arc<Answer>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + answer.body.len() > MOST {
            kept.by.retain(|_, (at, _)| is_young(*at, now));
            kept.bytes = kept.by.values().map(|(_, answer)| answer.body.len()).sum();
        }
        if kept.bytes + answer.body.len() <= MOST {
            kept.bytes += answer.body.len();
            if let Some((_, old)) = kept.by.insert(asked, (now, Arc::clone(answer))) {
                kept.bytes -= old.body.len();
            }
        }
    }
}

/// A clock that went back makes nothing young.
fn is_young(at: Moment, now: Moment) -> bool {
    (0..LASTS).contains(&(now.as_millis() - at.as_millis()))
}
