//! A plan as a comment on a pull request.
//!
//! Outside text stands only in code whose fence is longer than any run of backticks in it: there it is no link, no
//! mention and no HTML. No tables: a backslash before a pipe breaks out of their cells.

use super::super::document::{Action, ChangeEntry, PlanDocument};
use super::table::{details, notes};
use super::{View, diff, words};
use crate::base::text::escape;

/// The longest comment, in characters; GitHub refuses more than 65,536.
pub const MARKDOWN_LIMIT: usize = 60_000;

/// Room for the line that says what was cut.
const NOTICE: usize = 400;

/// The plan as Markdown. What takes something away or over stands first and is never cut; what doesn't fit is counted,
/// and the comment then begins with `INCOMPLETE`. Only where those first rows alone are too long is it longer than
/// [`MARKDOWN_LIMIT`]: a comment that can't be posted is better than one that hides a delete.
pub fn markdown(plan: &PlanDocument, view: &View<'_>) -> String {
    let mut page = Page { text: String::new(), used: 0 };
    head(plan, &mut page);
    let (risky, other): (Vec<_>, Vec<_>) = plan.changes.iter().partition(|change| words::is_risky(change));
    if !risky.is_empty() || !plan.waivers.is_empty() || !words::permissions(plan).is_empty() {
        page.push("\n#### Look at these first\n\n");
        for waiver in &plan.waivers {
            page.push(&format!("- **waived** {}: {}\n", inline_code(&waiver.rule), inline_code(&waiver.reason)));
        }
        for permission in words::permissions(plan) {
            page.push(&format!("- **permission used** {}\n", inline_code(&permission)));
        }
        if !risky.is_empty() {
            page.push("\n");
        }
        for (number, change) in risky.iter().enumerate() {
            page.push(&row(number + 1, change, plan));
        }
    }
    let tail = tail(view);
    page.used += tail.chars().count() + NOTICE;

    let rows: Vec<String> =
        other.iter().enumerate().map(|(number, change)| row(risky.len() + number + 1, change, plan)).collect();
    let rows_cut = page.section("Other changes", &rows);
    let warnings: Vec<String> = plan.warnings.iter().map(warning).collect();
    let warnings_cut = page.section("Warnings", &warnings);
    let shown = risky.iter().chain(&other).enumerate();
    let diffs: Vec<String> =
        shown.filter(|(_, change)| !change.fields.is_empty()).map(|(n, change)| folded(n + 1, change, plan)).collect();
    let diffs_cut = page.section("Diffs", &diffs);
    page.text.push_str(&tail);

    if rows_cut + warnings_cut + diffs_cut == 0 {
        return page.text;
    }
    format!(
        "INCOMPLETE: this comment leaves out {rows_cut} of {} changes, {warnings_cut} of {} warnings and {diffs_cut} of {} \
         diffs. Every delete, replace, adoption and transfer, every taken field, waiver, RBAC and cluster-scoped change \
         is listed. The saved plan has all: `holdfast show PLAN`.\n\n{}",
        plan.changes.len(),
        plan.warnings.len(),
        diffs.len(),
        page.text
    )
}

struct Page {
    text: String,
    used: usize,
}

impl Page {
    fn push(&mut self, text: &str) {
        self.used += text.chars().count();
        self.text.push_str(text);
    }

    /// Adds what fits of a section, and returns how many entries did not.
    fn section(&mut self, title: &str, entries: &[String]) -> usize {
        let title = format!("\n#### {title}\n\n");
        let mut added = 0;
        for entry in entries {
            let head = if added == 0 { title.chars().count() } else { 0 };
            if self.used + head + entry.chars().count() <= MARKDOWN_LIMIT {
                if added == 0 {
                    self.push(&title);
                }
                self.push(entry);
                added += 1;
            }
        }
        entries.len() - added
    }
}

fn head(plan: &PlanDocument, page: &mut Page) {
    page.push(&format!("### {}\n\n", words::summary(&plan.summary)));
    let kind = match plan.target.kind {
        crate::target::TargetKind::Embedded => "embedded",
        crate::target::TargetKind::Kubernetes => "kubernetes",
    };
    page.push(&format!("- Target: {kind}, {}\n", inline_code(plan.target.identity.as_str())));
    for source in &plan.sources {
        let path = if source.path.is_empty() { String::new() } else { format!(", path {}", inline_code(&source.path)) };
        let name = inline_code(source.name.as_str());
        page.push(&format!("- Source {name}: commit {}{path}\n", inline_code(source.commit.as_str())));
        for note in notes(source) {
            page.push(&format!("  - **{note}**\n"));
        }
    }
    page.push(&format!("- PlanId: {}\n", inline_code(plan.plan_id.as_str())));
    page.push(&format!("- ContentId: {}\n", inline_code(plan.content_id.as_str())));
}

fn row(number: usize, change: &ChangeEntry, plan: &PlanDocument) -> String {
    let mut text = format!("{number}. **{}** {}", change.action.as_str(), inline_code(&change.id.to_string()));
    for mark in words::marks(change) {
        text.push_str(&format!(", **{mark}**"));
    }
    if plan.sources.len() > 1 {
        text.push_str(&format!(", Source {}", inline_code(change.source.as_str())));
    }
    if change.file.is_some() {
        text.push_str(&format!(", {}", inline_code(&words::place(change.file.as_deref(), change.line))));
    }
    if let Some(undo) = words::undo(change) {
        text.push_str(&format!(", undo: {undo}"));
    }
    if let Some(reason) = &change.reason {
        text.push_str(&format!(": {}", inline_code(reason)));
    }
    let fields = change.fields.iter().filter(|field| !field.path.is_root()).count();
    if fields > 0 && change.action != Action::Create {
        text.push_str(&format!(" ({fields} field{})", if fields == 1 { "" } else { "s" }));
    }
    text.push('\n');
    for detail in details(change, plan.target.kind) {
        text.push_str(&format!("   - {}\n", inline_code(&detail)));
    }
    text
}

fn warning(warning: &super::super::document::WarningEntry) -> String {
    let place = words::place(warning.file.as_deref(), warning.line);
    let place = if place.is_empty() { place } else { format!("{} ", inline_code(&place)) };
    format!("- {place}{}\n", inline_code(&words::warning(warning)))
}

fn folded(number: usize, change: &ChangeEntry, plan: &PlanDocument) -> String {
    let mut text = String::new();
    diff::one(change, plan.target.kind, false, &mut text);
    format!(
        "<details><summary>{number}. {}</summary>\n\n{}\n</details>\n",
        change.action.as_str(),
        fenced("diff", &text)
    )
}

fn tail(view: &View<'_>) -> String {
    view.next.map(|next| format!("\nNext:\n\n{}", fenced("sh", &escape(next)))).unwrap_or_default()
}

/// A text as inline code that nothing in it can end. Control and hidden characters are shown as escapes.
pub fn inline_code(text: &str) -> String {
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    let text = escape(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Lines as a code block that nothing in them can end. The lines must be escaped already.
pub fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
