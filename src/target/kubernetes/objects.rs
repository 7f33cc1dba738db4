//! Reads objects: by name where few are asked for, by list where many are, a bounded number at a time.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::Value;

use super::connection::Connection;
use super::discovery::{Discovery, Served};
use super::request::{Ask, Failed, JSON, METADATA, METADATA_LIST};
use crate::base::ids::ObjectUid;
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::{GroupKind, ResourceId};
use crate::inventory::OwnerMark;
use crate::source::spec::ServiceAccount;
use crate::target::{Head, TargetError};

/// How many reads are under way at once.
const IN_FLIGHT: usize = 16;
/// So many objects of one kind in one namespace are read by name; more are listed.
pub(super) const BY_NAME: usize = 8;
/// How many objects a page of a list has.
const PAGE: usize = 500;
/// Most objects of one list: a larger one is refused rather than held.
const MOST: usize = 500_000;

/// How much of objects is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Their metadata.
    Head,
    /// All of them.
    Whole,
}

/// How objects are read, where it matters.
#[derive(Debug, Clone, Default)]
pub(super) struct Manner {
    /// In which API version.
    pub(super) versions: HashMap<ResourceId, String>,
    /// As which account; else as our own.
    pub(super) accounts: HashMap<ResourceId, ServiceAccount>,
}

/// What is read at once: a kind, in a namespace, in a version, as an account.
type Group<'a> = (GroupKind, Option<&'a str>, Option<&'a str>, Option<&'a ServiceAccount>);

/// Those of `ids` that exist. "Not there" is only said of what the server says it of.
pub(super) async fn read(
    on: &Connection,
    ids: &[&ResourceId],
    depth: Depth,
    manner: &Manner,
    sure: &HashSet<ResourceId>,
) -> Result<HashMap<ResourceId, Value>, TargetError> {
    let mut discovery = on.discovery().await?;
    if ids.iter().any(|id| discovery.find(&id.group_kind(), None).is_none() && !discovery.is_broken(&id.group)) {
        // A kind may have come since.
        discovery = on.discover().await?;
    }
    let mut groups: BTreeMap<Group<'_>, Vec<&ResourceId>> = BTreeMap::new();
    for id in ids {
        let version = manner.versions.get(*id).map(String::as_str);
        let key = (id.group_kind(), id.namespace.as_deref(), version, manner.accounts.get(*id));
        groups.entry(key).or_default().push(id);
    }
    let mut work = Vec::new();
    for ((kind, namespace, version, account), ids) in groups {
        let Some(served) = discovery.find(&kind, version) else {
            if discovery.is_broken(&kind.group) {
                return Err(broken(on, &kind.group));
            }
            // A kind that isn't served has no objects.
            continue;
        };
        if served.namespaced != namespace.is_some() {
            continue;
        }
        if ids.len() > BY_NAME && served.can("list") {
            work.push(Work::List(served.clone(), namespace.map(str::to_owned), ids, account));
        } else {
            work.extend(ids.into_iter().map(|id| Work::Get(served.clone(), id, account)));
        }
    }
    let parts = stream::iter(work.into_iter().map(|work| work.run(on, depth, sure)))
        .buffer_unordered(IN_FLIGHT)
        .try_collect::<Vec<_>>();
    Ok(parts.await?.into_iter().flatten().collect())
}

enum Work<'a> {
    Get(Served, &'a ResourceId, Option<&'a ServiceAccount>),
    List(Served, Option<String>, Vec<&'a ResourceId>, Option<&'a ServiceAccount>),
}

impl Work<'_> {
    async fn run(
        self,
        on: &Connection,
        depth: Depth,
        sure: &HashSet<ResourceId>,
    ) -> Result<Vec<(ResourceId, Value)>, TargetError> {
        match self {
            Self::Get(served, id, account) => {
                Ok(get(on, &served, id, (depth, account)).await?.into_iter().map(|v| (id.clone(), v)).collect())
            }
            Self::List(served, namespace, ids, account) => {
                let mut wanted: HashMap<&str, &ResourceId> = ids.iter().map(|id| (id.name.as_str(), *id)).collect();
                let mut found = Vec::with_capacity(ids.len());
                list(on, &served, namespace.as_deref(), (depth, account), |object| {
                    if let Some(id) = name(&object).and_then(|name| wanted.remove(name)) {
                        found.push((id.clone(), object));
                    }
                })
                .await?;
                // A list that lacks what is owned would have it forgotten: that is asked for by name.
                for id in wanted.into_values().filter(|id| sure.contains(*id)) {
                    found.extend(get(on, &served, id, (depth, account)).await?.map(|object| (id.clone(), object)));
                }
                Ok(found)
            }
        }
    }
}

/// One object; `None` if the server says that there is none.
pub(super) async fn get(
    on: &Connection,
    served: &Served,
    id: &ResourceId,
    (depth, account): (Depth, Option<&ServiceAccount>),
) -> Result<Option<Value>, TargetError> {
    let accept = if depth == Depth::Head { METADATA } else { JSON };
    match on.send(&Ask::get(served.url(id), accept).acting(account)).await {
        Ok(answer) => parse(on, &answer.body).map(|object| Some(typed(object, served, &id.kind))),
        Err(Failed::Status(status)) if status.code == 404 => Ok(None),
        Err(failed) => Err(on.unavailable(&format!("{id} can't be read"), &failed)),
    }
}

/// Every object of a kind, in a namespace or all, page by page.
pub(super) async fn list(
    on: &Connection,
    served: &Served,
    namespace: Option<&str>,
    (depth, account): (Depth, Option<&ServiceAccount>),
    mut each: impl FnMut(Value),
) -> Result<(), TargetError> {
    let accept = if depth == Depth::Head { METADATA_LIST } else { JSON };
    let base = served.list_url(namespace);
    let mut token = String::new();
    let mut count = 0;
    loop {
        let more =
            if token.is_empty() { String::new() } else { format!("&continue={}", super::request::escaped(&token)) };
        let answer = on.send(&Ask::get(format!("{base}?limit={PAGE}{more}"), accept).acting(account)).await;
        let answer = match answer {
            Ok(answer) => answer,
            // A kind that went since has no objects; one that is served and can't be found is a failure like any other.
            Err(failed) if failed.code() == Some(404) && !on.discover().await?.serves(served) => return Ok(()),
            Err(failed) => return Err(on.unavailable(&format!("{} can't be listed", served.plural), &failed)),
        };
        let mut page = parse(on, &answer.body)?;
        token = page.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = page.get("kind").and_then(Value::as_str).unwrap_or_default();
        let kind = kind.strip_suffix("List").unwrap_or_default().to_owned();
        match page.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => {
                count += items.len();
                if count > MOST {
                    return Err(on.damaged(format!("there are more than {MOST} {}", served.plural)));
                }
                items.into_iter().for_each(|item| each(typed(item, served, &kind)));
            }
            Some(Value::Null) => {}
            _ => return Err(on.damaged(format!("the list of {} has no items", served.plural))),
        }
        if token.is_empty() {
            return Ok(());
        }
    }
}

fn parse(on: &Connection, body: &[u8]) -> Result<Value, TargetError> {
    super::request::object(body).map_err(|e| on.damaged(format!("an answer can't be read: {e}")))
}

/// Items of lists don't say what they are; what comes without a body says that it is one without.
fn typed(mut object: Value, served: &Served, kind: &str) -> Value {
    if let Value::Object(map) = &mut object {
        if kind != "PartialObjectMetadata" {
            map.insert("kind".to_owned(), kind.into());
        }
        map.insert("apiVersion".to_owned(), served.api_version().into());
    }
    object
}

fn name(object: &Value) -> Option<&str> {
    object.pointer("/metadata/name").and_then(Value::as_str)
}

/// The identity of an object; `None` of what has no UID, such as metrics: it isn't stored.
pub(super) fn head(id: ResourceId, object: &Value) -> Option<Head> {
    let metadata = object.get("metadata")?;
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let uid = ObjectUid::parse(text("uid")).ok()?;
    let references = metadata.get("ownerReferences").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_controller = |owner: &Value| owner.get("controller").and_then(Value::as_bool).unwrap_or(false);
    let mut owners: Vec<&Value> = references.iter().collect();
    owners.sort_by_key(|owner| !is_controller(owner));
    Some(Head {
        id,
        uid,
        version: text("resourceVersion").to_owned(),
        mark: OwnerMark::of(object),
        controlled: owners.first().is_some_and(|owner| is_controller(owner)),
        owners: owners.iter().filter_map(|owner| ObjectUid::parse(owner.get("uid")?.as_str()?).ok()).collect(),
    })
}

/// The identities of everything in a namespace, sorted. Events aren't listed: they only tell of other objects. A group
/// that can't be asked stands for itself, under the name `*`: whoever deletes the namespace must know that more is in it.
pub(super) async fn in_namespace(on: &Connection, namespace: &str) -> Result<Vec<Head>, TargetError> {
    let discovery = on.discover().await?;
    let kinds: Vec<(GroupKind, Served)> =
        discovery.namespaced().filter(|(kind, _)| kind.kind != "Event").map(|(k, s)| (k.clone(), s.clone())).collect();
    let work =
        kinds.into_iter().map(|(kind, served)| async move { heads_of(on, &kind, &served, Some(namespace)).await });
    let parts = stream::iter(work).buffer_unordered(IN_FLIGHT).try_collect::<Vec<_>>().await?;
    let mut all: Vec<Head> = parts.into_iter().flatten().collect();
    for group in discovery.broken() {
        let (kind, namespace, name) = ("*".to_owned(), Some(namespace.to_owned()), "*".to_owned());
        all.push(Head {
            id: ResourceId { group: group.to_owned(), kind, namespace, name },
            uid: ObjectUid::unwritten(),
            version: String::new(),
            mark: Ok(None),
            owners: Vec::new(),
            controlled: false,
        });
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(all)
}

/// The identities of all objects of a kind, in a namespace or all, sorted.
pub(super) async fn of_kind(
    on: &Connection,
    kind: &GroupKind,
    namespace: Option<&str>,
) -> Result<Vec<Head>, TargetError> {
    let mut discovery: std::sync::Arc<Discovery> = on.discovery().await?;
    if discovery.find(kind, None).is_none() {
        discovery = on.discover().await?;
    }
    let Some(served) = discovery.find(kind, None) else {
        return if discovery.is_broken(&kind.group) { Err(broken(on, &kind.group)) } else { Ok(Vec::new()) };
    };
    let mut all = heads_of(on, kind, served, namespace).await?;
    all.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(all)
}

async fn heads_of(
    on: &Connection,
    kind: &GroupKind,
    served: &Served,
    namespace: Option<&str>,
) -> Result<Vec<Head>, TargetError> {
    let mut found = Vec::new();
    list(on, served, namespace, (Depth::Head, None), |object| {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let id = ResourceId {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_default(),
        };
        found.extend(head(id, &object));
    })
    .await?;
    Ok(found)
}

fn broken(on: &Connection, group: &str) -> TargetError {
    TargetError::Unavailable {
        target: on.shown.clone(),
        reason: format!("the API group {group:?} can't be asked what it serves, so its objects can't be read"),
    }
}
