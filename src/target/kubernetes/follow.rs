//! Follows what is written to the objects of a Source by watches of their metadata: get, list and watch alone.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use http_body::Body as _;
use kube::client::Body;
use serde_json::Value;

use super::connection::Connection;
use super::discovery::Served;
use super::request::{Ask, Failed, METADATA, METADATA_LIST, escaped, open};
use crate::base::resource::ResourceId;
use crate::base::text;
use crate::target::{Followed, Group, Told};

/// Between two looks at whether what is followed is another by now.
const LOOK: Duration = Duration::from_millis(500);
/// A watch ends by itself after so many seconds, and is begun anew where it stood.
const LASTS: u64 = 240;
/// Nothing heard for so long, not even its end: it is given up.
const SILENT: Duration = Duration::from_secs(LASTS + 30);
/// After a failure it waits so long, and twice as long each time.
const FIRST: Duration = Duration::from_secs(1);
/// But no longer than this.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest event: the metadata of one object.
const MOST: usize = 4 << 20;
/// How many objects a page of a list has.
const PAGE: usize = 500;

/// Why a watch ended.
enum Ended {
    /// It is begun anew where it stood.
    Over,
    /// The server has forgotten where it stood: all is listed anew.
    Forgotten,
    /// It failed.
    Failed(String),
}

/// Follows until nobody listens.
pub(super) async fn follow(on: &Connection, followed: &Followed) {
    let mut streams = FuturesUnordered::new();
    let mut running: BTreeSet<Group> = BTreeSet::new();
    while !followed.is_ended() {
        for group in followed.groups() {
            if running.insert(group.clone()) {
                streams.push(stream(on, followed, group));
            }
        }
        let next = async {
            match streams.next().await {
                Some(group) => group,
                None => std::future::pending().await,
            }
        };
        if let Ok(group) = tokio::time::timeout(LOOK, next).await {
            running.remove(&group);
        }
    }
}

/// Follows one group for as long as it is wanted.
async fn stream(on: &Connection, followed: &Followed, group: Group) -> Group {
    let (mut wait, mut version, mut deaf) = (FIRST, String::new(), false);
    let wanted = || followed.follows(&group);
    let shown = match &group.namespace {
        Some(namespace) => format!("{} in {namespace}", group.kind),
        None => group.kind.to_string(),
    };
    while wanted() {
        let begun = Instant::now();
        let heard = |deaf: &mut bool| {
            if std::mem::take(deaf) {
                followed.tell(Told::Hears(shown.clone()));
            }
        };
        match once(on, followed, &group, &mut version, &wanted, &mut || heard(&mut deaf)).await {
            Ended::Over => wait = FIRST,
            Ended::Forgotten => version.clear(),
            Ended::Failed(why) => {
                if !std::mem::replace(&mut deaf, true) {
                    followed.tell(Told::Deaf(format!("{shown}: {}", text::escape(&why))));
                }
                wait = (wait * 2).min(LONGEST);
            }
        }
        // However it ends, it isn't begun all the time.
        tokio::time::sleep(wait.saturating_sub(begun.elapsed())).await;
    }
    group
}

/// Lists where nothing is known, and watches from there.
async fn once(
    on: &Connection,
    followed: &Followed,
    group: &Group,
    version: &mut String,
    wanted: &impl Fn() -> bool,
    heard: &mut impl FnMut(),
) -> Ended {
    let served = match served(on, group).await {
        Ok(served) => served,
        Err(why) => return Ended::Failed(why),
    };
    let base = served.list_url(group.namespace.as_deref());
    let one = group.name.as_ref().map(|name| format!("&fieldSelector=metadata.name%3D{}", escaped(name)));
    let one = one.unwrap_or_default();
    if version.is_empty() {
        match list(on, followed, group, &format!("{base}?limit={PAGE}{one}")).await {
            Ok(at) => *version = at,
            Err(failed) => return Ended::Failed(failed),
        }
    }
    let url = format!(
        "{base}?watch=1&allowWatchBookmarks=true&timeoutSeconds={LASTS}&resourceVersion={}{one}",
        escaped(version)
    );
    let ask = Ask::get(url, METADATA).acting(followed.account());
    let mut lines = match open(on.client(), &ask).await {
        Ok(body) => Lines { body, rest: Vec::new() },
        Err(failed) if failed.code() == Some(410) => return Ended::Forgotten,
        Err(failed) => return Ended::Failed(failed.text()),
    };
    heard();
    let mut last = Instant::now();
    loop {
        if !wanted() {
            return Ended::Over;
        }
        let line = match tokio::time::timeout(LOOK, lines.next()).await {
            Ok(Ok(Some(line))) => line,
            // It ended, or the connection did: what it said last is known.
            Ok(Ok(None)) => return Ended::Over,
            Ok(Err(why)) => return Ended::Failed(why),
            Err(_) if last.elapsed() > SILENT => return Ended::Failed("nothing was heard".to_owned()),
            Err(_) => continue,
        };
        last = Instant::now();
        let Ok(event) = serde_json::from_slice::<Value>(&line) else {
            return Ended::Failed("an event can't be read".to_owned());
        };
        let object = event.get("object").unwrap_or(&Value::Null);
        match event.get("type").and_then(Value::as_str) {
            Some("ERROR") if object.get("code").and_then(Value::as_u64) == Some(410) => return Ended::Forgotten,
            Some("ERROR") => {
                return Ended::Failed(object.get("message").and_then(Value::as_str).unwrap_or_default().to_owned());
            }
            Some("ADDED" | "MODIFIED") => followed.saw(&id(group, object), at(object), stamp(object)),
            Some("DELETED") => followed.went(&id(group, object), at(object)),
            _ => {}
        }
        if !at(object).is_empty() {
            at(object).clone_into(version);
        }
    }
}

async fn served(on: &Connection, group: &Group) -> Result<Served, String> {
    for fresh in [false, true] {
        let found = if fresh { on.discover().await } else { on.discovery().await };
        let found = found.map_err(|e| e.to_string())?;
        if let Some(served) = found.find(&group.kind, None) {
            let can = served.can("list") && served.can("watch");
            return if can { Ok(served.clone()) } else { Err("it can't be watched".to_owned()) };
        }
    }
    Err("it isn't served".to_owned())
}

/// All of a group, page by page; the version from which to watch.
async fn list(on: &Connection, followed: &Followed, group: &Group, url: &str) -> Result<String, String> {
    let (mut names, mut token) = (BTreeSet::new(), String::new());
    loop {
        let more = if token.is_empty() { String::new() } else { format!("&continue={}", escaped(&token)) };
        let ask = Ask::get(format!("{url}{more}"), METADATA_LIST).acting(followed.account());
        let answer = on.send(&ask).await.map_err(|failed: Failed| failed.text())?;
        let page: Value = serde_json::from_slice(&answer.body).map_err(|e| format!("a list can't be read: {e}"))?;
        let items = page.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for object in items {
            let id = id(group, object);
            followed.saw(&id, at(object), stamp(object));
            names.insert(id.name);
        }
        let text = |at: &str| page.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        token = text("/metadata/continue");
        if token.is_empty() {
            followed.listed(group, &names);
            return Ok(text("/metadata/resourceVersion"));
        }
    }
}

fn id(group: &Group, object: &Value) -> ResourceId {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).map(str::to_owned);
    ResourceId {
        group: group.kind.group.clone(),
        kind: group.kind.kind.clone(),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name").unwrap_or_default(),
    }
}

fn at(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}

/// What of an object matters, as far as its metadata says: all but its status. What has no generation says it by those who
/// wrote it, not through a subresource; and where none is ever written through one, by its version.
fn stamp(object: &Value) -> u64 {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let mut hasher = DefaultHasher::new();
    for key in ["uid", "deletionTimestamp", "labels", "annotations", "ownerReferences", "finalizers", "generation"] {
        metadata.get(key).unwrap_or(&Value::Null).to_string().hash(&mut hasher);
    }
    if metadata.get("generation").is_none() {
        let entries = metadata.get("managedFields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let (through, whole): (Vec<&Value>, Vec<&Value>) = entries.iter().partition(|e| e.get("subresource").is_some());
        if through.is_empty() {
            at(object).hash(&mut hasher);
        } else {
            whole.iter().for_each(|entry| entry.to_string().hash(&mut hasher));
        }
    }
    // Zero is what is gone.
    hasher.finish().max(1)
}

/// The lines of an answer, each of a bounded length.
struct Lines {
    body: Body,
    rest: Vec<u8>,
}

impl Lines {
    /// The next line; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.drain(..=end).collect();
                return Ok(Some(line));
            }
            if self.rest.len() > MOST {
                return Err("an event is too long".to_owned());
            }
            let frame = std::future::poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(super::kubeconfig::chain(&error)),
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.rest.extend_from_slice(data);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_write_of_a_status_leaves_the_stamp_as_it_is_and_any_other_changes_it() {
        let object = |version: &str, more: Value| {
            let mut object = json!({"metadata": {"uid": "u", "resourceVersion": version}});
            object["metadata"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            stamp(&object)
        };
        // With a generation, by that.
        assert_eq!(object("1", json!({"generation": 1})), object("2", json!({"generation": 1})));
        assert_ne!(object("1", json!({"generation": 1})), object("2", json!({"generation": 2})));
        assert_ne!(object("1", json!({"generation": 1})), object("2", json!({"generation": 1, "labels": {"a": "b"}})));
        // Without one, by its version, or by who wrote it.
        assert_ne!(object("1", json!({})), object("2", json!({})));
        let status = json!({"manager": "m", "subresource": "status", "time": "2"});
        let with = |time: &str| json!({"managedFields": [{"manager": "m", "time": time}, status]});
        assert_eq!(object("1", with("1")), object("2", with("1")));
        assert_ne!(object("1", with("1")), object("2", with("2")));
    }
}
