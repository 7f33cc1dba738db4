//! What holds Sources back: pauses, and pins to another commit.

use super::rules::{PAUSED, PINNED};
use crate::base::clock::Moment;
use crate::base::fault::Fault;
use crate::base::ids::{CommitId, SourceName};
use crate::inventory::{Pause, Pin, SourceRecord};
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
    pub fn texts(&self) -> Vec<String> {
        let name = &self.source;
        let pause = self.pause.as_ref().map(|pause| {
            let Pause { by, reason, at, until } = pause;
            format!("Source {name} is paused since {at} by {by}, {}: {reason}", ending(*until))
        });
        let pin = self.pin.as_ref().map(|pin| {
            let Pin { commit, by, reason, at, until } = pin;
            format!("Source {name} is pinned to commit {commit} since {at} by {by}, {}: {reason}", ending(*until))
        });
        pause.into_iter().chain(pin).collect()
    }
}

fn ending(until: Option<Moment>) -> String {
    until.map_or_else(|| "until further notice".to_owned(), |until| format!("until {until}"))
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
        let mut texts = hold.texts().into_iter();
        if let Some(text) = hold.pause.as_ref().and_then(|_| texts.next())
            && !while_paused
        {
            let hint = format!("wait for its end, or say --while-paused --reason WHY{others}");
            faults.push(Fault::new(PAUSED, text).hint(hint));
        }
        if let Some(text) = hold.pin.as_ref().and_then(|_| texts.next()) {
            let hint = format!("end that with holdfast source unpin {}{others}", hold.source);
            faults.push(Fault::new(PINNED, text).hint(hint));
        }
    }
    faults
}
