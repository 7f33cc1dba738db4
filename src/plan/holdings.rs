//! What deletes would take along: contents of Namespaces and definitions, and dependents whose every owner goes.

use std::collections::{BTreeMap, BTreeSet};

use super::kinds;
use crate::base::ids::ObjectUid;
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::{GroupKind, ResourceId};
use crate::target::Head;

/// Everything that could be taken along, by where it lies, its kind and its owners.
pub(super) struct Holdings<'a> {
    by_namespace: HashMap<&'a str, Vec<&'a Head>>,
    by_kind: HashMap<(&'a str, &'a str), Vec<&'a Head>>,
    by_owner: HashMap<&'a ObjectUid, Vec<&'a Head>>,
    uids: HashSet<&'a ObjectUid>,
}

impl<'a> Holdings<'a> {
    /// Indexes heads.
    pub(super) fn new(heads: impl IntoIterator<Item = &'a Head>) -> Self {
        let mut all: Vec<&Head> = heads.into_iter().collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all.dedup_by(|a, b| a.id == b.id);
        let mut holdings = Self {
            by_namespace: HashMap::default(),
            by_kind: HashMap::default(),
            by_owner: HashMap::default(),
            uids: all.iter().map(|h| &h.uid).collect(),
        };
        for head in all {
            if let Some(namespace) = &head.id.namespace {
                holdings.by_namespace.entry(namespace).or_default().push(head);
            }
            holdings.by_kind.entry((&head.id.group, &head.id.kind)).or_default().push(head);
            for owner in &head.owners {
                holdings.by_owner.entry(owner).or_default().push(head);
            }
        }
        holdings
    }

    /// Everything that a delete of `head` takes along, by resource, of what is not in `gone` yet; all of it is then.
    ///
    /// Deletes are asked in their order: what two owners hold goes with the later one.
    pub(super) fn take(
        &self,
        head: &'a Head,
        defines: Option<&GroupKind>,
        gone: &mut HashSet<&'a ObjectUid>,
    ) -> Vec<&'a Head> {
        gone.insert(&head.uid);
        let mut queue: Vec<&'a Head> = Vec::new();
        if head.id.is_namespace() {
            queue.extend(self.by_namespace.get(head.id.name.as_str()).into_iter().flatten());
        }
        if let Some(kind) = defines {
            queue.extend(self.by_kind.get(&(kind.group.as_str(), kind.kind.as_str())).into_iter().flatten());
        }
        queue.extend(self.dependents(&head.uid, gone));
        let mut taken: BTreeMap<&ResourceId, &'a Head> = BTreeMap::new();
        while let Some(next) = queue.pop() {
            if gone.insert(&next.uid) {
                taken.insert(&next.id, next);
                queue.extend(self.dependents(&next.uid, gone));
            }
        }
        taken.into_values().collect()
    }

    /// What an object owns, alone or with others that are gone. An owner that doesn't exist holds nothing back.
    fn dependents(&self, uid: &ObjectUid, gone: &HashSet<&ObjectUid>) -> Vec<&'a Head> {
        let all = self.by_owner.get(uid).into_iter().flatten();
        all.filter(|h| h.owners.iter().all(|o| gone.contains(o) || !self.uids.contains(o))).copied().collect()
    }
}

/// What judging a delete's holdings came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holds {
    /// Everything that goes along goes in the same plan or was allowed; all of it, sorted.
    Free(Vec<ResourceId>),
    /// These stand in the way, sorted.
    Held(Vec<ResourceId>),
}

/// One delete, as its holdings are judged.
pub(super) struct Deleting<'a, 'b> {
    /// What it would take along that an earlier delete has not.
    pub(super) taken: &'b [&'a Head],
    /// The deletes of the same plan.
    pub(super) deleted: &'b BTreeSet<ResourceId>,
    /// Tells an object that a Source owns or names: such a one is never taken along unasked, whatever is allowed.
    pub(super) owned: &'b dyn Fn(&Head) -> bool,
    /// What is declared and would lie in it, live or not.
    pub(super) declared: &'b [ResourceId],
    /// How many objects of nobody's may go along.
    pub(super) allowed: Option<usize>,
    /// Whether it is a Namespace or a definition.
    pub(super) is_container: bool,
}

impl Deleting<'_, '_> {
    /// Judges what the delete would take along.
    pub(super) fn judge(&self) -> Holds {
        let (mut held, mut nobodys): (BTreeSet<&ResourceId>, BTreeSet<&ResourceId>) = Default::default();
        held.extend(self.declared);
        let chained = self.chained();
        for head in self.taken {
            if self.deleted.contains(&head.id) {
                continue;
            }
            let is_claim = kinds::is_claim(&head.id);
            if (self.owned)(head) {
                held.insert(&head.id);
            } else if is_claim
                || (self.is_container && !kinds::is_control_planes_own(&head.id) && !chained.contains(&head.uid))
            {
                nobodys.insert(&head.id);
            }
        }
        if held.is_empty() && nobodys.len() <= self.allowed.unwrap_or(0) {
            return Holds::Free(self.taken.iter().map(|h| h.id.clone()).collect());
        }
        held.extend(nobodys);
        Holds::Held(held.into_iter().cloned().collect())
    }

    /// What a controller chain leads back to an object that goes anyway is its own affair; but claims hold data.
    fn chained(&self) -> HashSet<&ObjectUid> {
        let mut chained: HashSet<&ObjectUid> =
            self.taken.iter().filter(|h| self.deleted.contains(&h.id)).map(|h| &h.uid).collect();
        loop {
            let before = chained.len();
            // The controller stands first among the owners.
            let next =
                self.taken.iter().filter(|h| h.controlled && h.owners.first().is_some_and(|o| chained.contains(o)));
            let next: Vec<&ObjectUid> = next.map(|h| &h.uid).collect();
            chained.extend(next);
            if chained.len() == before {
                return chained;
            }
        }
    }
}
