//! The steps of a case, one type for each action of FORMAT.md.

mod apply;
mod others;
mod plan;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

pub(crate) use self::apply::{Apply, ApplyOutcome};
pub(crate) use self::others::{
    AutoRevert, Converge, Crash, Drift, Git, Outside, Put, Race, RemoveOutcome, RemoveSource, RenameSource,
    SameMeaning, State,
};
pub(crate) use self::plan::{Limits, Plan, PlanFault, PlanOutcome, Refusal, Warned};
use crate::expected::{OneOf, SourceSpec};
use crate::ids::Id;
use crate::pointer::Pointer;
use crate::reasons::Reason;

/// Values by pointer; null is "nothing there".
pub(crate) type Fields = BTreeMap<Pointer, Value>;
/// Values by object and pointer; `None` is "no such object".
pub(crate) type Live = BTreeMap<Id, Option<Fields>>;

/// One step.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub(crate) enum Step {
    /// Plans a commit.
    Plan(Box<Plan>),
    /// Applies a saved plan.
    Apply(Box<Apply>),
    /// Plans and applies; both must succeed.
    Converge(Converge),
    /// Somebody else changes the target.
    Outside(Outside),
    /// Looks for drift.
    Drift(Drift),
    /// Repairs drift.
    AutoRevert(AutoRevert),
    /// Gives a Source another name.
    RenameSource(RenameSource),
    /// Removes a Source with all that it owns.
    RemoveSource(RemoveSource),
    /// Runs a script of the case in the repository.
    Git(Git),
    /// Applies several plans at the same moment.
    Race(Race),
    /// Applies with `kill -9` in the middle.
    Crash(Crash),
    /// Compares spellings.
    SameMeaning(SameMeaning),
}

/// An update, and the fields that change.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Updated {
    pub(crate) id: Id,
    pub(crate) fields: Option<Vec<Pointer>>,
}

/// A delete that is not done.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    pub(crate) id: Id,
    pub(crate) reason: OneOf<Reason>,
    #[serde(default)]
    pub(crate) holds: Vec<Id>,
}

impl Step {
    /// The target that it names.
    pub(crate) fn target(&self) -> Option<&str> {
        match self {
            Self::Plan(plan) => plan.target.as_deref(),
            Self::Apply(apply) => apply.target.as_deref(),
            _ => None,
        }
    }

    /// A short name for reports.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Plan(plan) => format!("plan {}", plan.commit),
            Self::Apply(apply) => match &apply.plan {
                Some(name) => format!("apply {name}"),
                None => "apply".to_owned(),
            },
            Self::Converge(converge) => format!("converge {}", converge.commit),
            Self::Outside(outside) => format!("outside as {}", outside.actor),
            Self::Drift(_) => "drift".to_owned(),
            Self::AutoRevert(_) => "auto-revert".to_owned(),
            Self::RenameSource(_) => "rename-source".to_owned(),
            Self::RemoveSource(_) => "remove-source".to_owned(),
            Self::Git(git) => format!("git {}", git.script),
            Self::Race(_) => "race".to_owned(),
            Self::Crash(_) => "crash".to_owned(),
            Self::SameMeaning(_) => "same-meaning".to_owned(),
        }
    }

    /// Checks what the types alone can't say.
    pub(crate) fn check(&self, sources: &BTreeMap<String, SourceSpec>) -> Result<(), String> {
        let mut named: Vec<String> = Vec::new();
        match self {
            Self::Plan(plan) => {
                one_key(plan.source.is_some(), plan.sources.is_some())?;
                commit_name(&plan.commit)?;
                named.extend(plan.planned());
                named.extend(plan.config.iter().flatten().cloned());
                if plan.outcome.all().is_empty() {
                    return Err("plan: outcome must not be empty".to_owned());
                }
            }
            Self::Converge(converge) => {
                one_key(converge.source.is_some(), converge.sources.is_some())?;
                commit_name(&converge.commit)?;
                named.extend(converge.planned());
            }
            Self::Apply(apply) => {
                if let Some(commit) = &apply.last_applied {
                    commit_name(commit)?;
                }
            }
            Self::Drift(drift) => named.push(drift.source.clone()),
            Self::AutoRevert(revert) => named.push(revert.source.clone()),
            Self::RenameSource(rename) => {
                named.push(rename.source.clone());
                named.extend(rename.config.iter().flatten().cloned());
            }
            Self::RemoveSource(remove) => named.push(remove.source.clone()),
            Self::SameMeaning(same) => named.push(same.source.clone()),
            Self::Outside(_) | Self::Git(_) | Self::Race(_) | Self::Crash(_) => {}
        }
        match named.iter().find(|name| !sources.contains_key(*name)) {
            Some(name) => Err(format!("{}: no source {name}", self.title())),
            None => Ok(()),
        }
    }
}

fn planned(source: Option<&String>, sources: Option<&Vec<String>>) -> Vec<String> {
    source.into_iter().chain(sources.into_iter().flatten()).cloned().collect()
}

fn one_key(source: bool, sources: bool) -> Result<(), String> {
    if source == sources { Err("either source or sources".to_owned()) } else { Ok(()) }
}

fn commit_name(name: &str) -> Result<(), String> {
    match name.strip_prefix("commit-") {
        Some(number) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => Ok(()),
        _ => Err(format!("{name:?} is no commit-N")),
    }
}
