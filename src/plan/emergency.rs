//! Emergency changes in a plan: left alone until they are in git or given up, and listed.

use std::borrow::Cow;

use serde_json::Value;

use crate::admission::Checked;
use crate::base::fault::{Fault, RuleId, Warning};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::inventory::{Emergency, EmergencyChange};
use crate::merge::{self, FieldChange};

/// What was changed while its Source was paused is neither in git nor given up.
pub(crate) const EMERGENCY_PENDING: RuleId = RuleId::new("emergency-pending");

/// A field was repaired again and again, and somebody wrote it each time.
pub(crate) const CONTESTED: RuleId = RuleId::new("contested");

/// More rounds than this find nothing new: each leaves alone what the one before would have changed.
const ROUNDS: usize = 8;

/// Adds to `alone` every declared field whose emergency change a merge would undo; the warnings that say so.
///
/// # Errors
/// If git takes away what holds an emergency change: that can't be left alone, so somebody has to say.
pub(super) fn leave(
    checked: &Checked,
    emergency: &Emergency,
    merge_with: impl Fn(&[Pointer]) -> Result<(Vec<FieldChange>, Value), Box<Fault>>,
    (live, declared): (&Value, &Value),
    alone: &mut Vec<Pointer>,
) -> Result<Vec<Warning>, Box<Fault>> {
    let mut warnings = Vec::new();
    for _ in 0..ROUNDS {
        let (changes, result) = merge_with(alone)?;
        let before = alone.len();
        for change in &changes {
            let place = if change.before.is_some() { &change.before_path } else { &change.path };
            let Some(written) = emergency.of(place) else { continue };
            let there = if change.after.is_some() { &result } else { live };
            let declared = merge::same_place(checked.schema(), there, &change.path, declared);
            let Some(path) = declared.filter(|path| !path.is_root()) else {
                return Err(Box::new(gone(checked, place, written)));
            };
            if alone.iter().all(|known| !path.is_within(known)) {
                warnings.push(warning(checked, &path, written));
                alone.push(path);
            }
        }
        if alone.len() == before {
            return Ok(warnings);
        }
    }
    Err(Box::new(refused(Some(checked), checked.id(), "written")))
}

fn warning(checked: &Checked, path: &Pointer, written: &EmergencyChange) -> Warning {
    let EmergencyChange { actor, at, contested, .. } = written;
    let (rule, text) = if *contested {
        (CONTESTED, format!("{path} is left alone: {actor} wrote it again after each repair since {at}"))
    } else {
        (EMERGENCY_PENDING, format!("{path} is left as {actor} wrote it at {at}, while the Source was paused"))
    };
    let place = checked.locate(&checked.as_written(path));
    Warning::new(rule, text).at(place).path(path.clone()).id(checked.id().clone())
}

/// That an object is left deleted.
pub(super) fn deleted(checked: &Checked, written: &EmergencyChange) -> Warning {
    if written.contested {
        let text = format!("it stays deleted: {} deleted it after each repair since {}", written.actor, written.at);
        return Warning::new(CONTESTED, text).at(checked.at()).id(checked.id().clone());
    }
    let text = format!(
        "it stays deleted: {} deleted it at {}, while the Source was paused; take it out of git too, or give that up",
        written.actor, written.at
    );
    Warning::new(EMERGENCY_PENDING, text).at(checked.at()).id(checked.id().clone())
}

fn gone(checked: &Checked, place: &Pointer, written: &EmergencyChange) -> Fault {
    let EmergencyChange { actor, at, .. } = written;
    let text = format!("git would undo what {actor} wrote to {place} at {at}, while the Source was paused");
    Fault::new(EMERGENCY_PENDING, text).at(checked.at()).id(checked.id().clone()).hint(HINT)
}

/// What can't be done to an object with emergency changes.
pub(crate) fn refused(checked: Option<&Checked>, id: &ResourceId, what: &str) -> Fault {
    let text = format!("it has changes that were made while its Source was paused: it can't be {what} now");
    let fault = Fault::new(EMERGENCY_PENDING, text).id(id.clone()).hint(HINT);
    match checked {
        Some(checked) => fault.at(checked.at()),
        None => fault,
    }
}

const HINT: &str = "bring the change into git, or give it up with holdfast source resume NAME --revert";

/// Why a removal is kept.
pub(super) fn kept(emergency: &Emergency) -> Option<String> {
    let written = emergency.fields.iter().find(|change| !change.contested)?;
    Some(format!(
        "{} changed {} while the Source was paused; {HINT}",
        written.actor,
        if written.path.is_root() { Cow::Borrowed("it") } else { Cow::Owned(written.path.to_string()) }
    ))
}
