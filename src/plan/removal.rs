//! What becomes of everything that a plan's Sources own and no longer declare.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{Boxed, Change, Giver, Intent, RowChange, Unchanged};
use super::claim::given_away;
use super::document::{Action, ChangeEntry, Field, Purpose};
use super::emergency::{self, EMERGENCY_PENDING};
use super::holdings::{Deleting, Holdings, Holds};
use super::input::{Grants, Observed, OtherSource, SourceInput};
use super::prune::{self, PruneRules, Removal};
use super::{order, scope, undo};
use crate::base::fault::{Fault, RuleId};
use crate::base::ids::{Digest, ObjectUid};
use crate::base::map::{HashMap, HashSet};
use crate::base::pointer::Pointer;
use crate::base::resource::{GroupKind, GroupVersionKind, ResourceId};
use crate::base::sensitive;
use crate::base::server_owned::METADATA;
use crate::inventory::{Row, seen_digest};
use crate::schema::Catalog;
use crate::schema::crd::defined_kind;
use crate::source::spec::GitPermission;
use crate::target::{Head, Live};

/// A Source that declares nothing although it owns something, or whose path the commit lacks.
pub(super) const EMPTY_SOURCE: RuleId = RuleId::new("empty-source");
/// More deletes than the budget allows.
pub(super) const DELETE_BUDGET: RuleId = RuleId::new("delete-budget");

/// The Changes of removals and what is wrong with them.
pub(super) struct Removals<'a> {
    pub(super) changes: Vec<Boxed<'a>>,
    pub(super) ended: Vec<EndedRow>,
    pub(super) faults: Vec<Fault>,
    /// Whether the plan would be refused without `--allow-deletes`.
    pub(super) needs_allowance: bool,
}

/// A row that ends because another Source of the plan has the object, which stands in the plan there.
#[derive(Debug)]
pub(crate) struct EndedRow {
    pub(crate) source: usize,
    pub(crate) id: ResourceId,
    pub(crate) uid: ObjectUid,
    pub(crate) rule: RuleId,
    pub(crate) reason: String,
}

struct One<'a> {
    source: usize,
    row: &'a Row,
    head: Option<&'a Head>,
    live: Option<&'a Live>,
    removal: Removal,
    holds: Vec<ResourceId>,
    /// Whether the holds have something that no Change of the plan deletes.
    takes_others: bool,
}

/// What removals are judged beside.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a, 'b> {
    pub(super) inputs: &'a [SourceInput<'a>],
    pub(super) others: &'a [OtherSource],
    pub(super) observed: &'a Observed,
    pub(super) grants: &'a Grants,
    /// What the Sources' manifests came to.
    pub(super) changes: &'b [Boxed<'a>],
    /// What stays as it is declared.
    pub(super) unchanged: &'b [Unchanged],
}

/// Judges the removals of all Sources together: what one of them deletes may free another's Namespace.
pub(super) fn removals<'a>(beside: Beside<'a, '_>) -> Removals<'a> {
    let Beside { inputs, observed, grants, .. } = beside;
    let transferred: HashSet<(usize, &ResourceId)> = beside
        .changes
        .iter()
        .filter_map(|c| match c.from {
            Some(Giver::Planned(giver)) => Some((giver, &c.entry.id)),
            _ => None,
        })
        .collect();
    let several = inputs.len() > 1;
    let planned: HashSet<&ResourceId> = if several {
        beside.changes.iter().map(|c| &c.entry.id).chain(beside.unchanged.iter().map(|u| &u.entry.id)).collect()
    } else {
        HashSet::default()
    };
    let (mut all, mut ended, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for (source, input) in inputs.iter().enumerate() {
        let wanted_by = |id: &ResourceId| wanted_by(id, source, beside);
        let in_scope = |id: &ResourceId| scope::may_write(input.spec, id);
        let used = |id: &ResourceId| input.set.get(id).is_some_and(|c| c.wants().use_);
        let rules = PruneRules {
            source: &input.id,
            purpose: input.purpose,
            prune: input.spec.prune,
            known: &observed.known,
            in_scope: &in_scope,
            wanted_by: &wanted_by,
            allowed: grants.allow(),
            permit_prune: input.spec.permits_in_git(GitPermission::Prune),
            release: grants.release(),
            used: &used,
        };
        // It takes back and lets nothing go.
        let rows = (input.purpose != Purpose::Rebuild).then(|| input.inventory.rows.values());
        for row in rows.into_iter().flatten() {
            let declared = input
                .set
                .get(&row.id)
                .is_some_and(|c| !c.wants().use_ && given_away(inputs, observed, source, c).is_none());
            if declared || transferred.contains(&(source, &row.id)) {
                continue;
            }
            let head = observed.heads.get(&row.id);
            let live = observed.objects.get(&row.id);
            let removal = match prune::judge(&rules, row, head, live) {
                Removal::Delete(warrant) => match input.emergencies.get(&row.id).and_then(emergency::kept) {
                    Some(reason) => Removal::Keep { rule: EMERGENCY_PENDING, reason },
                    None => Removal::Delete(warrant),
                },
                other => other,
            };
            match end(source, row, &removal).filter(|_| planned.contains(&row.id)) {
                Some(end) => ended.push(end),
                None => all.push(One { source, row, head, live, removal, holds: Vec::new(), takes_others: false }),
            }
        }
    }
    if several {
        ended.extend(end_second_rows(&mut all));
    }
    hold_back(&mut all, beside);
    faults.extend(refused_keeps(&all, inputs, grants));
    faults.extend(budgets(&all, inputs, grants.deletes()));
    // A plan file is a claim: that a Source is removed with its objects counts only if the applier says how many.
    let prunes =
        all.iter().any(|one| inputs[one.source].purpose == Purpose::Prune && matches!(one.removal, Removal::Delete(_)));
    let needs_allowance = grants.deletes().is_some() && (prunes || !budgets(&all, inputs, None).is_empty());
    let changes = all.into_iter().map(|one| Box::new(change(one, inputs))).collect();
    Removals { changes, ended, faults, needs_allowance }
}

/// Of several Sources with a row for one object at most one can own it: its row is the Change, and the others' end.
fn end_second_rows(all: &mut Vec<One<'_>>) -> Vec<EndedRow> {
    let mut first: HashMap<&ResourceId, usize> = HashMap::default();
    for (at, one) in all.iter().enumerate() {
        let place = first.entry(&one.row.id).or_insert(at);
        if end(one.source, one.row, &one.removal).is_none() {
            *place = at;
        }
    }
    let stays: HashSet<usize> = first.into_values().collect();
    let mut ended = Vec::new();
    let mut at = 0;
    all.retain(|one| {
        let end = end(one.source, one.row, &one.removal).filter(|_| !stays.contains(&at));
        at += 1;
        let stays = end.is_none();
        ended.extend(end);
        stays
    });
    ended
}

/// The end of a row whose object isn't its Source's, or is gone.
fn end(source: usize, row: &Row, removal: &Removal) -> Option<EndedRow> {
    let (rule, reason) = match removal {
        Removal::Gone => (prune::ALREADY_GONE, "it was gone already".to_owned()),
        Removal::Disown { rule, reason } => (*rule, reason.clone()),
        _ => return None,
    };
    Some(EndedRow { source, id: row.id.clone(), uid: row.uid.clone(), rule, reason })
}

fn wanted_by(id: &ResourceId, source: usize, beside: Beside<'_, '_>) -> Result<Option<String>, String> {
    let planned = beside.inputs.iter().enumerate().find(|(i, other)| *i != source && other.set.get(id).is_some());
    if let Some((_, other)) = planned {
        return Ok(Some(format!("wanted by {}", other.spec.name)));
    }
    let mut unreadable = None;
    for other in beside.others {
        match &other.wanted {
            Ok(wanted) if wanted.contains(id) => {
                return Ok(Some(format!("wanted by {}; plan both Sources together to transfer it", other.name)));
            }
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
fn hold_back<'a>(all: &mut [One<'a>], beside: Beside<'a, '_>) {
    let Beside { inputs, others, observed, grants, .. } = beside;
    let mut order: Vec<usize> = (0..all.len()).filter(|at| matches!(all[*at].removal, Removal::Delete(_))).collect();
    if order.is_empty() {
        return;
    }
    order.sort_by_cached_key(|at| order::delete_key(&all[*at].row.id, all[*at].row.wave));
    let known_heads = observed.contents.iter().chain(all.iter().filter_map(|one| one.head)).collect::<Vec<_>>();
    let holdings = Holdings::new(known_heads);
    let named = |id: &ResourceId| {
        inputs.iter().any(|input| input.set.get(id).is_some())
            || others.iter().any(|other| other.wanted.as_ref().is_ok_and(|wanted| wanted.contains(id)))
    };
    let owned = |head: &Head| {
        let marked = match &head.mark {
            Err(_) => true,
            Ok(None) => false,
            Ok(Some(mark)) => mark.resource == head.id,
        };
        marked || named(&head.id)
    };
    loop {
        let deleted: BTreeSet<ResourceId> = order.iter().map(|at| all[*at].row.id.clone()).collect();
        let mut gone: HashSet<&ObjectUid> = HashSet::default();
        let before = order.len();
        order.retain(|at| {
            let one = &mut all[*at];
            let Some(head) = one.head else { return false };
            let is_container = head.id.is_namespace() || head.id.is_definition();
            let defined = one.live.filter(|_| head.id.is_definition());
            let defined = defined.and_then(|l| defined_kind(&l.object));
            let taken = holdings.take(head, defined.as_ref(), &mut gone);
            let declared = if is_container { declared_in(&head.id, defined.as_ref(), inputs) } else { Vec::new() };
            let allowed = grants.allow().get(&head.id).copied();
            let deleting = Deleting {
                taken: &taken,
                deleted: &deleted,
                owned: &owned,
                declared: &declared,
                allowed,
                is_container,
            };
            match deleting.judge() {
                Holds::Free(along) => {
                    one.takes_others = along.iter().any(|id| !deleted.contains(id));
                    one.holds = along;
                    true
                }
                Holds::Held(holds) => {
                    let reason = held(&head.id, &holds);
                    one.removal = Removal::Keep { rule: prune::PROTECTED_DELETE, reason };
                    one.holds = holds;
                    false
                }
            }
        });
        if order.len() == before {
            return;
        }
    }
}

/// What is declared and would lie in a Namespace or be of a definition's kind: it can't be there without.
fn declared_in(id: &ResourceId, defines: Option<&GroupKind>, inputs: &[SourceInput<'_>]) -> Vec<ResourceId> {
    let lies_in = |other: &ResourceId| match defines {
        Some(kind) => other.is(&kind.group, &kind.kind),
        None => other.namespace.as_deref() == Some(&id.name),
    };
    let declared = inputs.iter().flat_map(|input| input.set.manifests()).map(|checked| checked.id());
    declared.filter(|other| lies_in(other)).cloned().collect()
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

/// A Source is not removed with its objects while one of them would stay.
fn refused_keeps(all: &[One<'_>], inputs: &[SourceInput<'_>], grants: &Grants) -> Vec<Fault> {
    let mut faults = Vec::new();
    for one in all.iter().filter(|one| inputs[one.source].purpose == Purpose::Prune) {
        let id = &one.row.id;
        let (rule, reason) = match &one.removal {
            Removal::Keep { rule, reason } => (*rule, reason),
            // What isn't its own is let go if that is said.
            Removal::Disown { rule, reason } if !grants.release().contains(id) => (*rule, reason),
            _ => continue,
        };
        let hint = format!("--release {id} lets it go as it is; --orphan lets go of everything");
        let text = format!("it would be kept: {reason}");
        faults.push(Fault::new(rule, text).id(id.clone()).holds(one.holds.clone()).hint(hint));
    }
    faults
}

fn budgets(all: &[One<'_>], inputs: &[SourceInput<'_>], allowed: Option<usize>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let deletes_of = |source: usize| {
        all.iter().filter(|one| one.source == source && matches!(one.removal, Removal::Delete(_))).collect::<Vec<_>>()
    };
    let total: usize = all.iter().filter(|one| matches!(one.removal, Removal::Delete(_))).count();
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
        if input.purpose == Purpose::Apply && input.set.manifests().is_empty() && rows > 0 {
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
    let One { source, row, head, live, removal, holds, takes_others } = one;
    let seen = || seen(row, live, inputs[source].set.catalog());
    let mut entry = ChangeEntry {
        file: Some(row.file.clone()),
        line: Some(row.line).filter(|line| *line > 0),
        wave: row.wave,
        holds,
        uid: head.map(|h| h.uid.clone()),
        ..ChangeEntry::new(Action::Keep, row.id.clone(), inputs[source].spec.name.clone())
    };
    let version = head.map_or_else(String::new, |h| h.version.clone());
    let (intent, row_change) = match removal {
        Removal::Keep { rule, reason } => {
            entry.seen = seen();
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
            entry.seen = seen();
            (Intent::Unmark { uid: row.uid.clone(), version }, release(row, "released as asked".to_owned()))
        }
        Removal::Orphan => {
            entry.action = Action::Release;
            entry.rule = Some(prune::ORPHANED.as_str().to_owned());
            entry.reason = Some("its Source is removed: its owner mark is taken off, everything else stays".to_owned());
            entry.seen = seen();
            let why = format!("Source {} was removed (--orphan)", entry.source);
            (Intent::Unmark { uid: row.uid.clone(), version }, release(row, why))
        }
        Removal::Delete(warrant) => {
            entry.action = Action::Delete;
            entry.undo = undo::of_delete(&row.id, takes_others);
            entry.seen = seen();
            entry.fields = vec![Field {
                path: Pointer::root(),
                before: live.map(|l| Arc::new(sensitive::mask(&declared_part(&l.object), &row.sensitive))),
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

pub(super) fn seen(row: &Row, live: Option<&Live>, catalog: &Catalog) -> Option<Digest> {
    let live = live?;
    if live.head.version == row.version {
        return Some(row.seen.clone());
    }
    let kind = GroupVersionKind::new(&row.api_version, &row.id.kind);
    let schema = catalog.resolve(&kind).ok();
    Some(seen_digest(schema.as_deref(), &live.object, &row.fields, &row.sensitive))
}

/// A live object without the bookkeeping that nobody reviews.
fn declared_part(object: &serde_json::Value) -> serde_json::Value {
    let mut copy = object.clone();
    if let Some(map) = copy.as_object_mut() {
        map.remove("status");
    }
    if let Some(metadata) = copy.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        for key in METADATA {
            metadata.remove(key);
        }
    }
    copy
}
