//! The words that all forms share.

use super::super::document::{Action, ChangeEntry, PlanDocument, Summary, Undo, WarningEntry};
use crate::base::resource::ResourceId;
use crate::base::text::escape;

/// A symbol beside the action's name; it never stands alone.
pub(super) fn symbol(action: Action) -> &'static str {
    match action {
        Action::Create => "+",
        Action::Update => "~",
        Action::Own => "=",
        Action::Replace => "!",
        Action::Delete => "-",
        Action::Adopt => "<",
        Action::Transfer => ">",
        Action::Release => "o",
        Action::Keep => "*",
    }
}

/// The summary line: `Plan: 2 to create, 1 to update, 1 to delete, 1 kept, 128 unchanged`.
pub fn summary(counts: &Summary) -> String {
    let all = [
        (counts.create, "to create"),
        (counts.update, "to update"),
        (counts.own, "to own"),
        (counts.replace, "to replace"),
        (counts.delete, "to delete"),
        (counts.adopt, "to adopt"),
        (counts.transfer, "to transfer"),
        (counts.release, "to release"),
        (counts.keep, "kept"),
        (counts.unchanged, "unchanged"),
    ];
    let mut parts: Vec<String> = all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let does = all.iter().any(|(n, what)| *n > 0 && what.starts_with("to "));
    if !does {
        parts.insert(0, "nothing to do".to_owned());
    }
    format!("Plan: {}", parts.join(", "))
}

/// Whether a reviewer must see it first: it takes something away or over, or it reaches beyond a namespace.
pub fn is_risky(change: &ChangeEntry) -> bool {
    matches!(change.action, Action::Delete | Action::Replace | Action::Adopt | Action::Transfer)
        || !change.taken.is_empty()
        || is_rbac(&change.id)
        || change.id.namespace.is_none()
}

fn is_rbac(id: &ResourceId) -> bool {
    id.group == "rbac.authorization.k8s.io"
}

/// Why a reviewer must see it first, beyond its action.
pub(super) fn marks(change: &ChangeEntry) -> Vec<&'static str> {
    let mut marks = Vec::new();
    if change.id.namespace.is_none() {
        marks.push("cluster-scoped");
    }
    if is_rbac(&change.id) {
        marks.push("RBAC");
    }
    marks
}

/// How it can't be undone exactly, if so.
pub(super) fn undo(change: &ChangeEntry) -> Option<&'static str> {
    match change.undo {
        Undo::Exact => None,
        Undo::NewUid => Some("new-uid"),
        Undo::None => Some("none"),
    }
}

/// `file:line`, as far as it is known, escaped.
pub(super) fn place(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", escape(file)),
        (Some(file), None) => escape(file).into_owned(),
        (None, _) => String::new(),
    }
}

/// A resource, escaped.
pub(super) fn id(id: &ResourceId) -> String {
    escape(&id.to_string()).into_owned()
}

/// The permissions used, as they are given on a command line; not escaped.
pub(super) fn permissions(plan: &PlanDocument) -> Vec<String> {
    let given = &plan.allowances;
    let mut all = Vec::new();
    all.extend(given.deletes.map(|n| format!("--allow-deletes {n}")));
    all.extend(given.allow.iter().map(|id| format!("--allow {id}")));
    all.extend(given.adopt.iter().map(|id| format!("--adopt {id}")));
    all.extend(given.adoptions.map(|n| format!("--allow-adoptions {n}")));
    all.extend(given.adopt_from.iter().map(|name| format!("--adopt-from {name}")));
    all.extend(given.take_over.iter().map(|claim| format!("--take-over {claim}")));
    all.extend(given.release.iter().map(|id| format!("--release {id}")));
    all.extend(given.waive_dry_run.iter().map(|name| format!("--waive-dry-run {name}")));
    all
}

/// A warning on one line, escaped, without its place.
pub(super) fn warning(warning: &WarningEntry) -> String {
    let mut text = format!("{}: {}", escape(&warning.rule), escape(&warning.text));
    if let Some(raw) = &warning.raw {
        text.push_str(&format!(" (written {})", escape(raw)));
    }
    text
}
