//! The one table from the bank's neutral reasons to the rule IDs of the tool.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A reason as the bank words it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reason(&'static str);

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Each neutral reason with the rule IDs that say the same; an empty list means its own name.
///
/// An entry may be widened only where the tool says the same thing more precisely, never to let another verdict pass.
const TABLE: &[(&str, &[&str])] = &[
    ("yaml-syntax", &[]),
    ("encoding", &[]),
    ("duplicate-key", &[]),
    ("ambiguous-key", &[]),
    ("ambiguous-merge", &[]),
    ("type-mismatch", &[]),
    ("out-of-range", &[]),
    ("unknown-field", &[]),
    ("missing-field", &[]),
    ("unknown-kind", &[]),
    ("not-a-manifest", &[]),
    ("bad-name", &[]),
    ("generate-name", &[]),
    ("duplicate-object", &[]),
    ("duplicate-list-key", &[]),
    ("scope-violation", &[]),
    ("missing-namespace", &[]),
    ("owned-by-other", &[]),
    ("exists-unowned", &[]),
    ("controlled-object", &[]),
    ("empty-source", &[]),
    ("delete-budget", &[]),
    ("protected-delete", &[]),
    ("wanted-by-other", &[]),
    ("immutable-field", &[]),
    ("quota", &[]),
    ("size-limit", &[]),
    ("link-outside", &[]),
    ("link-loop", &[]),
    ("link-dangling", &[]),
    ("link-folder", &[]),
    ("submodule", &[]),
    ("lfs-pointer", &[]),
    ("terminating", &[]),
    ("finalizer", &[]),
    ("refused-by-target", &[]),
    ("stale-plan", &[]),
    ("uid-mismatch", &[]),
    ("owner-mismatch", &[]),
    ("source-moved", &[]),
    ("commit-gone", &[]),
    ("wrong-target", &[]),
    ("plan-digest", &[]),
    ("locked", &[]),
];

/// Reasons of an apply that found the target otherwise than planned: exit code 4.
const MOVED: &[&str] = &["stale-plan", "uid-mismatch", "exists-unowned"];
/// Reasons for which exit codes 1 and 4 are both right.
const EITHER: &[&str] = &["source-moved", "commit-gone", "locked"];

impl TryFrom<String> for Reason {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        TABLE
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(name, _)| Self(name))
            .ok_or_else(|| format!("unknown reason {text:?}"))
    }
}

impl Reason {
    /// The neutral word.
    pub(crate) fn word(&self) -> &'static str {
        self.0
    }

    /// Tells whether a rule ID of the tool says this.
    pub(crate) fn accepts(&self, rule: &str) -> bool {
        TABLE.iter().any(|(name, rules)| {
            *name == self.0 && if rules.is_empty() { *name == rule } else { rules.contains(&rule) }
        })
    }

    /// The neutral word that a rule ID stands for, if the bank has one.
    pub(crate) fn of_rule(rule: &str) -> Option<Self> {
        TABLE.iter().map(|(name, _)| Self(name)).find(|reason| reason.accepts(rule))
    }

    /// Tells whether this names an object that moved after the plan.
    pub(crate) fn means_moved(&self) -> bool {
        MOVED.contains(&self.0) || self.0 == "owner-mismatch"
    }
}

/// The exit codes that a refused apply may have, by the rules it gave.
pub(crate) fn refused_apply_codes<'a>(rules: impl Iterator<Item = &'a str>) -> &'static [i32] {
    let words: Vec<&str> = rules.filter_map(Reason::of_rule).map(|reason| reason.word()).collect();
    if words.iter().any(|word| EITHER.contains(word)) {
        &[1, 4]
    } else if words.iter().any(|word| MOVED.contains(word)) {
        &[4]
    } else {
        &[1]
    }
}
