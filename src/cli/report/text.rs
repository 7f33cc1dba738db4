//! The report for people.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::{count, place, warning};
use crate::admission::{Quote, Refusal, Rejection};
use crate::base::fault::At;
use crate::base::text::escape;

const RED: Style = AnsiColor::Red.on_default().bold();
const BLUE: Style = AnsiColor::Blue.on_default();
const BOLD: Style = Style::new().bold();

/// The widest part of a source line that is shown, in characters.
const WINDOW: usize = 100;

/// Every fault as `file:line:column: rule: text`, with its source line, a caret and a hint, grouped by file; then warnings,
/// the count, and that nothing was written.
pub(crate) fn text(rejection: &Rejection, color: bool) -> String {
    let paint = Paint { color };
    let mut out = String::new();
    let mut file = None;
    for refusal in rejection.refusals() {
        let own = refusal.fault.at.as_ref().map(|at| &at.file);
        if file.is_some_and(|before| before != own) {
            out.push('\n');
        }
        file = Some(own);
        one(refusal, paint, &mut out);
    }
    if !rejection.warnings().is_empty() {
        out.push('\n');
        for entry in rejection.warnings() {
            out.push_str(&warning(entry));
            out.push('\n');
        }
    }
    out.push_str(&format!("\n{}\n", paint.style(BOLD, &format!("{}. Nothing was written.", count(rejection)))));
    out
}

#[derive(Clone, Copy)]
struct Paint {
    color: bool,
}

impl Paint {
    fn style(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

fn one(refusal: &Refusal, paint: Paint, out: &mut String) {
    let fault = &refusal.fault;
    let mut line = String::new();
    if let Some(at) = &fault.at {
        line.push_str(&format!("{}: ", place(at)));
    }
    line.push_str(&format!("{}: ", paint.style(RED, fault.rule.as_str())));
    line.push_str(&escape(&fault.text));
    if let Some(id) = &fault.id {
        let id = id.to_string();
        if !fault.text.contains(&id) {
            line.push_str(&format!(" ({})", escape(&id)));
        }
    }
    out.push_str(&line);
    out.push('\n');
    if let Some(at) = &fault.at {
        quote(&refusal.quote, at, paint, out);
    }
    let mut more = |what: &str, text: &str| {
        out.push_str(&format!("      {} {text}\n", paint.style(BLUE, &format!("{what}:"))));
    };
    if let Some(path) = fault.path.as_ref().filter(|path| !path.is_root()) {
        more("field", &escape(path.as_str()));
    }
    if let Some(owner) = &fault.owner {
        more("owner", &format!("Source {owner}"));
    }
    for at in &fault.also {
        more("also", &place(at));
    }
    for id in &fault.holds {
        more("holds", &escape(&id.to_string()));
    }
    if let Some(hint) = &fault.hint {
        more("hint", &escape(hint));
    }
}

/// The source line, and a caret under the column.
fn quote(quote: &Quote, at: &At, paint: Paint, out: &mut String) {
    let number = at.line.to_string();
    let bar = paint.style(BLUE, "|");
    match quote {
        Quote::Nothing => {}
        Quote::Hidden => {
            let line = paint.style(BLUE, &format!("{number:>5}"));
            out.push_str(&format!("{line} {bar} (not shown: it may hold a sensitive value)\n"));
        }
        Quote::Line(text) => {
            let (shown, width) = window(text.trim_end(), at.column as usize);
            let line = paint.style(BLUE, &format!("{number:>5}"));
            out.push_str(&format!("{line} {bar} {shown}\n"));
            if let Some(width) = width {
                let caret = paint.style(RED, "^");
                out.push_str(&format!("      {bar} {}{caret}\n", " ".repeat(width)));
            }
        }
    }
}

/// The part of a line around a column, escaped, and how wide what stands before the column is.
fn window(line: &str, column: usize) -> (String, Option<usize>) {
    let length = line.chars().count();
    let start = if length > WINDOW { column.saturating_sub(WINDOW / 2).min(length - WINDOW) } else { 0 };
    let part = |from: usize, to: usize| -> String {
        let chars: String = line.chars().skip(from).take(to - from).collect();
        escape(&chars).into_owned()
    };
    let end = length.min(start + WINDOW);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < length { "…" } else { "" });
    let shown = format!("{before}{}{after}", part(start, end));
    let known = column > 0 && column <= length + 1;
    let width = known.then(|| before.width() + part(start, (column - 1).max(start)).width());
    (shown, width)
}
