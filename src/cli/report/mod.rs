//! A refusal as people and machines read it: every fault at its place, with its source line, a caret and a hint.

pub(crate) mod drift;
mod json;
mod receipt;
pub(crate) mod status;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use json::json;
pub(crate) use receipt::receipt;
pub(crate) use text::text;

use crate::admission::Rejection;
use crate::base::fault::{At, Warning};
use crate::base::text::escape;
use crate::plan::render::{MARKDOWN_LIMIT, fenced};

/// The refusal as a comment on a pull request; what doesn't fit is counted, and the comment then begins with `INCOMPLETE`.
pub(crate) fn markdown(rejection: &Rejection) -> String {
    let report = text(rejection, false);
    let head = format!("### Refused: {}\n\n", count(rejection));
    let room = MARKDOWN_LIMIT.saturating_sub(head.chars().count() + 400);
    if report.chars().count() <= room {
        return format!("{head}{}", fenced("text", &report));
    }
    let (mut kept, mut used, mut lines) = (String::new(), 0, 0);
    for line in report.lines() {
        let length = line.chars().count() + 1;
        if used + length > room {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
        used += length;
        lines += 1;
    }
    let all = report.lines().count();
    let notice = format!("INCOMPLETE: this comment leaves out {} of {all} lines of the report.", all - lines);
    format!("{notice}\n\n{head}{}", fenced("text", &kept))
}

/// `5 faults in 3 files`.
fn count(rejection: &Rejection) -> String {
    let faults = rejection.refusals().len();
    let mut files: Vec<_> = rejection.faults().filter_map(|fault| fault.at.as_ref()).map(|at| &at.file).collect();
    files.sort();
    files.dedup();
    let several = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match files.len() {
        0 => several(faults, "fault"),
        n => format!("{} in {}", several(faults, "fault"), several(n, "file")),
    }
}

/// `file:line:column`, as far as it is known, escaped.
fn place(at: &At) -> String {
    let file = at.file.to_string();
    let file = escape(&file);
    match (at.line, at.column) {
        (0, _) => file.into_owned(),
        (line, 0) => format!("{file}:{line}"),
        (line, column) => format!("{file}:{line}:{column}"),
    }
}

/// Warnings, each on one line, as they stand beside a plan or a refusal.
pub(crate) fn warning(warning: &Warning) -> String {
    let place = warning.at.as_ref().map(|at| format!("{}: ", place(at))).unwrap_or_default();
    let id = warning.id.as_ref().map(|id| format!("{}: ", escape(&id.to_string()))).unwrap_or_default();
    let raw = warning.raw.as_ref().map(|raw| format!(" (written {})", escape(raw))).unwrap_or_default();
    format!("{place}warning: {}: {id}{}{raw}", warning.rule, escape(&warning.text))
}
