//! What drift is reported as. Sensitive values are masked by now.

use serde_json::Value;

use super::blame::{Blame, Who};
use super::contest::Contest;
use super::standing::Standing;
use crate::base::clock::Moment;
use crate::base::ids::ObjectUid;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;

/// How something came to differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Somebody wrote it.
    Manual,
    /// Nobody is known to have written it: an apply or the target was cut off.
    Accidental,
    /// Somebody wrote it while the Source was paused: it stays until it is in git or given up.
    Emergency,
}

impl Origin {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Accidental => "accidental",
            Self::Emergency => "emergency",
        }
    }
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftedField {
    /// The field.
    pub path: Pointer,
    /// What was applied; `None` where the field is not declared (any more).
    pub declared: Option<Value>,
    /// What is live; `None` if it was removed.
    pub live: Option<Value>,
    /// How it came to differ.
    pub origin: Origin,
    /// Who, when, and how often.
    pub blame: Blame,
    /// It was repaired again and again, and is left alone.
    pub contest: Option<Contest>,
}

/// So many times make a field's drift recurring: then git is probably wrong.
pub const RECURRING: usize = 3;

impl DriftedField {
    /// Whether it came to differ so often that what git says is probably wrong.
    pub fn is_recurring(&self) -> bool {
        self.blame.times >= RECURRING
    }
}

/// One object that differs from what was applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Drifted {
    /// The resource.
    pub id: ResourceId,
    /// The live object's UID.
    pub uid: Option<ObjectUid>,
    /// The file that declares it.
    pub file: String,
    /// The line where its document starts.
    pub line: u32,
    /// Whose it is now.
    pub standing: Standing,
    /// How it came to differ: the last thing that did.
    pub origin: Origin,
    /// Who did that last thing, and since when the object differs.
    pub blame: Blame,
    /// The object as a whole was made again and again, and is left alone.
    pub contest: Option<Contest>,
    /// The fields that differ; none where the object isn't this Source's.
    pub fields: Vec<DriftedField>,
}

impl Drifted {
    /// Since when it differs, as far as that is known.
    pub fn since(&self) -> Option<Moment> {
        self.fields.iter().map(|field| &field.blame).chain([&self.blame]).filter_map(|blame| blame.since).min()
    }

    /// Who made it differ, each once.
    pub fn who(&self) -> Vec<&Who> {
        let fields = self.fields.iter().map(|field| &field.blame);
        let mut all: Vec<&Who> = fields.chain([&self.blame]).filter_map(|blame| blame.who.as_ref()).collect();
        all.sort();
        all.dedup();
        all
    }
}
