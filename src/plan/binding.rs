//! What of a plan must still be so when it is applied, and what moved since.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::document::{Action, Allowances, ChangeEntry, PlanDocument, TakenField, Undo};
use crate::base::fault::{Fault, RuleId};
use crate::base::ids::{Digest, ObjectUid, SourceId, SourceName, TargetIdentity};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::inventory::Keeper;

/// Something that the plan was bound to has moved.
pub const STALE_PLAN: RuleId = RuleId::new("stale-plan");
/// The plan was made for another target.
pub const WRONG_TARGET: RuleId = RuleId::new("wrong-target");
/// The file is not what was sealed: edited, cut, or not what this plan would do.
pub const PLAN_DIGEST: RuleId = RuleId::new("plan-digest");
/// A permission or waiver in the plan was not given again, or another was given.
pub const PERMISSION_NOT_GIVEN: RuleId = RuleId::new("permission-not-given");

/// What is bound of one resource.
#[derive(PartialEq, Eq)]
struct Bound<'a> {
    action: Option<Action>,
    source: &'a SourceName,
    from: Option<&'a SourceName>,
    uid: Option<&'a ObjectUid>,
    seen: Option<&'a Digest>,
    declared: Option<&'a Digest>,
    keepers: &'a [Keeper],
    taken: &'a [TakenField],
    dropped: &'a [Pointer],
    along: &'a [ResourceId],
    /// The file of sensitive values, which are in no digest.
    file: Option<&'a String>,
}

/// Compares a reviewed plan with one made afresh from the same commit; every difference is a fault. Empty: it still holds.
///
/// Of another target or with other permissions nothing else is compared: the first question comes first.
pub fn moved(reviewed: &PlanDocument, fresh: &PlanDocument) -> Vec<Fault> {
    if reviewed.target != fresh.target {
        return vec![wrong_target(reviewed, &fresh.target.identity)];
    }
    let mut faults = permissions(reviewed, fresh);
    if !faults.is_empty() {
        return faults;
    }
    sources(reviewed, fresh, &mut faults);
    let (old, new) = (bound(reviewed), bound(fresh));
    let all: BTreeSet<&ResourceId> = old.keys().chain(new.keys()).copied().collect();
    for id in all {
        let text = match (old.get(id), new.get(id)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => difference(old, new),
            (Some(_), None) => "it is in the plan and would no longer be".to_owned(),
            (None, _) => "it isn't in the plan and would be now".to_owned(),
        };
        faults.push(stale(text).id(id.clone()));
    }
    if faults.is_empty() && report(reviewed) != report(fresh) {
        faults.push(Fault::new(PLAN_DIGEST, "what the plan shows is not what it would do").hint(
            "the file was edited, or made by another build, or somebody moved what is shown; make the plan again",
        ));
    }
    faults
}

/// A plan that was made before the target had any state, as the same target knows it now: its identity has got its second
/// half, and the Sources the IDs that go with it. If any was applied since, its serial says that the plan is stale.
pub fn continued<'p>(
    reviewed: &'p PlanDocument,
    here: &TargetIdentity,
    id: impl Fn(&SourceName) -> SourceId,
) -> Cow<'p, PlanDocument> {
    if !here.began_as(&reviewed.target.identity) {
        return Cow::Borrowed(reviewed);
    }
    let mut now = reviewed.clone();
    now.target.identity = here.clone();
    for source in &mut now.sources {
        source.id = id(&source.name);
    }
    Cow::Owned(now)
}

/// The refusal of a plan for another target.
pub fn wrong_target(reviewed: &PlanDocument, here: &TargetIdentity) -> Fault {
    Fault::new(
        WRONG_TARGET,
        format!("the plan was made for target {}, and this one is {here}", reviewed.target.identity),
    )
    .hint("apply it with the configuration that it was made with")
}

/// The refusal of a plan whose permissions the applier doesn't give; a permission in a plan file counts for nothing.
pub fn not_given(reviewed: &PlanDocument, given: &Allowances) -> Vec<Fault> {
    let needed = &reviewed.allowances;
    let has = |needed: &[String], given: &[String]| needed.iter().all(|text| given.contains(text));
    let all = needed.deletes.is_none_or(|n| given.deletes == Some(n))
        && needed.adoptions.is_none_or(|n| given.adoptions == Some(n))
        && has(&needed.allow, &given.allow)
        && has(&needed.adopt, &given.adopt)
        && has(&needed.adopt_from, &given.adopt_from)
        && has(&needed.take_over, &given.take_over)
        && has(&needed.release, &given.release)
        && has(&needed.waive_dry_run, &given.waive_dry_run);
    if all { Vec::new() } else { vec![permission(reviewed)] }
}

fn permission(reviewed: &PlanDocument) -> Fault {
    let flags = flags(reviewed);
    let text = if flags.is_empty() {
        "the plan was made without a permission that it would need now".to_owned()
    } else {
        format!("the plan needs permissions given again, exactly these: {flags}")
    };
    Fault::new(PERMISSION_NOT_GIVEN, text).hint("a permission in a plan file counts only if the applier gives it too")
}

fn stale(text: impl Into<String>) -> Fault {
    Fault::new(STALE_PLAN, text).hint("make the plan again and review what is new")
}

fn permissions(reviewed: &PlanDocument, fresh: &PlanDocument) -> Vec<Fault> {
    let mut faults = Vec::new();
    // A webhook that takes dry runs by now needs no waiver any more: that grants nothing.
    let (old, new) = (&reviewed.allowances, &fresh.allowances);
    let waived = new.waive_dry_run.iter().all(|webhook| old.waive_dry_run.contains(webhook));
    if !waived || *old != (Allowances { waive_dry_run: old.waive_dry_run.clone(), ..new.clone() }) {
        faults.push(permission(reviewed));
    }
    let rules = |d: &PlanDocument| d.waivers.iter().map(|w| w.rule.clone()).collect::<Vec<_>>();
    if rules(reviewed) != rules(fresh) {
        let text = format!("the plan waives {:?}, and the applier {:?}", rules(reviewed), rules(fresh));
        faults.push(Fault::new(PERMISSION_NOT_GIVEN, text).hint("give each with --waive RULE --reason R"));
    }
    faults
}

/// The permissions of a plan as flags of the command line.
pub fn flags(plan: &PlanDocument) -> String {
    let given = &plan.allowances;
    let mut flags = Vec::new();
    flags.extend(given.deletes.map(|n| format!("--allow-deletes {n}")));
    flags.extend(given.allow.iter().map(|t| format!("--allow {t}")));
    flags.extend(given.adopt.iter().map(|t| format!("--adopt {t}")));
    flags.extend(given.adoptions.map(|n| format!("--allow-adoptions {n}")));
    flags.extend(given.adopt_from.iter().map(|t| format!("--adopt-from {t}")));
    flags.extend(given.take_over.iter().map(|t| format!("--take-over {t}")));
    flags.extend(given.release.iter().map(|t| format!("--release {t}")));
    flags.extend(given.waive_dry_run.iter().map(|t| format!("--waive-dry-run {t}")));
    flags.join(" ")
}

fn sources(reviewed: &PlanDocument, fresh: &PlanDocument, faults: &mut Vec<Fault>) {
    for old in &reviewed.sources {
        let Some(new) = fresh.sources.iter().find(|s| s.id == old.id && s.name == old.name) else {
            faults.push(stale(format!("Source {} is another one by now", old.name)));
            continue;
        };
        if old.commit != new.commit {
            faults
                .push(stale(format!("Source {}: the plan is of commit {}, not {}", old.name, old.commit, new.commit)));
        }
        if old.inventory_serial != new.inventory_serial {
            faults.push(stale(format!(
                "Source {}: its inventory has serial {} by now, the plan was made at {}",
                old.name, new.inventory_serial, old.inventory_serial
            )));
        }
        if old.purpose != new.purpose {
            faults.push(stale(format!("Source {}: the plan is made to another purpose", old.name)));
        }
        if new.rewind && !old.rewind {
            faults.push(stale(format!(
                "Source {}: another commit was applied since, and the plan's doesn't descend from it",
                old.name
            )));
        }
        if old.origin != new.origin {
            faults.push(stale(format!(
                "Source {}: its repository or path is another than the plan was made from",
                old.name
            )));
        }
        if old.spec != new.spec || old.path != new.path {
            faults
                .push(stale(format!("Source {}: its configuration is another than the plan was made with", old.name)));
        }
    }
    if reviewed.sources.len() != fresh.sources.len() {
        faults.push(stale("the plan is of other Sources"));
    }
}

fn bound(plan: &PlanDocument) -> BTreeMap<&ResourceId, Bound<'_>> {
    let changes = plan.changes.iter().map(|c| {
        let along: &[ResourceId] = if c.action == Action::Delete { &c.holds } else { &[] };
        (
            &c.id,
            Bound {
                action: Some(c.action),
                source: &c.source,
                from: c.from.as_ref(),
                uid: c.uid.as_ref(),
                seen: c.seen.as_ref(),
                declared: c.declared.as_ref(),
                keepers: &c.keepers,
                taken: &c.taken,
                dropped: &c.dropped_defaults,
                along,
                file: c.file.as_ref().filter(|_| c.sensitive),
            },
        )
    });
    let unchanged = plan.unchanged.iter().map(|u| {
        (
            &u.id,
            Bound {
                action: None,
                source: &u.source,
                from: None,
                uid: Some(&u.uid),
                seen: Some(&u.seen),
                declared: Some(&u.declared),
                keepers: &[],
                taken: &[],
                dropped: &[],
                along: &[],
                file: None,
            },
        )
    });
    changes.chain(unchanged).collect()
}

fn difference(old: &Bound<'_>, new: &Bound<'_>) -> String {
    let name = |action: Option<Action>| action.map_or("unchanged", Action::as_str);
    if old.uid != new.uid {
        match (old.uid, new.uid) {
            (None, Some(_)) => "it did not exist when the plan was made, and does now".to_owned(),
            (Some(_), None) => "it existed when the plan was made, and doesn't any more".to_owned(),
            _ => "it was deleted and made again since the plan was made (another UID)".to_owned(),
        }
    } else if old.seen != new.seen {
        "somebody changed it since the plan was made".to_owned()
    } else if old.action != new.action {
        format!("planned as {}, it would be {} now", name(old.action), name(new.action))
    } else if old.keepers != new.keepers {
        "another tool made or keeps it than when the plan was made".to_owned()
    } else if old.taken != new.taken {
        "its fields are held by others than when the plan was made".to_owned()
    } else if old.source != new.source || old.from != new.from {
        "it would go from or to another Source than planned".to_owned()
    } else if old.dropped != new.dropped {
        "other defaults of the target would be dropped than planned".to_owned()
    } else if old.along != new.along {
        "deleting it would take other objects along than when the plan was made".to_owned()
    } else {
        "what is declared differs from the plan".to_owned()
    }
}

/// What people were shown and decided by: it must be what the plan does, too.
fn report(plan: &PlanDocument) -> Vec<Shown<'_>> {
    let shown = |c: &'_ ChangeEntry| -> Vec<(String, Option<String>, Option<String>)> {
        let text = |value: &Option<Arc<Value>>| value.as_ref().map(ToString::to_string);
        let mut fields: Vec<_> = c
            .fields
            .iter()
            // All of an object that goes: what others hold of it may change meanwhile.
            .map(|f| (unplaced(&f.path), text(&f.before).filter(|_| !f.path.is_root()), text(&f.after)))
            .collect();
        fields.sort();
        fields
    };
    plan.changes
        .iter()
        .map(|c| Shown { id: &c.id, wave: c.wave, undo: c.undo, file: c.file.as_ref(), fields: shown(c) })
        .collect()
}

/// What a plan shows of one Change.
#[derive(PartialEq, Eq)]
struct Shown<'a> {
    id: &'a ResourceId,
    wave: i32,
    undo: Undo,
    file: Option<&'a String>,
    fields: Vec<(String, Option<String>, Option<String>)>,
}

/// A place without its indexes: others may put entries before ours.
fn unplaced(path: &Pointer) -> String {
    let segments = path.segments().map(|s| if s.bytes().all(|b| b.is_ascii_digit()) { "#".to_owned() } else { s });
    segments.collect::<Vec<_>>().join("/")
}
