//! What becomes of an object that its Source no longer declares. Pure; every way out but one is a keep.

use std::collections::{BTreeMap, BTreeSet};

use super::claim::RELEASED_TO;
use super::document::Purpose;
use super::kinds;
use super::ownership::{Gone, Marked, OWNER_MISMATCH, UID_MISMATCH, Uid, gone};
use super::wanted::{UNREADABLE_OBJECT, USED_OBJECT};
use crate::base::fault::RuleId;
use crate::base::ids::SourceId;
use crate::base::resource::ResourceId;
use crate::inventory::{LiveIdentity, PrunePermission, PruneWarrant, Row, SourceRecord};
use crate::target::{Head, Live};

/// A protected object, or a Namespace or definition that holds more than goes in the same plan.
pub(super) const PROTECTED_DELETE: RuleId = RuleId::new("protected-delete");
/// Another Source of the configuration declares the object.
pub(super) const WANTED_BY_OTHER: RuleId = RuleId::new("wanted-by-other");
/// Pruning is off for the Source.
pub(super) const PRUNE_OFF: RuleId = RuleId::new("prune-off");
/// The manifest said `holdfast.dev/prune: keep`.
pub(super) const PRUNE_KEEP: RuleId = RuleId::new("prune-keep");
/// The Source's scope no longer reaches the object.
pub(super) const OUT_OF_SCOPE: RuleId = RuleId::new("out-of-scope");
/// A Source that might want the object could not be read.
pub(super) const OTHERS_UNKNOWN: RuleId = RuleId::new("others-unknown");
/// The object doesn't exist any more.
pub(super) const ALREADY_GONE: RuleId = RuleId::new("already-gone");
/// The person who applies lets the object go.
pub(super) const RELEASED: RuleId = RuleId::new("released");

/// The Source is removed, and its objects stay.
pub(super) const ORPHANED: RuleId = RuleId::new("orphaned");

/// What a removal is judged by, besides the row and the live object.
pub(super) struct PruneRules<'a> {
    /// The Source.
    pub(super) source: &'a SourceId,
    /// What is planned of it.
    pub(super) purpose: Purpose,
    /// Whether it prunes.
    pub(super) prune: bool,
    /// Sources that the target knows.
    pub(super) known: &'a [SourceRecord],
    /// Whether the Source's scope reaches a resource.
    pub(super) in_scope: &'a dyn Fn(&ResourceId) -> bool,
    /// Which other Source of the configuration names it, as a sentence; an error tells of one that could not be read.
    pub(super) wanted_by: &'a dyn Fn(&ResourceId) -> Result<Option<String>, String>,
    /// Permissions by name (`--allow ID`), with the number of nobody's objects that may go along.
    pub(super) allowed: &'a BTreeMap<ResourceId, usize>,
    /// Whether manifests may give the permission to prune protected kinds.
    pub(super) permit_prune: bool,
    /// Objects to let go (`--release ID`).
    pub(super) release: &'a BTreeSet<ResourceId>,
    /// Whether a manifest of the Source says `holdfast.dev/use` of a resource.
    pub(super) used: &'a dyn Fn(&ResourceId) -> bool,
}

/// What becomes of one removal.
#[derive(Debug, Clone)]
pub(super) enum Removal {
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
    /// The same, since the Source is removed.
    Orphan,
}

/// Judges one removal by itself; what it would take along is judged by [`super::holdings`].
pub(super) fn judge(rules: &PruneRules<'_>, row: &Row, head: Option<&Head>, live: Option<&Live>) -> Removal {
    let Some(head) = head else { return Removal::Gone };
    let marked = Marked::of(head, rules.source, rules.known);
    let uid = Uid::of(Some(row), head);
    let disown = |rule| {
        let why = marked.why(uid);
        let by_hand = match marked {
            Marked::Other(_) | Marked::Unknown(_) => "",
            _ => "; delete it by hand if it isn't needed",
        };
        Removal::Disown { rule, reason: format!("{why}{by_hand}") }
    };
    match gone(marked.mark(), uid) {
        Gone::Ours => {}
        Gone::OtherUid => return disown(UID_MISMATCH),
        Gone::OtherMark => return disown(OWNER_MISMATCH),
        Gone::Unconcerned => return Removal::Gone,
    }
    if rules.release.contains(&row.id) {
        return Removal::Release;
    }
    if rules.purpose == Purpose::Orphan {
        return Removal::Orphan;
    }
    if (rules.used)(&row.id) {
        let reason =
            format!("its manifest says holdfast.dev/use, so it must be there; --release {} lets it go", row.id);
        return keep(USED_OBJECT, reason);
    }
    match (rules.wanted_by)(&row.id) {
        Ok(None) => {}
        Ok(Some(reason)) => return keep(WANTED_BY_OTHER, reason),
        Err(reason) => return keep(OTHERS_UNKNOWN, reason),
    }
    if !(rules.in_scope)(&row.id) {
        return keep(
            OUT_OF_SCOPE,
            "the Source's scope no longer reaches it; widen the scope, or release it".to_owned(),
        );
    }
    let allowed = rules.allowed.contains_key(&row.id);
    if let Some(to) = row.permissions.release_to.as_ref().filter(|_| !allowed) {
        let id = &row.id;
        let reason = format!(
            "its manifest released it to Source {to}, which hasn't taken it yet; --release {id} lets it go, --allow {id} deletes it"
        );
        return keep(RELEASED_TO, reason);
    }
    if !rules.prune {
        return keep(PRUNE_OFF, "prune is off; set prune: true, or delete it by hand".to_owned());
    }
    if kinds::is_system_namespace(&row.id) {
        let reason = format!("the control plane needs it: it is never deleted; --release {} lets it go", row.id);
        return keep(PROTECTED_DELETE, reason);
    }
    if row.permissions.prune == PrunePermission::Keep && !allowed {
        return keep(PRUNE_KEEP, format!("its manifest said holdfast.dev/prune: keep; --allow {} deletes it", row.id));
    }
    // What it holds can't be told without it.
    let Some(live) = live else {
        return keep(UNREADABLE_OBJECT, "the live object was not read, so what goes with it isn't known".to_owned());
    };
    let by_manifest = rules.permit_prune && row.permissions.prune == PrunePermission::Allow;
    if let Some(why) = kinds::protected(&row.id, &live.object)
        && !allowed
        && !by_manifest
    {
        return keep(PROTECTED_DELETE, format!("{why}; --allow {} deletes it", row.id));
    }
    let identity = LiveIdentity { id: &head.id, uid: &head.uid, mark: &head.mark };
    match PruneWarrant::issue(rules.source, row, &identity) {
        Ok(warrant) => Removal::Delete(warrant),
        // The table above and the warrant judge the same three things; should they ever differ, nothing is deleted.
        Err(mismatch) => Removal::Disown { rule: OWNER_MISMATCH, reason: mismatch.to_string() },
    }
}

fn keep(rule: RuleId, reason: String) -> Removal {
    Removal::Keep { rule, reason }
}
