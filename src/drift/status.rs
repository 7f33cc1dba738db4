//! Two answers for each Source and each object, neither of which says anything about the other: Synced and Healthy.

use super::finding::{Drifted, Origin};
use super::inspect::{Inspection, NotRead};
use super::refusal::Refusal;
use super::standing::Standing;
use crate::base::clock::Moment;
use crate::base::ids::{CommitId, ObjectUid};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::health::{State, health};
use crate::inventory::{LoopWaiting, Pin};
use crate::target::{Live, TargetKind};

/// An answer to a question of yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// Yes.
    True,
    /// It can't be told.
    Unknown,
    /// No.
    False,
}

impl Answer {
    /// The name in reports, as in the conditions of Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::Unknown => "Unknown",
            Self::False => "False",
        }
    }
}

/// An answer with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The answer.
    pub answer: Answer,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence; outside text may stand in it.
    pub message: String,
    /// Since when, as far as that is known.
    pub since: Option<Moment>,
}

impl Verdict {
    /// An answer.
    pub fn new(answer: Answer, reason: impl Into<String>, message: impl Into<String>, since: Option<Moment>) -> Self {
        Self { answer, reason: reason.into(), message: message.into(), since }
    }
}

/// One object of a Source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStatus {
    /// The resource.
    pub id: ResourceId,
    /// The live object's UID.
    pub uid: Option<ObjectUid>,
    /// Its resourceVersion.
    pub version: Option<String>,
    /// The commit that brought what is declared.
    pub commit: Option<CommitId>,
    /// Whether it is as it was applied.
    pub synced: Verdict,
    /// Whether it is well.
    pub healthy: Verdict,
    /// Where something else stands than was declared, for the target rewrote it: no drift.
    pub rewritten: Vec<Pointer>,
}

/// A Source with its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// Whether everything is as the newest commit that was seen says.
    pub synced: Verdict,
    /// Whether everything is well.
    pub healthy: Verdict,
    /// The objects that it declares, sorted.
    pub objects: Vec<ObjectStatus>,
}

/// What else is known of a Source, beside what it applied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// The newest commit of its ref that is known.
    pub seen: Option<&'a CommitId>,
    /// When that was first seen.
    pub seen_at: Option<Moment>,
    /// What was refused of it last, if nothing was applied since.
    pub refusal: Option<&'a Refusal>,
    /// The pin that holds now.
    pub pin: Option<&'a Pin>,
    /// What the loop waits for.
    pub waiting: Option<&'a LoopWaiting>,
}

/// Answers for one Source that was applied.
pub fn status(found: &Inspection, kind: TargetKind, beside: &Beside<'_>) -> SourceStatus {
    let owned = found.inventory.rows.keys();
    let declared = found.declared.as_ref().map_or_else(|_| owned.cloned().collect(), Clone::clone);
    let objects: Vec<ObjectStatus> = declared.iter().map(|id| object(found, kind, id)).collect();
    SourceStatus { synced: synced(found, beside), healthy: worst(&objects, found), objects }
}

fn object(found: &Inspection, kind: TargetKind, id: &ResourceId) -> ObjectStatus {
    let live = found.live.get(id);
    ObjectStatus {
        id: id.clone(),
        uid: live.map(|live| live.head.uid.clone()),
        version: live.map(|live| live.head.version.clone()),
        commit: found.inventory.row(id).map(|row| row.commit.clone()),
        synced: object_synced(found, id),
        healthy: healthy(live, kind, found, id),
        rewritten: rewritten(found, id),
    }
}

/// What the target rewrote at the last apply and nobody changed since.
fn rewritten(found: &Inspection, id: &ResourceId) -> Vec<Pointer> {
    let Some(row) = found.inventory.rows.get(id).filter(|row| found.live.contains_key(&row.id)) else {
        return Vec::new();
    };
    let drifted = found.drift_of(id);
    let stands = |path: &&Pointer| {
        drifted.is_none_or(|d| d.standing == Standing::Ours && !d.fields.iter().any(|field| field.path.overlaps(path)))
    };
    row.rewritten().filter(stands).cloned().collect()
}

fn object_synced(found: &Inspection, id: &ResourceId) -> Verdict {
    if let Err(NotRead { text, .. }) = &found.declared {
        return Verdict::new(Answer::Unknown, "CommitUnreadable", text.as_str(), None);
    }
    if let Some(why) = found.unknown_of(id) {
        return Verdict::new(Answer::Unknown, "Unreadable", why.text.as_str(), None);
    }
    match found.drift_of(id) {
        None => Verdict::new(Answer::True, "Synced", "it is as it was applied", None),
        Some(drifted) => Verdict::new(Answer::False, drift_reason(&[drifted]), drift_text(drifted), drifted.since()),
    }
}

/// What of several kinds of drift comes first: what waits for a person.
fn drift_reason(all: &[&Drifted]) -> &'static str {
    let any = |is: &dyn Fn(&Drifted) -> bool| all.iter().any(|drifted| is(drifted));
    if any(&is_emergency) {
        return "EmergencyPending";
    }
    if any(&|d| d.contest.is_some() || d.fields.iter().any(|field| field.contest.is_some())) {
        return "Contested";
    }
    match all {
        [one] => match one.standing {
            Standing::Ours => "Drifted",
            Standing::Missing => "Missing",
            Standing::Recreated { .. } => "Recreated",
            Standing::MarkRemoved => "MarkRemoved",
            Standing::MarkDamaged => "MarkDamaged",
            Standing::TakenOver { .. } => "TakenOver",
            Standing::NotOwned => "NotOwned",
        },
        _ => "Drifted",
    }
}

fn is_emergency(drifted: &Drifted) -> bool {
    drifted.origin == Origin::Emergency || drifted.fields.iter().any(|field| field.origin == Origin::Emergency)
}

fn drift_text(drifted: &Drifted) -> String {
    let by = match drifted.who().first() {
        Some(who) if who.proven => format!(" by {}", who.name),
        Some(who) => format!(" by one who {}", who.text()),
        None => String::new(),
    };
    match drifted.standing.text() {
        Some(text) => format!("{text}{by}"),
        None => {
            let paths: Vec<&str> = drifted.fields.iter().map(|field| field.path.as_str()).take(3).collect();
            let more = drifted.fields.len() - paths.len();
            let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("changed{by}: {}{rest}", paths.join(", "))
        }
    }
}

fn healthy(live: Option<&Live>, kind: TargetKind, found: &Inspection, id: &ResourceId) -> Verdict {
    let Some(live) = live else {
        // A Job that its TTL removed ran, and nothing of it is missing.
        let gone = found.drift_of(id).is_some() || found.declared.is_err();
        return if gone {
            Verdict::new(Answer::False, "Missing", "it isn't there", None)
        } else {
            Verdict::new(Answer::True, "Finished", "it ran and was removed", None)
        };
    };
    let judged = health(&live.object);
    let has_no_status = live.object.get("status").is_none() && judged.state == State::InProgress;
    if kind == TargetKind::Embedded && has_no_status {
        return if id.is_definition() {
            Verdict::new(Answer::True, "Current", "the embedded control plane serves the kind", None)
        } else {
            let text = "it has no status: no controller works on the embedded control plane";
            Verdict::new(Answer::Unknown, "NoStatus", text, None)
        };
    }
    let answer = match judged.state {
        State::Current => Answer::True,
        State::Failed => Answer::False,
        State::InProgress | State::Terminating => Answer::Unknown,
    };
    if judged.state == State::InProgress {
        let text = format!("{}: {}", judged.reason, judged.message);
        return Verdict::new(answer, "Progressing", text, judged.since);
    }
    Verdict::new(answer, judged.reason, judged.message, judged.since)
}

/// The Source is as well as its worst object.
fn worst(objects: &[ObjectStatus], found: &Inspection) -> Verdict {
    let rank = |verdict: &Verdict| (verdict.answer, verdict.reason == "Progressing");
    let Some(worst) = objects.iter().map(|object| &object.healthy).max_by_key(|verdict| rank(verdict)) else {
        return Verdict::new(Answer::True, "Empty", "it owns nothing", Some(found.record.applied_at));
    };
    if worst.answer == Answer::True {
        return Verdict::new(Answer::True, "Current", format!("all of its {} are well", count(objects.len())), None);
    }
    let same: Vec<&ObjectStatus> = objects.iter().filter(|o| rank(&o.healthy) == rank(worst)).collect();
    let since = same.iter().filter_map(|object| object.healthy.since).min();
    let first = same.first().map_or_else(String::new, |o| format!("{}: {}", o.id, o.healthy.message));
    let more = if same.len() > 1 { format!(" (and {} more)", same.len() - 1) } else { String::new() };
    Verdict::new(worst.answer, worst.reason.clone(), format!("{first}{more}"), since)
}

fn count(n: usize) -> String {
    if n == 1 { "1 object".to_owned() } else { format!("{n} objects") }
}

fn synced(found: &Inspection, beside: &Beside<'_>) -> Verdict {
    let refusal = beside.refusal;
    let record = &found.record;
    if let Err(why) = &found.declared {
        let text = format!("commit {} can't be read: {}", record.commit.short(), why.text);
        return Verdict::new(Answer::Unknown, "CommitUnreadable", text, None);
    }
    let drifted: Vec<&Drifted> = found.drifted.iter().collect();
    if !drifted.is_empty() {
        let since = drifted.iter().filter_map(|drifted| drifted.since()).min();
        let text = match drifted.as_slice() {
            [one] => format!("{}: {}", one.id, drift_text(one)),
            all => format!("{} differ from commit {}", count(all.len()), record.commit.short()),
        };
        // What waits for a person is not tried again, so nothing was refused of it.
        let reason = drift_reason(&drifted);
        return match refusal.filter(|refusal| refusal.is_of(&record.commit)) {
            Some(refusal) if !matches!(reason, "EmergencyPending" | "Contested") => Verdict::new(
                Answer::False,
                "RepairRefused",
                format!("{text}; its repair was {}", refusal.text()),
                since,
            ),
            _ => Verdict::new(Answer::False, reason, text, since),
        };
    }
    if let Some((id, why)) = found.unknown.first() {
        return Verdict::new(Answer::Unknown, "Unreadable", format!("{id}: {}", why.text), None);
    }
    let wanted = beside.pin.map(|pin| &pin.commit).or(beside.seen).unwrap_or(&record.commit);
    let pinned = if beside.pin.is_some() { ", to which it is pinned," } else { "" };
    if *wanted == record.commit {
        let text = format!("as commit {}{pinned} says", record.commit.short());
        return Verdict::new(Answer::True, "Synced", text, Some(record.applied_at));
    }
    if let Some(refusal) = refusal.filter(|refusal| refusal.is_of(wanted)) {
        let text = format!("commit {}{pinned} was {}", wanted.short(), refusal.text());
        return Verdict::new(Answer::False, "Refused", text, Some(refusal.at));
    }
    let waits = beside.waiting.filter(|waiting| waiting.commit == *wanted);
    let why = waits.map_or_else(String::new, |waiting| format!(": it waits ({})", waiting.reason));
    let since = waits.map(|waiting| waiting.since).or(beside.seen_at);
    let text = format!("commit {}{pinned} is not applied{why}", wanted.short());
    Verdict::new(Answer::False, "NewCommit", text, since)
}
