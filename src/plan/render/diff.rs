//! A plan as unified diffs of YAML, one per object.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use super::super::document::{Action, ChangeEntry, PlanDocument};
use super::View;
use super::paint::{ADDED, BOLD, NOTED, REMOVED, paint};
use super::partial::{Line, Side, lines};
use super::table::{closing, details};
use super::words;
use crate::base::text::escape;
use crate::target::TargetKind;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Beyond so many pairs of lines both sides are shown whole: a minimal diff would take quadratic time.
const PAIRS: usize = 16_000_000;

/// The plan as unified diffs, then the summary and the next command.
pub fn diff(plan: &PlanDocument, view: &View<'_>) -> String {
    let mut out = String::new();
    for change in &plan.changes {
        one(change, plan.target.kind, view.color, &mut out);
        out.push('\n');
    }
    closing(plan, view, &mut out);
    out
}

/// One Change: a head, what else must be known, and the hunks.
pub(super) fn one(change: &ChangeEntry, target: TargetKind, color: bool, out: &mut String) {
    let id = words::id(&change.id);
    let place = words::place(change.file.as_deref(), change.line);
    let place = if place.is_empty() { place } else { format!(", {place}") };
    let head =
        format!("{} {} {id}, Source {}{place}", words::symbol(change.action), change.action.as_str(), change.source);
    push(out, &paint(color, BOLD, &head));
    if let Some(undo) = words::undo(change) {
        push(out, &format!("  undo: {undo}"));
    }
    if let Some(reason) = &change.reason {
        push(out, &format!("  reason: {}", escape(reason)));
    }
    for detail in details(change, target) {
        push(out, &format!("  {detail}"));
    }
    let (before, after) = (lines(&change.fields, Side::Before), lines(&change.fields, Side::After));
    if before.is_empty() && after.is_empty() {
        return;
    }
    let name = |side: &str, there: bool| if there { format!("{side}/{id}") } else { "/dev/null".to_owned() };
    push(out, &paint(color, REMOVED, &format!("--- {}", name("live", change.action != Action::Create))));
    push(out, &paint(color, ADDED, &format!("+++ {}", name("planned", change.action != Action::Delete))));
    hunks(&before, &after, color, out);
}

fn push(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn hunks(before: &[Line], after: &[Line], color: bool, out: &mut String) {
    let old: Vec<&str> = before.iter().map(|line| line.text.as_str()).collect();
    let new: Vec<&str> = after.iter().map(|line| line.text.as_str()).collect();
    let whole = before.is_empty() || after.is_empty() || old.len().saturating_mul(new.len()) > PAIRS;
    let ops = if whole {
        vec![DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() }]
    } else {
        capture_diff_slices(Algorithm::Myers, &old, &new)
    };
    for group in group_diff_ops(ops, CONTEXT) {
        hunk(&group, before, after, color, out);
    }
}

fn hunk(group: &[DiffOp], before: &[Line], after: &[Line], color: bool, out: &mut String) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let range = |start: usize, end: usize| {
        // An empty side is named by the line before it.
        if start == end { format!("{start},0") } else { format!("{},{}", start + 1, end - start) }
    };
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    let field = group.iter().find(|op| op.tag() != DiffTag::Equal).and_then(|op| {
        let new = after.get(op.new_range().start).filter(|_| !op.new_range().is_empty());
        new.or_else(|| before.get(op.old_range().start))
    });
    let field = field.map(|line| escape(&line.field).into_owned()).filter(|f| !f.is_empty());
    let field = field.map(|f| format!(" {f}")).unwrap_or_default();
    push(out, &paint(color, NOTED, &format!("@@ -{old} +{new} @@{field}")));
    for op in group {
        if op.tag() == DiffTag::Equal {
            for line in &before[op.old_range()] {
                push(out, &format!(" {}", line.text));
            }
            continue;
        }
        for line in &before[op.old_range()] {
            push(out, &paint(color, REMOVED, &format!("-{}", line.text)));
        }
        for line in &after[op.new_range()] {
            push(out, &paint(color, ADDED, &format!("+{}", line.text)));
        }
    }
}
