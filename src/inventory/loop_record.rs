//! What the loop remembers about a Source, on the target: it resumes from this alone.

use serde::{Deserialize, Serialize};

use crate::base::clock::Moment;
use crate::base::ids::{CommitId, Digest, PlanId};

/// Why the loop doesn't go on with a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LoopRefusal {
    /// What it waits for: `commit` (a change of commit, rules or target) or `target` (another try).
    pub class: String,
    /// The first rule that refused.
    pub rule: String,
    /// The first fault, for people; never a sensitive value.
    pub text: String,
    /// How many faults there were.
    pub faults: usize,
    /// The commit that was refused, where one could be found.
    pub commit: Option<CommitId>,
    /// The plan, where there was one.
    pub plan: Option<PlanId>,
    /// What else it was refused on: the Source's rules and what the target showed. While all is the same, so is the answer.
    pub on: Option<Digest>,
    /// Since when.
    pub since: Moment,
    /// How often it was tried in a row.
    pub tries: u32,
    /// When it is tried again; `None`: not by itself.
    pub next_try: Option<Moment>,
}

/// What is waited for where nothing was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LoopWaiting {
    /// `reviewed` (a person applies), `never`, `rewind`, `paused`, `unmerged`, `drift` (it is warned of alone), `emergency` (changes of a
    /// pause are left alone).
    pub reason: String,
    /// The commit that waits.
    pub commit: CommitId,
    /// The plan that a person would apply.
    pub plan: Option<PlanId>,
    /// Since when.
    pub since: Moment,
}

/// The loop's record of one Source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct LoopRecord {
    /// The newest commit that the loop saw on the Source's ref.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_seen: Option<CommitId>,
    /// When it saw that one first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Moment>,
    /// The last refusal, until something succeeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<LoopRefusal>,
    /// What is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<LoopWaiting>,
    /// Somebody asked to try at once (`source retry`), and no loop has yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_asked: Option<Moment>,
}
