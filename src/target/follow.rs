//! What a loop hears of the objects that its Source owns: that somebody else wrote one. Its own writes are no news.
//!
//! Pure bookkeeping: an adapter tells what it saw, the loop asks what is new. What is kept is bounded by what is owned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::base::resource::{GroupKind, ResourceId};
use crate::inventory::Row;
use crate::source::spec::ServiceAccount;

/// What an adapter has to say at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Somebody wrote this one.
    Written(ResourceId),
    /// What is written to these can't be heard for now: the interval alone counts.
    Deaf(String),
    /// It can be heard again.
    Hears(String),
}

/// What is followed at once: objects of a kind in a namespace, or a single one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// The kind.
    pub kind: GroupKind,
    /// The namespace.
    pub namespace: Option<String>,
    /// The only one that is owned.
    pub name: Option<String>,
}

/// What was seen of an object.
struct Seen {
    /// What matters of it, digested: a write of its status leaves this as it is.
    stamp: u64,
    /// The version at which that last changed.
    since: String,
    /// When that was, in the order of what is seen.
    at: u64,
}

struct Object {
    /// The version that our last apply left.
    written: String,
    seen: Option<Seen>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<ResourceId, Object>,
    groups: BTreeSet<Group>,
    moved: u64,
    ended: bool,
}

impl State {
    fn in_groups(&self) -> BTreeSet<Group> {
        let mut names: BTreeMap<(GroupKind, Option<&str>), Vec<&str>> = BTreeMap::new();
        for id in self.objects.keys() {
            names.entry((id.group_kind(), id.namespace.as_deref())).or_default().push(&id.name);
        }
        let group = |((kind, namespace), names): ((GroupKind, Option<&str>), Vec<&str>)| Group {
            kind,
            namespace: namespace.map(str::to_owned),
            name: if let [only] = names.as_slice() { Some((*only).to_owned()) } else { None },
        };
        names.into_iter().map(group).collect()
    }
}

/// The objects of one Source.
pub struct Followed {
    state: Mutex<State>,
    account: Option<ServiceAccount>,
    tell: Box<dyn Fn(Told) + Send + Sync>,
}

impl Followed {
    /// Nothing yet; read as `account`.
    pub fn new(account: Option<ServiceAccount>, tell: Box<dyn Fn(Told) + Send + Sync>) -> Self {
        Self { state: Mutex::default(), account, tell }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As which account it is read; `None` is our own.
    pub fn account(&self) -> Option<&ServiceAccount> {
        self.account.as_ref()
    }

    /// What the Source owns from now on.
    pub fn owns<'r>(&self, rows: impl Iterator<Item = &'r Row>) {
        let mut state = self.state();
        let mut before = std::mem::take(&mut state.objects);
        for row in rows {
            let seen = before.remove(&row.id).and_then(|object| object.seen);
            state.objects.insert(row.id.clone(), Object { written: row.version.clone(), seen });
        }
        state.groups = state.in_groups();
    }

    /// What has to be followed.
    pub fn groups(&self) -> BTreeSet<Group> {
        self.state().groups.clone()
    }

    /// Whether a group has to be followed still.
    pub fn follows(&self, group: &Group) -> bool {
        let state = self.state();
        !state.ended && state.groups.contains(group)
    }

    /// An object is so now.
    pub fn saw(&self, id: &ResourceId, version: &str, stamp: u64) {
        self.moves(
            id,
            version,
            |seen, written| match seen {
                Some(seen) => seen.stamp != stamp,
                // The first look: as our own apply left it, it is no news.
                None => version != written,
            },
            stamp,
        );
    }

    /// An object is gone.
    pub fn went(&self, id: &ResourceId, version: &str) {
        self.moves(id, version, |seen, _| seen.is_none_or(|seen| seen.stamp != GONE), GONE);
    }

    /// All of a group that there is: what is owned and not among it is gone.
    pub fn listed(&self, group: &Group, names: &BTreeSet<String>) {
        let gone: Vec<ResourceId> = {
            let state = self.state();
            let of = |id: &&ResourceId| {
                id.group_kind() == group.kind
                    && id.namespace == group.namespace
                    && group.name.as_ref().is_none_or(|name| *name == id.name)
            };
            state.objects.keys().filter(of).filter(|id| !names.contains(&id.name)).cloned().collect()
        };
        gone.iter().for_each(|id| self.went(id, ""));
    }

    fn moves(&self, id: &ResourceId, version: &str, is_news: impl Fn(Option<&Seen>, &str) -> bool, stamp: u64) {
        let mut state = self.state();
        let next = state.moved + 1;
        let Some(object) = state.objects.get_mut(id) else { return };
        let news = is_news(object.seen.as_ref(), &object.written);
        if !news && object.seen.is_some() {
            return;
        }
        object.seen = Some(Seen { stamp, since: version.to_owned(), at: if news { next } else { 0 } });
        let of_others = news && version != object.written;
        if news {
            state.moved = next;
        }
        drop(state);
        if of_others {
            (self.tell)(Told::Written(id.clone()));
        }
    }

    /// Says something of the following itself.
    pub fn tell(&self, told: Told) {
        (self.tell)(told);
    }

    /// Where it stands: what is seen later is later than this.
    pub fn mark(&self) -> u64 {
        self.state().moved
    }

    /// One of the objects that somebody else wrote since.
    pub fn written_since(&self, mark: u64) -> Option<ResourceId> {
        let state = self.state();
        let is_news =
            |object: &Object| object.seen.as_ref().is_some_and(|seen| seen.at > mark && seen.since != object.written);
        state.objects.iter().find(|(_, object)| is_news(object)).map(|(id, _)| id.clone())
    }

    /// Nobody listens any more.
    pub fn end(&self) {
        self.state().ended = true;
    }

    /// Whether nobody listens any more.
    pub fn is_ended(&self) -> bool {
        self.state().ended
    }
}

/// The stamp of what is gone.
const GONE: u64 = 0;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn id(text: &str) -> ResourceId {
        ResourceId::parse(text).unwrap()
    }

    fn row(of: &str, version: &str) -> Row {
        let of = id(of);
        serde_json::from_value(json!({"id": {"group": of.group, "kind": of.kind, "namespace": of.namespace, "name": of.name},
            "uid": "11111111-1111-4111-8111-111111111111", "apiVersion": "v1", "file": "a.yaml", "line": 1, "wave": 0,
            "commit": "aa".repeat(20), "declared": "d".repeat(64), "fields": {}, "version": version, "seen": "e".repeat(64),
            "permissions": {}}))
        .unwrap()
    }

    fn followed() -> (Arc<Followed>, Arc<Mutex<Vec<String>>>) {
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let say = Arc::clone(&said);
        let tell = move |told| {
            if let Told::Written(id) = told {
                say.lock().unwrap().push(id.name);
            }
        };
        (Arc::new(Followed::new(None, Box::new(tell))), said)
    }

    const A: &str = "ConfigMap/shop/a";

    #[test]
    fn a_write_of_others_is_news_once_and_our_own_and_those_of_a_status_are_none() {
        let (followed, said) = followed();
        let told = || std::mem::take(&mut *said.lock().unwrap());
        followed.owns([row(A, "5")].iter());
        followed.saw(&id(A), "5", 1);
        followed.saw(&id(A), "6", 1);
        followed.saw(&id("ConfigMap/shop/of-others"), "7", 9);
        assert_eq!((told(), followed.written_since(0)), (vec![], None));
        followed.saw(&id(A), "8", 2);
        followed.saw(&id(A), "9", 2);
        assert_eq!(told(), ["a"]);
        // A tick begins, repairs it, and hears its own write, before or after the inventory says so.
        let mark = followed.mark();
        assert_eq!(followed.written_since(mark), None);
        followed.saw(&id(A), "10", 3);
        followed.owns([row(A, "10")].iter());
        followed.saw(&id(A), "11", 3);
        assert_eq!(followed.written_since(mark), None);
        told();
        followed.owns([row(A, "12")].iter());
        followed.saw(&id(A), "12", 4);
        assert_eq!((told(), followed.written_since(mark)), (vec![], None));
        // Somebody writes while a tick runs: it is asked for again.
        followed.saw(&id(A), "13", 5);
        assert_eq!((told(), followed.written_since(mark)), (vec!["a".to_owned()], Some(id(A))));
    }

    #[test]
    fn what_is_gone_is_news_once_also_by_a_list_and_what_changed_before_the_first_look_is() {
        let (followed, said) = followed();
        followed.owns([row(A, "5"), row("ConfigMap/shop/b", "5")].iter());
        let groups = followed.groups();
        let group = groups.first().unwrap();
        assert_eq!((groups.len(), &group.name), (1, &None));
        followed.saw(&id("ConfigMap/shop/b"), "6", 1);
        followed.listed(group, &BTreeSet::from(["b".to_owned()]));
        followed.went(&id(A), "7");
        assert_eq!(*said.lock().unwrap(), ["b", "a"]);
        assert_eq!(followed.written_since(followed.mark()), None);
        // What isn't owned any more is forgotten.
        followed.owns([row("ConfigMap/shop/b", "6")].iter());
        assert_eq!(followed.written_since(0), None);
        assert_eq!(followed.groups().first().unwrap().name.as_deref(), Some("b"));
    }
}
