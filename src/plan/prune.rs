//! What becomes of an object that its Source no longer declares. Pure; every way out but one is a keep.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::kinds;
use super::ownership::{MarkState, Ownership, UidState, ownership};
use crate::base::fault::RuleId;
use crate::base::ids::{ObjectUid, SourceId, SourceName};
use crate::base::resource::ResourceId;
use crate::inventory::{LiveIdentity, PrunePermission, PruneWarrant, Row, SourceRecord};
use crate::target::{Head, Live};

/// A protected object, or a Namespace or definition that holds more than goes in the same plan.
pub const PROTECTED_DELETE: RuleId = RuleId::new("protected-delete");
/// Another Source of the configuration declares the object.
pub const WANTED_BY_OTHER: RuleId = RuleId::new("wanted-by-other");
/// Pruning is off for the Source.
pub const PRUNE_OFF: RuleId = RuleId::new("prune-off");
/// The manifest said `holdfast.dev/prune: keep`.
pub const PRUNE_KEEP: RuleId = RuleId::new("prune-keep");
/// The Source's scope no longer reaches the object.
pub const OUT_OF_SCOPE: RuleId = RuleId::new("out-of-scope");
/// A Source that might want the object could not be read.
pub const OTHERS_UNKNOWN: RuleId = RuleId::new("others-unknown");
/// The object doesn't exist any more.
pub const ALREADY_GONE: RuleId = RuleId::new("already-gone");
/// The person who applies lets the object go.
pub const RELEASED: RuleId = RuleId::new("released");

/// What a removal is judged by, besides the row and the live object.
pub struct PruneRules<'a> {
    /// The Source.
    pub source: &'a SourceId,
    /// Whether it prunes.
    pub prune: bool,
    /// Sources that the target knows.
    pub known: &'a [SourceRecord],
    /// Whether the Source's scope reaches a resource.
    pub in_scope: &'a dyn Fn(&ResourceId) -> bool,
    /// Which other Source of the configuration declares it; an error names one that could not be read.
    pub wanted_by: &'a dyn Fn(&ResourceId) -> Result<Option<SourceName>, String>,
    /// Permissions by name (`--allow ID`), with the number of nobody's objects that may go along.
    pub allowed: &'a BTreeMap<ResourceId, usize>,
    /// Whether manifests may give the permission to prune protected kinds.
    pub permit_prune: bool,
    /// Objects to let go (`--release ID`).
    pub release: &'a BTreeSet<ResourceId>,
}

/// What becomes of one removal.
#[derive(Debug, Clone)]
pub enum Removal {
    /// Deleted, if all that it holds goes too.
    Delete(PruneWarrant),
    /// Kept; the row stays.
    Keep {
        /// The rule.
        rule: RuleId,
        /// Why, and what to do.
        reason: String,
    },
    /// Kept, and the row ends: the object isn't ours.
    Disown {
        /// The rule.
        rule: RuleId,
        /// Why, and what to do.
        reason: String,
    },
    /// The row ends because the object is gone.
    Gone,
    /// The owner mark is taken off and the row ends, as asked.
    Release,
}

/// Judges one removal by itself; what it would take along is judged by [`judge_holds`].
pub fn judge(rules: &PruneRules<'_>, row: &Row, head: Option<&Head>, live: Option<&Live>) -> Removal {
    let Some(head) = head else { return Removal::Gone };
    let mark = MarkState::of(head, rules.source, rules.known);
    match ownership(&mark, UidState::of(Some(row), head)) {
        Ownership::Ours => {}
        Ownership::Unowned { rule, reason } => {
            return Removal::Disown { rule, reason: format!("{reason}; delete it by hand if it isn't needed") };
        }
        Ownership::Theirs { reason, .. } => {
            return Removal::Disown { rule: super::ownership::OWNER_MISMATCH, reason };
        }
        Ownership::Unreadable => {
            return Removal::Disown {
                rule: super::ownership::OWNER_MISMATCH,
                reason: "its owner mark can't be read; delete it by hand if it isn't needed".to_owned(),
            };
        }
    }
    if rules.release.contains(&row.id) {
        return Removal::Release;
    }
    match (rules.wanted_by)(&row.id) {
        Ok(None) => {}
        Ok(Some(other)) => {
            return keep(WANTED_BY_OTHER, format!("wanted by {other}; plan both Sources together to transfer it"));
        }
        Err(reason) => return keep(OTHERS_UNKNOWN, reason),
    }
    if !(rules.in_scope)(&row.id) {
        return keep(
            OUT_OF_SCOPE,
            "the Source's scope no longer reaches it; widen the scope, or release it".to_owned(),
        );
    }
    if !rules.prune {
        return keep(PRUNE_OFF, "prune is off; set prune: true, or delete it by hand".to_owned());
    }
    let allowed = rules.allowed.contains_key(&row.id);
    if row.permissions.prune == PrunePermission::Keep && !allowed {
        return keep(PRUNE_KEEP, format!("its manifest said holdfast.dev/prune: keep; --allow {} deletes it", row.id));
    }
    let by_manifest = rules.permit_prune && row.permissions.prune == PrunePermission::Allow;
    if let Some(why) = kinds::protected(&row.id, live.map(|l| &l.object))
        && !allowed
        && !by_manifest
    {
        return keep(PROTECTED_DELETE, format!("{why}; --allow {} deletes it", row.id));
    }
    let identity = LiveIdentity { id: &head.id, uid: &head.uid, mark: &head.mark };
    match PruneWarrant::issue(rules.source, row, &identity) {
        Ok(warrant) => Removal::Delete(warrant),
        // The table above and the warrant judge the same three things; should they ever differ, nothing is deleted.
        Err(mismatch) => Removal::Disown { rule: super::ownership::OWNER_MISMATCH, reason: mismatch.to_string() },
    }
}

fn keep(rule: RuleId, reason: String) -> Removal {
    Removal::Keep { rule, reason }
}

/// What deletes would take along, read off the owner references and the contents of Namespaces and definitions.
pub struct Holdings<'a> {
    by_namespace: HashMap<&'a str, Vec<&'a Head>>,
    by_kind: HashMap<(&'a str, &'a str), Vec<&'a Head>>,
    by_owner: HashMap<&'a ObjectUid, Vec<&'a Head>>,
    uids: HashSet<&'a ObjectUid>,
}

impl<'a> Holdings<'a> {
    /// Indexes the heads of everything that could be taken along.
    pub fn new(heads: impl IntoIterator<Item = &'a Head>) -> Self {
        let mut all: Vec<&Head> = heads.into_iter().collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all.dedup_by(|a, b| a.id == b.id);
        let mut holdings = Self {
            by_namespace: HashMap::new(),
            by_kind: HashMap::new(),
            by_owner: HashMap::new(),
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

    /// Everything that a delete of `head` takes along: contents of a Namespace, objects of a definition (`defines`), and
    /// dependents whose every owner goes.
    pub fn taken_along(&self, head: &'a Head, defines: Option<(&str, &str)>) -> Vec<&'a Head> {
        let mut gone: HashSet<&ObjectUid> = HashSet::from([&head.uid]);
        let mut queue: Vec<&'a Head> = Vec::new();
        if kinds::is_namespace(&head.id) {
            queue.extend(self.by_namespace.get(head.id.name.as_str()).into_iter().flatten());
        }
        if let Some(kind) = defines {
            queue.extend(self.by_kind.get(&kind).into_iter().flatten());
        }
        queue.extend(self.dependents(&head.uid, &gone));
        let mut taken: BTreeMap<&ResourceId, &Head> = BTreeMap::new();
        while let Some(next) = queue.pop() {
            if gone.insert(&next.uid) {
                taken.insert(&next.id, next);
                queue.extend(self.dependents(&next.uid, &gone));
            }
        }
        taken.into_values().collect()
    }

    fn dependents(&self, uid: &ObjectUid, gone: &HashSet<&ObjectUid>) -> Vec<&'a Head> {
        let all = self.by_owner.get(uid).into_iter().flatten();
        // An owner that doesn't exist holds nothing back.
        all.filter(|h| h.owners.iter().all(|o| gone.contains(o) || !self.uids.contains(o))).copied().collect()
    }
}

/// What judging a delete's holdings came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// Everything that goes along goes in the same plan or was allowed; all of it, sorted.
    Free(Vec<ResourceId>),
    /// These stand in the way, sorted.
    Held(Vec<ResourceId>),
}

/// Judges what a delete would take along.
///
/// `deleted` are the deletes of the same plan; `owned` tells an object that a Source owns or declares: such a one is never
/// taken along unasked, whatever is allowed.
pub fn judge_holds(
    taken: &[&Head],
    deleted: &BTreeSet<ResourceId>,
    owned: &dyn Fn(&Head) -> bool,
    allowed: Option<usize>,
    is_container: bool,
) -> Holds {
    let (mut owned_by_others, mut nobodys) = (Vec::new(), Vec::new());
    // What a controller chain leads back to an object that goes anyway is its own affair, but claims hold data.
    let going: HashSet<&ObjectUid> = taken.iter().filter(|h| deleted.contains(&h.id)).map(|h| &h.uid).collect();
    let mut chained: HashSet<&ObjectUid> = going.clone();
    loop {
        let before = chained.len();
        let next: Vec<&ObjectUid> = taken
            .iter()
            .filter(|h| h.controlled && h.owners.iter().any(|o| chained.contains(o)))
            .map(|h| &h.uid)
            .collect();
        chained.extend(next);
        if chained.len() == before {
            break;
        }
    }
    for head in taken {
        if deleted.contains(&head.id) || kinds::is_control_planes_own(&head.id) {
            continue;
        }
        if owned(head) {
            owned_by_others.push(head.id.clone());
        } else if is_container && (kinds::is_claim(&head.id) || !chained.contains(&head.uid)) {
            nobodys.push(head.id.clone());
        } else if !is_container && kinds::is_claim(&head.id) {
            nobodys.push(head.id.clone());
        }
    }
    let free = owned_by_others.is_empty() && nobodys.len() <= allowed.unwrap_or(0);
    if free {
        return Holds::Free(taken.iter().map(|h| h.id.clone()).collect());
    }
    owned_by_others.append(&mut nobodys);
    owned_by_others.sort();
    Holds::Held(owned_by_others)
}
