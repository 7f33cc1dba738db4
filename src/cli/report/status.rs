//! Synced and Healthy as people and machines read them.

use serde_json::{Map, Value, json};

use super::drift::{id, moment, put, target};
use crate::base::clock::Moment;
use crate::base::columns::Columns;
use crate::base::resource::ResourceId;
use crate::base::text::{escape, shorten};
use crate::cli::look::{Look, Seen};
use crate::drift::{Answer, Beside, ObjectStatus, SourceStatus, Verdict, status};
use crate::inventory::{Actor, Pause, Pin, ending};

/// A message in a cell is cut at so many characters; JSON has it whole.
const CELL: usize = 100;
/// A line about one object, in the same way.
const LINE: usize = 200;
/// Objects that the target rewrote and that are named; JSON has all.
const REWRITTEN_SHOWN: usize = 20;

/// The answers of every Source, with the objects that are shown.
pub(crate) fn statuses(look: &Look<'_>, shown: &dyn Fn(&ResourceId) -> bool) -> Vec<SourceStatus> {
    let of = |source: &Seen<'_>| {
        let Some(found) = &source.found else { return never() };
        let record = &source.record;
        let seen = source.seen.as_ref().ok().map(|(commit, _)| commit).or(record.commit_seen.as_ref());
        let beside = Beside {
            seen,
            seen_at: record.seen_at.filter(|_| seen == record.commit_seen.as_ref()),
            refusal: source.refusal.as_ref(),
            pin: source.pin.as_ref(),
            waiting: record.waiting.as_ref(),
        };
        let mut all = status(found, look.kind, &beside);
        all.objects.retain(|object| shown(&object.id));
        all
    };
    look.sources.iter().map(of).collect()
}

fn never() -> SourceStatus {
    SourceStatus {
        synced: Verdict::new(Answer::False, "NeverApplied", "it was never applied here", None),
        healthy: Verdict::new(Answer::Unknown, "NeverApplied", "it has no objects here", None),
        objects: Vec::new(),
    }
}

/// Whether a Source, or where resources were named one of them, is not Synced.
pub(crate) fn is_pending(all: &[SourceStatus], by_object: bool) -> bool {
    let not_synced = |verdict: &Verdict| verdict.answer != Answer::True;
    if by_object {
        return all.iter().flat_map(|source| &source.objects).any(|object| not_synced(&object.synced));
    }
    all.iter().any(|source| not_synced(&source.synced))
}

/// The document of `-o json`.
pub(crate) fn json(look: &Look<'_>, all: &[SourceStatus]) -> Value {
    let sources: Vec<Value> =
        look.sources.iter().zip(all).map(|(source, status)| source_json(source, status)).collect();
    json!({ "formatVersion": 1, "target": target(look), "sources": sources })
}

fn source_json(source: &Seen<'_>, status: &SourceStatus) -> Value {
    let mut map = Map::new();
    put(&mut map, "name", json!(source.spec.name));
    put(&mut map, "synced", verdict(&status.synced));
    put(&mut map, "healthy", verdict(&status.healthy));
    match &source.seen {
        Ok((commit, at)) => {
            put(&mut map, "seenCommit", json!(commit));
            put(&mut map, "seenAt", json!(at.map(Moment::rfc3339)));
        }
        Err(text) => put(&mut map, "seenError", json!(text)),
    }
    if let Some(found) = &source.found {
        let record = &found.record;
        put(&mut map, "id", json!(record.id));
        put(&mut map, "appliedCommit", json!(record.commit));
        put(&mut map, "appliedAt", json!(record.applied_at.rfc3339()));
        put(&mut map, "apply", json!(record.apply));
        put(&mut map, "kept", json!(found.kept()));
        let left = found.left_alone.iter().map(|w| json!({"id": w.id, "path": w.path, "text": w.text}));
        put(&mut map, "leftAlone", left.collect());
    }
    if let Some(refusal) = &source.refusal {
        put(
            &mut map,
            "refused",
            json!({"entry": refusal.entry, "at": refusal.at.rfc3339(), "who": refusal.actor, "commit": refusal.commit,
                   "rules": refusal.rules, "text": refusal.message}),
        );
    }
    put(&mut map, "paused", json!(source.pause.as_ref().map(described_pause)));
    put(&mut map, "pinned", json!(source.pin.as_ref().map(described_pin)));
    let waiting = source.record.waiting.as_ref();
    put(
        &mut map,
        "waiting",
        waiting.map_or(
            Value::Null,
            |w| json!({"reason": w.reason, "commit": w.commit, "plan": w.plan, "since": w.since.rfc3339()}),
        ),
    );
    put(&mut map, "objects", status.objects.iter().map(object_json).collect());
    Value::Object(map)
}

/// A pause as JSON for people's tools.
pub(crate) fn described_pause(pause: &Pause) -> Value {
    let until = pause.until.map(Moment::rfc3339);
    json!({"by": pause.by, "reason": pause.reason, "at": pause.at.rfc3339(), "until": until})
}

/// A pin, in the same way.
pub(crate) fn described_pin(pin: &Pin) -> Value {
    let until = pin.until.map(Moment::rfc3339);
    json!({"commit": pin.commit, "by": pin.by, "reason": pin.reason, "at": pin.at.rfc3339(), "until": until})
}

fn object_json(object: &ObjectStatus) -> Value {
    json!({
        "id": object.id,
        "uid": object.uid,
        "version": object.version,
        "commit": object.commit,
        "synced": verdict(&object.synced),
        "healthy": verdict(&object.healthy),
        "rewritten": object.rewritten,
    })
}

fn verdict(verdict: &Verdict) -> Value {
    json!({
        "status": verdict.answer.as_str(),
        "reason": verdict.reason,
        "message": verdict.message,
        "since": verdict.since.map(Moment::rfc3339),
    })
}

/// For people: every Source, and the objects that are not both Synced and Healthy, or `all`.
pub(crate) fn text(look: &Look<'_>, all_sources: &[SourceStatus], all: bool) -> String {
    let mut columns = Columns::new(["SOURCE", "SYNCED", "HEALTHY", "SEEN", "APPLIED", "SINCE", "WHY"]);
    for (source, status) in look.sources.iter().zip(all_sources) {
        let applied = source.found.as_ref().map(|found| found.record.commit.short().to_owned());
        columns.push([
            source.spec.name.to_string(),
            answer(&status.synced),
            answer(&status.healthy),
            source.seen.as_ref().map_or_else(|_| "(not read)".to_owned(), |(commit, _)| commit.short().to_owned()),
            applied.unwrap_or_default(),
            moment(status.synced.since),
            why(&status.synced, &status.healthy),
        ]);
    }
    let mut lines = columns.lines();
    let mut objects = Columns::new(["SOURCE", "OBJECT", "SYNCED", "HEALTHY", "SINCE", "WHY"]);
    let (mut rows, mut fine) = (0, 0);
    for (source, status) in look.sources.iter().zip(all_sources) {
        for object in &status.objects {
            if !all && object.synced.answer == Answer::True && object.healthy.answer == Answer::True {
                fine += 1;
                continue;
            }
            rows += 1;
            objects.push([
                source.spec.name.to_string(),
                id(&object.id),
                answer(&object.synced),
                answer(&object.healthy),
                moment(object.synced.since.or(object.healthy.since)),
                why(&object.synced, &object.healthy),
            ]);
        }
    }
    let holds = look.sources.iter().flat_map(|source| {
        let name = &source.spec.name;
        let text = |what: &str, by: &Actor, reason: &str, until: Option<Moment>| {
            escape(&format!("Source {name} is {what} by {by}, {}: {reason}", ending(until))).into_owned()
        };
        let pause = source.pause.as_ref().map(|p| text("paused", &p.by, &p.reason, p.until));
        let to = |pin: &Pin| format!("pinned to commit {}", pin.commit.short());
        let pin = source.pin.as_ref().map(|p| text(&to(p), &p.by, &p.reason, p.until));
        pause.into_iter().chain(pin)
    });
    lines.extend(holds);
    if rows > 0 {
        lines.push(String::new());
        lines.extend(objects.lines());
    }
    lines.extend(rewritten(all_sources));
    if fine > 0 {
        let text = if fine == 1 { "1 object is".to_owned() } else { format!("{fine} objects are") };
        lines.extend([String::new(), format!("{text} both Synced and Healthy (-v lists all)")]);
    }
    let version = look.version.as_ref().map_or_else(String::new, |version| format!(", version {}", escape(version)));
    lines.extend([String::new(), format!("target {}{version}", look.identity)]);
    lines.join("\n") + "\n"
}

/// What stands otherwise than declared and is no drift, object by object.
fn rewritten(all: &[SourceStatus]) -> Vec<String> {
    let mut lines = Vec::new();
    for object in all.iter().flat_map(|source| &source.objects).filter(|object| !object.rewritten.is_empty()) {
        let paths: Vec<&str> = object.rewritten.iter().map(|path| path.as_str()).collect();
        let text = format!("{}: rewritten by the target: {}", object.id, paths.join(", "));
        lines.push(escape(&shorten(&text, LINE)).into_owned());
    }
    let more = lines.len().saturating_sub(REWRITTEN_SHOWN);
    if more > 0 {
        lines.truncate(REWRITTEN_SHOWN);
        lines.push(format!("{more} objects more are rewritten by the target: -o json lists all"));
    }
    if lines.is_empty() { lines } else { [vec![String::new()], lines].concat() }
}

/// The answer, with its reason where it isn't yes.
fn answer(verdict: &Verdict) -> String {
    match verdict.answer {
        Answer::True => verdict.answer.as_str().to_owned(),
        other => format!("{} ({})", other.as_str(), escape(&verdict.reason)),
    }
}

fn why(synced: &Verdict, healthy: &Verdict) -> String {
    let not = [synced, healthy].into_iter().filter(|verdict| verdict.answer != Answer::True);
    let mut all: Vec<&str> = not.map(|verdict| verdict.message.as_str()).collect();
    all.dedup();
    escape(&shorten(&all.join("; "), CELL)).into_owned()
}
