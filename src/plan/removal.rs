//! What becomes of everything that a plan's Sources own and no longer declare.

use std::collections::{BTreeSet, HashSet};

use super::change::{Change, Intent, RowChange};
use super::document::{Action, Admitted, ChangeEntry, Field, Undo};
use super::input::{Grants, Observed, OtherSource, SourceInput};
use super::kinds;
use super::prune::{self, Holdings, Holds, PruneRules, Removal};
use super::scope;
use crate::base::fault::{Fault, RuleId};
use crate::base::ids::SourceName;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::base::sensitive;
use crate::inventory::{Row, seen_digest};
use crate::merge::FieldSet;
use crate::schema::Catalog;
use crate::source::spec::GitPermission;
use crate::target::{Head, Live};

/// A Source that declares nothing although it owns something, or whose path the commit lacks.
pub const EMPTY_SOURCE: RuleId = RuleId::new("empty-source");
/// More deletes than the budget allows.
pub const DELETE_BUDGET: RuleId = RuleId::new("delete-budget");

/// The Changes of removals and what is wrong with them.
pub(crate) struct Removals<'a> {
    pub(crate) changes: Vec<Change<'a>>,
    pub(crate) faults: Vec<Fault>,
}

struct One<'a> {
    source: usize,
    row: &'a Row,
    head: Option<&'a Head>,
    live: Option<&'a Live>,
    removal: Removal,
    holds: Vec<ResourceId>,
}

/// Judges the removals of all Sources together: what one of them deletes may free another's Namespace.
pub(crate) fn removals<'a>(
    inputs: &'a [SourceInput<'a>],
    others: &[OtherSource],
    observed: &'a Observed,
    grants: &Grants,
    changes: &[Change<'_>],
) -> Removals<'a> {
    let transferred: HashSet<(usize, &ResourceId)> =
        changes.iter().filter_map(|c| c.from.map(|giver| (giver, &c.entry.id))).collect();
    let mut all = Vec::new();
    for (source, input) in inputs.iter().enumerate() {
        let wanted_by = |id: &ResourceId| wanted_by(id, source, inputs, others);
        let in_scope = |id: &ResourceId| scope::may_write(input.spec, id);
        let rules = PruneRules {
            source: &input.id,
            prune: input.spec.prune,
            known: &observed.known,
            in_scope: &in_scope,
            wanted_by: &wanted_by,
            allowed: grants.allow(),
            permit_prune: input.spec.permits_in_git(GitPermission::Prune),
            release: grants.release(),
        };
        for row in input.inventory.rows.values() {
            let declared = input.set.get(&row.id).is_some_and(|c| !c.wants().use_);
            if declared || transferred.contains(&(source, &row.id)) {
                continue;
            }
            let head = observed.heads.get(&row.id);
            let live = observed.objects.get(&row.id);
            let removal = prune::judge(&rules, row, head, live);
            all.push(One { source, row, head, live, removal, holds: Vec::new() });
        }
    }
    hold_back(&mut all, inputs, observed, grants);
    let faults = budgets(&all, inputs, grants);
    let changes = all.into_iter().map(|one| change(one, inputs)).collect();
    Removals { changes, faults }
}

fn wanted_by(
    id: &ResourceId,
    source: usize,
    inputs: &[SourceInput<'_>],
    others: &[OtherSource],
) -> Result<Option<SourceName>, String> {
    let planned = inputs.iter().enumerate().find(|(i, other)| *i != source && other.set.get(id).is_some());
    if let Some((_, other)) = planned {
        return Ok(Some(other.spec.name.clone()));
    }
    let mut unreadable = None;
    for other in others {
        match &other.wanted {
            Ok(wanted) if wanted.contains(id) => return Ok(Some(other.name.clone())),
            Ok(_) => {}
            Err(reason) => {
                unreadable.get_or_insert_with(|| {
                    format!("Source {} could not be read, and it may want this: {reason}", other.name)
                });
            }
        }
    }
    unreadable.map_or(Ok(None), Err)
}

/// Turns deletes that would take along what doesn't go into keeps, until nothing changes any more.
fn hold_back<'a>(all: &mut [One<'a>], inputs: &'a [SourceInput<'a>], observed: &'a Observed, grants: &Grants) {
    if !all.iter().any(|one| matches!(one.removal, Removal::Delete(_))) {
        return;
    }
    let known_heads = observed.contents.iter().chain(all.iter().filter_map(|one| one.head)).collect::<Vec<_>>();
    let holdings = Holdings::new(known_heads);
    let owned = |head: &Head| {
        let marked = match &head.mark {
            Err(_) => true,
            Ok(None) => false,
            Ok(Some(mark)) => mark.resource == head.id,
        };
        marked || inputs.iter().any(|input| input.set.get(&head.id).is_some())
    };
    loop {
        let deleted: BTreeSet<ResourceId> =
            all.iter().filter(|one| matches!(one.removal, Removal::Delete(_))).map(|one| one.row.id.clone()).collect();
        let mut changed = false;
        for one in all.iter_mut() {
            let (Removal::Delete(_), Some(head)) = (&one.removal, one.head) else { continue };
            let defined =
                one.live.filter(|_| kinds::is_definition(&one.row.id)).and_then(|l| kinds::defined_kind(&l.object));
            let taken = holdings.taken_along(head, defined.as_ref().map(|k| (k.group.as_str(), k.kind.as_str())));
            let container = kinds::is_namespace(&one.row.id) || kinds::is_definition(&one.row.id);
            let allowed = grants.allow().get(&one.row.id).copied();
            match prune::judge_holds(&taken, &deleted, &owned, allowed, container) {
                Holds::Free(along) => one.holds = along,
                Holds::Held(holds) => {
                    let reason = held(&one.row.id, &holds);
                    one.removal = Removal::Keep { rule: prune::PROTECTED_DELETE, reason };
                    one.holds = holds;
                    changed = true;
                }
            }
        }
        if !changed {
            return;
        }
    }
}

fn held(id: &ResourceId, holds: &[ResourceId]) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = holds.iter().take(SHOWN).map(ToString::to_string).collect();
    if holds.len() > SHOWN {
        names.push(format!("{} more", holds.len() - SHOWN));
    }
    format!(
        "deleting it would take along {}; remove those first, or allow objects of nobody's with --allow {id}={}",
        names.join(", "),
        holds.len()
    )
}

fn budgets(all: &[One<'_>], inputs: &[SourceInput<'_>], grants: &Grants) -> Vec<Fault> {
    let mut faults = Vec::new();
    let deletes_of = |source: usize| {
        all.iter().filter(|one| one.source == source && matches!(one.removal, Removal::Delete(_))).collect::<Vec<_>>()
    };
    let total: usize = all.iter().filter(|one| matches!(one.removal, Removal::Delete(_))).count();
    let allowed = grants.deletes();
    if let Some(allowed) = allowed
        && total > allowed
    {
        let text = format!("the plan would delete {total} objects, and --allow-deletes is {allowed}");
        let ids = all.iter().filter(|one| matches!(one.removal, Removal::Delete(_))).map(|one| one.row.id.clone());
        faults.push(Fault::new(DELETE_BUDGET, text).holds(ids.collect()));
        return faults;
    }
    if allowed.is_some() {
        return faults;
    }
    for (source, input) in inputs.iter().enumerate() {
        let rows = input.inventory.rows.len();
        let deletes = deletes_of(source);
        let name = &input.spec.name;
        if input.set.manifests().is_empty() && rows > 0 {
            let text = format!(
                "commit {} declares nothing under {:?}, and Source {name} owns {rows} objects",
                input.facts.commit.short(),
                input.binding.path
            );
            faults.push(
                Fault::new(EMPTY_SOURCE, text)
                    .hint(format!("if all of them are meant to go, say so with --allow-deletes {rows}")),
            );
            continue;
        }
        if input.rebinds && !deletes.is_empty() {
            let text = format!("Source {name} is bound anew, and the plan would delete {} objects", deletes.len());
            faults.push(over(text, &deletes));
            continue;
        }
        let budget = &input.spec.prune_budget;
        let percent = u128::from(budget.percent);
        let over_share = (deletes.len() as u128) * 100 > percent * (rows as u128);
        if deletes.len() as u64 > budget.objects && over_share {
            let text = format!(
                "Source {name}: the plan would delete {} of {rows} objects; the budget is {} objects or {} %",
                deletes.len(),
                budget.objects,
                budget.percent
            );
            faults.push(over(text, &deletes));
        }
    }
    faults
}

fn over(text: String, deletes: &[&One<'_>]) -> Fault {
    Fault::new(DELETE_BUDGET, text)
        .holds(deletes.iter().map(|one| one.row.id.clone()).collect())
        .hint(format!("if they are meant to go, say so with --allow-deletes {}", deletes.len()))
}

fn change<'a>(one: One<'a>, inputs: &[SourceInput<'_>]) -> Change<'a> {
    let One { source, row, head, live, removal, holds } = one;
    let mut entry = ChangeEntry {
        action: Action::Keep,
        id: row.id.clone(),
        source: inputs[source].spec.name.clone(),
        from: None,
        file: Some(row.file.clone()),
        line: Some(row.line).filter(|line| *line > 0),
        wave: row.wave,
        undo: Undo::Exact,
        fields: Vec::new(),
        rule: None,
        reason: None,
        holds,
        taken: Vec::new(),
        left: Vec::new(),
        dropped_defaults: Vec::new(),
        warnings: Vec::new(),
        admitted: Admitted::Offline,
        uid: head.map(|h| h.uid.clone()),
        seen: None,
        declared: None,
        sensitive: false,
    };
    let version = head.map_or_else(String::new, |h| h.version.clone());
    let (intent, row_change) = match removal {
        Removal::Keep { rule, reason } => {
            entry.rule = Some(rule.as_str().to_owned());
            entry.reason = Some(reason);
            (Intent::Nothing, RowChange::Stay)
        }
        Removal::Disown { rule, reason } => {
            entry.rule = Some(rule.as_str().to_owned());
            entry.reason = Some(format!("{}: {reason}; the inventory lets it go", rule.as_str()));
            (Intent::Nothing, release(row, reason))
        }
        Removal::Gone => {
            entry.action = Action::Release;
            entry.rule = Some(prune::ALREADY_GONE.as_str().to_owned());
            entry.reason = Some("it is gone already; the inventory lets it go".to_owned());
            (Intent::Nothing, release(row, "it was gone already".to_owned()))
        }
        Removal::Release => {
            entry.action = Action::Release;
            entry.rule = Some(prune::RELEASED.as_str().to_owned());
            entry.reason = Some("let go as asked: its owner mark is taken off, everything else stays".to_owned());
            entry.seen = seen(row, live, inputs[source].set.catalog());
            (Intent::Unmark { uid: row.uid.clone(), version }, release(row, "released as asked".to_owned()))
        }
        Removal::Delete(warrant) => {
            entry.action = Action::Delete;
            entry.undo = Undo::NewUid;
            entry.seen = seen(row, live, inputs[source].set.catalog());
            entry.fields = vec![Field {
                path: Pointer::root(),
                before: live.map(|l| sensitive::mask(&declared_part(&l.object), &row.sensitive)),
                after: None,
            }];
            (Intent::Delete { warrant, version, cascade: entry.holds.clone() }, RowChange::Remove)
        }
    };
    Change { entry, source, from: None, intent, row: row_change, checked: None, live, after: None }
}

fn release(row: &Row, reason: String) -> RowChange {
    RowChange::Release { uid: row.uid.clone(), reason }
}

fn seen(row: &Row, live: Option<&Live>, catalog: &Catalog) -> Option<crate::base::ids::Digest> {
    let live = live?;
    let fields = FieldSet::from_fields_v1(&row.fields).ok()?;
    if live.head.version == row.version {
        return Some(row.seen.clone());
    }
    let kind = crate::base::resource::GroupVersionKind::new(&row.api_version, &row.id.kind);
    let schema = catalog.resolve(&kind).ok();
    Some(seen_digest(schema.as_deref(), &live.object, &fields, &row.sensitive))
}

/// A live object without the bookkeeping that nobody reviews.
fn declared_part(object: &serde_json::Value) -> serde_json::Value {
    let mut copy = object.clone();
    if let Some(map) = copy.as_object_mut() {
        map.remove("status");
    }
    if let Some(metadata) = copy.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        for key in ["managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"] {
            metadata.remove(key);
        }
    }
    copy
}
