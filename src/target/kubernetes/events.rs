//! Events: what an apply or the loop tells, at a Source's own record and at its objects.
//!
//! One that is told again is counted and not made anew: its name says what it tells. The API server forgets them after an
//! hour. They only tell: what can't be written is said and fails nothing.

use std::collections::HashMap;

use http::Method;
use serde_json::{Value, json};

use super::connection::Connection;
use super::request::{Ask, Failed, JSON, MERGE_PATCH, escaped};
use super::state::{Store, source_name};
use crate::base::clock::Moment;
use crate::base::digest;
use crate::base::text;
use crate::source::spec::ServiceAccount;
use crate::target::{Notice, TargetError};

/// So many are written at a time.
const MOST: usize = 50;
/// Longest text; the API server takes a kilobyte.
const LONGEST: usize = 800;
/// Who reports.
const REPORTER: &str = "holdfast.dev/holdfast";

/// Writes Events; what could not be written, for people.
pub(super) async fn tell(on: &Connection, notices: &[Notice]) -> Vec<String> {
    match try_tell(on, notices).await {
        Ok(failed) => failed,
        Err(error) => vec![format!("Events can't be written: {error}")],
    }
}

async fn try_tell(on: &Connection, notices: &[Notice]) -> Result<Vec<String>, TargetError> {
    let mut failed = Vec::new();
    if notices.is_empty() {
        return Ok(failed);
    }
    let heads = Store { on }.heads().await?;
    let sources: HashMap<&str, Value> = heads
        .iter()
        .map(|(head, object)| {
            let regarding = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": source_name(&head.record.id),
                "namespace": on.state_namespace, "uid": object.pointer("/metadata/uid")});
            (head.record.name.as_str(), regarding)
        })
        .collect();
    let discovery = on.discovery().await?;
    for notice in notices.iter().take(MOST) {
        let (regarding, account) = match &notice.about {
            // A Source that was never applied has no record that could be told of.
            None => (sources.get(notice.source.as_str()).cloned(), None),
            Some(about) => {
                let served = discovery.find(&about.id.group_kind(), None);
                // What is in no Namespace is told at the Source alone.
                let regarding = served.zip(about.id.namespace.as_ref()).map(|(served, namespace)| {
                    let (kind, name) = (&about.id.kind, &about.id.name);
                    json!({"apiVersion": served.api_version(), "kind": kind, "name": name, "namespace": namespace, "uid": about.uid})
                });
                (regarding, about.account.as_ref())
            }
        };
        let Some(regarding) = regarding else { continue };
        match write(on, &event(notice, &regarding, on.clock.now()), account).await {
            Ok(()) => {}
            // The Namespace is gone, or was taken back.
            Err(error) if error.code() == Some(404) => {}
            Err(error) => {
                failed.push(format!("an Event can't be written: {}", error.text()));
                // Where the server isn't there, or takes none, the next would fail too.
                break;
            }
        }
    }
    Ok(failed)
}

/// An Event whose name is what it tells, and of whom.
fn event(notice: &Notice, regarding: &Value, now: Moment) -> Value {
    let Notice { reason, action, warning, commit, plan, .. } = notice;
    let told = digest::of_value(&json!([regarding, reason, notice.text, commit, plan]));
    let name = format!("holdfast.{}", told.as_str().get(..20).unwrap_or_default());
    let short = |text: &str| text.get(..10).unwrap_or(text).to_owned();
    let at = [
        commit.as_deref().map(|c| format!("commit {}", short(c))),
        plan.as_ref().map(|p| format!("plan {}", short(p.as_str()))),
    ];
    let at: Vec<String> = at.into_iter().flatten().collect();
    let at = if at.is_empty() { String::new() } else { format!(" ({})", at.join(", ")) };
    let mut annotations = json!({});
    if let Some(commit) = commit {
        annotations["holdfast.dev/commit"] = commit.as_str().into();
    }
    if let Some(plan) = plan {
        annotations["holdfast.dev/plan"] = plan.as_str().into();
    }
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": regarding["namespace"], "annotations": annotations},
        "eventTime": now.rfc3339_micros(),
        "reportingController": REPORTER,
        "reportingInstance": "holdfast",
        "type": if *warning { "Warning" } else { "Normal" },
        "action": action,
        "reason": reason,
        "regarding": regarding,
        "note": format!("{}{at}", cut(&text::escape(&notice.text))),
    })
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let more = if end < text.len() { "..." } else { "" };
    format!("{}{more}", &text[..end])
}

async fn write(on: &Connection, event: &Value, account: Option<&ServiceAccount>) -> Result<(), Failed> {
    let part = |at: &str| event.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let all = format!("/apis/events.k8s.io/v1/namespaces/{}/events", escaped(part("/metadata/namespace")));
    let one = format!("{all}/{}", escaped(part("/metadata/name")));
    let url = format!("{all}?fieldManager=holdfast");
    match on.send(&Ask::send(Method::POST, url, JSON, event).acting(account)).await {
        Ok(_) => Ok(()),
        Err(failed) if failed.code() == Some(409) => {
            // It was told before.
            let there = on.send(&Ask::get(one.clone(), JSON).acting(account)).await?;
            let there: Value = serde_json::from_slice(&there.body).unwrap_or_default();
            let count = there.pointer("/series/count").and_then(Value::as_i64).unwrap_or(1);
            let series = json!({"series": {"count": count.saturating_add(1), "lastObservedTime": event["eventTime"]}});
            let url = format!("{one}?fieldManager=holdfast");
            on.send(&Ask::send(Method::PATCH, url, MERGE_PATCH, &series).acting(account)).await.map(drop)
        }
        Err(failed) => Err(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::SourceName;

    #[test]
    fn an_event_is_short_and_harmless_and_named_by_what_it_tells() {
        let source = SourceName::parse("shop").unwrap();
        let regarding = json!({"kind": "ConfigMap", "name": "c", "namespace": "shop"});
        let told = |text: &str| {
            let notice = Notice::new(&source, "Applied", "Apply", text);
            event(&notice, &regarding, Moment::from_millis(1_234))
        };
        let one = told("a\u{1b}[31m\u{202e}b\n");
        assert_eq!(one["note"], "a\\x1b[31m\\u{202e}b\\n");
        assert_eq!(one["eventTime"], "1970-01-01T00:00:01.234000Z");
        assert_eq!(one, told("a\u{1b}[31m\u{202e}b\n"));
        assert_ne!(one["metadata"]["name"], told("b")["metadata"]["name"]);
        assert!(told(&"é".repeat(5000))["note"].as_str().unwrap().len() < 1000);
    }
}
