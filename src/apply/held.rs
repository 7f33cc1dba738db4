//! What holds Sources back: pauses, and pins to another commit.

use super::rules::{PAUSED, PINNED};
use crate::base::clock::Moment;
use crate::base::fault::Fault;
use crate::base::ids::{CommitId, SourceName};
use crate::inventory::{Pause, Pin, SourceRecord, ending};
use crate::target::{Reader, TargetError};

use super::prepare::source_id;

/// How one Source stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The Source.
    pub source: SourceName,
    /// Its pause.
    pub pause: Option<Pause>,
    /// Its pin, if that is to another commit than the planned one.
    pub pin: Option<Pin>,
}

impl Hold {
    /// What holds it, for people; nothing if nothing does.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.pause_text().into_iter().chain(self.pin_text())
    }

    fn pause_text(&self) -> Option<String> {
        let Pause { by, reason, at, until } = self.pause.as_ref()?;
        Some(format!("Source {} is paused since {at} by {by}, {}: {reason}", self.source, ending(*until)))
    }

    fn pin_text(&self) -> Option<String> {
        let Pin { commit, by, reason, at, until } = self.pin.as_ref()?;
        let (name, ending) = (&self.source, ending(*until));
        Some(format!("Source {name} is pinned to commit {commit} since {at} by {by}, {ending}: {reason}"))
    }
}

/// How these Sources stand at a moment, each with the commit that is planned.
pub(super) fn holds<'a>(
    reader: &dyn Reader,
    known: &[SourceRecord],
    sources: impl Iterator<Item = (&'a SourceName, &'a CommitId)>,
    now: Moment,
) -> Result<Vec<Hold>, TargetError> {
    let identity = reader.identity()?;
    let hold = |(name, commit): (&SourceName, &CommitId)| {
        let controls = reader.controls(&source_id(&identity, name, known))?;
        let pin = controls.pinned(now).filter(|pin| pin.commit != *commit).cloned();
        Ok(Hold { source: name.clone(), pause: controls.paused(now).cloned(), pin })
    };
    sources.map(hold).collect()
}

/// Why nothing of this is applied; nothing if nothing holds it.
pub(super) fn held(holds: &[Hold], while_paused: bool) -> Vec<Fault> {
    let is_held = |hold: &Hold| (hold.pause.is_some() && !while_paused) || hold.pin.is_some();
    let free: Vec<&str> = holds.iter().filter(|hold| !is_held(hold)).map(|hold| hold.source.as_str()).collect();
    let others = match free.as_slice() {
        [] => String::new(),
        [one] => format!("; Source {one} is not held: apply it by its name"),
        several => format!("; Sources {} are not held: apply them by name", several.join(", ")),
    };
    let mut faults = Vec::new();
    for hold in holds {
        if let Some(text) = hold.pause_text().filter(|_| !while_paused) {
            let hint = format!("wait for its end, or say --while-paused --reason WHY{others}");
            faults.push(Fault::new(PAUSED, text).hint(hint));
        }
        if let Some(text) = hold.pin_text() {
            let hint = format!("end that with holdfast source unpin {}{others}", hold.source);
            faults.push(Fault::new(PINNED, text).hint(hint));
        }
    }
    faults
}
