//! A plan as a table.

use serde_json::Value;

use super::super::document::{Admitted, ChangeEntry, Field, PlanDocument, Purpose, SourceEntry};
use super::View;
use super::paint::{self, BOLD, CHANGED, DIM, paint};
use super::words;
use crate::base::columns::Columns;
use crate::base::text::{escape, shorten};
use crate::target::TargetKind;

/// Fields named for one Change; the diff shows all.
const FIELDS_SHOWN: usize = 8;
/// The longest value shown in a row, in characters.
const VALUE_SHOWN: usize = 40;

/// The plan as a table: Sources, a row for each Change, warnings, permissions, its names, the summary, the next command.
pub fn table(plan: &PlanDocument, view: &View<'_>) -> String {
    let mut out = String::new();
    for source in &plan.sources {
        self::source(source, view, &mut out);
    }
    if !plan.changes.is_empty() {
        out.push('\n');
        rows(plan, view, &mut out);
    }
    if !plan.warnings.is_empty() {
        out.push_str("\nWarnings:\n");
        for warning in &plan.warnings {
            let place = words::place(warning.file.as_deref(), warning.line);
            let place = if place.is_empty() { place } else { format!("{place}: ") };
            line(&mut out, &format!("  {place}{}", paint(view.color, CHANGED, &words::warning(warning))));
        }
    }
    permissions(plan, &mut out);
    out.push('\n');
    line(&mut out, &paint(view.color, DIM, &format!("PlanId     {}", plan.plan_id)));
    line(&mut out, &paint(view.color, DIM, &format!("ContentId  {}", plan.content_id)));
    closing(plan, view, &mut out);
    out
}

/// The summary and the next command.
pub(super) fn closing(plan: &PlanDocument, view: &View<'_>, out: &mut String) {
    line(out, &paint(view.color, BOLD, &words::summary(&plan.summary)));
    if let Some(next) = view.next {
        line(out, &format!("\nNext: {}", escape(next)));
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn source(source: &SourceEntry, view: &View<'_>, out: &mut String) {
    let path = if source.path.is_empty() { String::new() } else { format!(", path {}", escape(&source.path)) };
    let applied = match &source.applied {
        Some(applied) if *applied == source.commit => " (applied)".to_owned(),
        Some(applied) => format!(" (applied now: {})", applied.short()),
        None => " (never applied)".to_owned(),
    };
    line(out, &format!("Source {}: commit {}{applied}{path}", source.name, source.commit.short()));
    for note in notes(source) {
        line(out, &format!("  {}", paint(view.color, CHANGED, note)));
    }
}

/// What a reader must know of a Source's commit.
pub(super) fn notes(source: &SourceEntry) -> Vec<&'static str> {
    let mut notes = Vec::new();
    match source.purpose {
        Purpose::Apply => {}
        Purpose::Orphan => notes.push("to be removed: its objects stay, without an owner mark"),
        Purpose::Prune => notes.push("to be removed: its objects are deleted"),
        Purpose::Rebuild => notes.push("takes back what bears its mark: the inventory alone is written, no object"),
    }
    if source.preview {
        notes.push("preview: the commit is not reachable from the Source's ref; applying it needs --allow-unmerged");
    }
    if source.rewind {
        notes.push("rewind: the commit doesn't descend from the applied one");
    }
    if source.rebinds {
        notes.push("bound anew: another repository, path or history than before");
    }
    notes
}

fn rows(plan: &PlanDocument, view: &View<'_>, out: &mut String) {
    let mut columns = Columns::new(["ACTION", "KIND", "NAME", "SOURCE", "FILE", "FIELDS", "UNDO", "REASON"]);
    columns.push_all(&plan.changes, |change| {
        let id = &change.id;
        let name = id.namespace.as_ref().map_or_else(|| id.name.clone(), |ns| format!("{ns}/{}", id.name));
        [
            format!("{} {}", words::symbol(change.action), change.action.as_str()),
            escape(&id.group_kind().to_string()).into_owned(),
            escape(&name).into_owned(),
            change.source.to_string(),
            words::place(change.file.as_deref(), change.line),
            fields(&change.fields),
            words::undo(change).unwrap_or_default().to_owned(),
            change.reason.as_deref().map(|reason| escape(reason).into_owned()).unwrap_or_default(),
        ]
    });
    let mut lines = columns.lines().into_iter();
    if let Some(head) = lines.next() {
        line(out, &paint(view.color, BOLD, &head));
    }
    for (change, row) in plan.changes.iter().zip(lines) {
        line(out, &paint(view.color, paint::of(change.action), &row));
        for detail in field_lines(&change.fields).into_iter().chain(details(change, plan.target.kind)) {
            line(out, &format!("      {detail}"));
        }
    }
}

/// The one field that changes, or how many do; then each stands on a line of its own.
fn fields(fields: &[Field]) -> String {
    match named(fields).as_slice() {
        [] => String::new(),
        [field] => one(field),
        many => format!("{} fields", many.len()),
    }
}

fn named(fields: &[Field]) -> Vec<&Field> {
    fields.iter().filter(|field| !field.path.is_root()).collect()
}

fn field_lines(fields: &[Field]) -> Vec<String> {
    let named = named(fields);
    if named.len() < 2 {
        return Vec::new();
    }
    let mut lines: Vec<String> = named.iter().take(FIELDS_SHOWN).map(|field| one(field)).collect();
    if named.len() > FIELDS_SHOWN {
        lines.push(format!("and {} fields more: see them with -o diff", named.len() - FIELDS_SHOWN));
    }
    lines
}

/// A field, with its values where they are short: `/spec/replicas 1 -> 2`.
fn one(field: &Field) -> String {
    let path = escape(field.path.as_str()).into_owned();
    if field.before.is_some() && field.before == field.after {
        // Masked values of one length look the same.
        return format!("{path} (changed)");
    }
    match (field.before.as_deref().map(short), field.after.as_deref().map(short)) {
        (Some(Some(before)), Some(Some(after))) => format!("{path} {before} -> {after}"),
        (None, Some(Some(after))) => format!("{path} (new) {after}"),
        (None, Some(None)) => format!("{path} (new)"),
        (Some(_), None) => format!("{path} (removed)"),
        _ => path,
    }
}

fn short(value: &Value) -> Option<String> {
    let text = match value {
        Value::Array(_) | Value::Object(_) => return None,
        Value::String(text) => escape(text).into_owned(),
        other => other.to_string(),
    };
    (shorten(&text, VALUE_SHOWN) == text).then_some(text)
}

/// What else a reader must know of a Change, line by line, escaped.
pub(super) fn details(change: &ChangeEntry, target: TargetKind) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(from) = &change.from {
        lines.push(format!("from Source {from}"));
    }
    for keeper in &change.keepers {
        let claims = if keeper.claims() { ", which claims it still" } else { "" };
        lines.push(format!("taken over from {}{claims}: its hold on what is declared ends", escape(&keeper.shown())));
    }
    for taken in &change.taken {
        lines.push(format!("takes {} from {}", escape(taken.path.as_str()), escape(taken.manager.as_str())));
    }
    for left in &change.left {
        lines.push(format!("{} stays: left to {}", escape(left.path.as_str()), escape(left.manager.as_str())));
    }
    for path in &change.dropped_defaults {
        lines.push(format!("drops the target's default {}", escape(path.as_str())));
    }
    for field in change.rewritten.iter().take(FIELDS_SHOWN) {
        lines.push(format!("rewritten by the target: {}", one(field)));
    }
    if change.rewritten.len() > FIELDS_SHOWN {
        let more = change.rewritten.len() - FIELDS_SHOWN;
        lines.push(format!("rewritten by the target: {more} fields more, see them with -o json"));
    }
    let takes = if change.action == super::super::document::Action::Keep { "it holds" } else { "takes along" };
    for held in &change.holds {
        lines.push(format!("{takes} {}", words::id(held)));
    }
    if target == TargetKind::Kubernetes && change.admitted == Admitted::Offline {
        lines.push("admitted offline: the target's own dry run was not asked, or can't reach it yet".to_owned());
    }
    for warning in &change.warnings {
        let place = words::place(warning.file.as_deref(), warning.line);
        let place = if place.is_empty() { place } else { format!("{place}: ") };
        lines.push(format!("warning: {place}{}", words::warning(warning)));
    }
    lines
}

fn permissions(plan: &PlanDocument, out: &mut String) {
    let used = words::permissions(plan);
    if !used.is_empty() {
        line(out, &format!("\nPermissions used: {}", escape(&used.join(" "))));
    }
    for waiver in &plan.waivers {
        line(out, &format!("\nWaived: {}: {}", escape(&waiver.rule), escape(&waiver.reason)));
    }
}
