//! What was refused of a Source since it was last applied: the operation log remembers it.

use serde_json::Value;

use crate::base::clock::Moment;
use crate::base::ids::{CommitId, SourceName};
use crate::inventory::LoopRefusal;
use crate::target::{History, HistoryEntry, Reader, TargetError};

/// So far back a refusal is looked for.
const ENTRIES: usize = 500;

/// The last refusal of a Source, with nothing applied since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The entry of the operation log; empty if the loop alone knows.
    pub entry: String,
    /// When.
    pub at: Moment,
    /// Who had tried.
    pub actor: String,
    /// The commit, where it was known by then.
    pub commit: Option<CommitId>,
    /// The rules, each once, in the report's order.
    pub rules: Vec<String>,
    /// The first reason, in words.
    pub message: String,
}

impl Refusal {
    /// The loop's own, which it keeps in its record.
    pub fn of_loop(refusal: &LoopRefusal) -> Self {
        Self {
            entry: String::new(),
            at: refusal.since,
            actor: "holdfast run".to_owned(),
            commit: refusal.commit.clone(),
            rules: vec![refusal.rule.clone()],
            message: refusal.text.clone(),
        }
    }

    /// Whether it was of this commit. One that came before the commit was known isn't.
    pub fn is_of(&self, commit: &CommitId) -> bool {
        self.commit.as_ref() == Some(commit)
    }

    /// For people.
    pub fn text(&self) -> String {
        format!("refused at {} ({}): {}", self.at, self.rules.join(", "), self.message)
    }
}

/// The newest entries of the operation log, as many as a refusal is looked for in.
///
/// # Errors
/// If the log can't be read.
pub fn recent(reader: &dyn Reader) -> Result<Vec<HistoryEntry>, TargetError> {
    reader.history(&History { limit: ENTRIES })
}

/// Finds the last refusal of a Source in these entries of the operation log.
///
/// # Errors
/// If the log can't be read.
pub fn last_refusal(
    reader: &dyn Reader,
    entries: &[HistoryEntry],
    name: &SourceName,
) -> Result<Option<Refusal>, TargetError> {
    let ours = |sources: &[String]| sources.iter().position(|source| source == name.as_str());
    let last = entries.iter().find_map(|entry| match entry.operation.as_str() {
        "apply" | "refused" => ours(&entry.sources).map(|at| (entry, at)),
        _ => None,
    });
    let Some((entry, at)) = last.filter(|(entry, _)| entry.operation == "refused") else { return Ok(None) };
    let details = reader.receipt(&entry.id)?.map(|(_, details)| details).unwrap_or_default();
    let refusals = details.get("refusals").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |refusal: &Value, key: &str| refusal.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut rules: Vec<String> = Vec::new();
    for rule in refusals.iter().map(|refusal| text(refusal, "rule")) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.is_empty() {
        rules.push(entry.result.clone());
    }
    Ok(Some(Refusal {
        at: entry.at,
        actor: entry.actor.clone(),
        commit: entry.commits.get(at).and_then(|commit| CommitId::parse(commit).ok()),
        rules,
        message: refusals.first().map(|refusal| text(refusal, "text")).unwrap_or_default(),
        entry: entry.id.clone(),
    }))
}
