//! Plans as people and machines read them: a table, diffs, JSON, Markdown for a pull request.
//!
//! Pure: a document becomes a text. Outside text is escaped everywhere, and a colour or symbol never carries meaning alone.

mod diff;
mod markdown;
mod paint;
mod partial;
mod table;
mod words;

pub use diff::diff;
pub use markdown::{MARKDOWN_LIMIT, fenced, inline_code, markdown};
pub use table::table;
pub use words::{is_risky, summary};

use super::document::PlanDocument;
use super::identity::NoForm;
use crate::base::text::escape_json;

/// How a plan is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct View<'a> {
    /// Whether to colour.
    pub color: bool,
    /// The exact next command, printed after the summary.
    pub next: Option<&'a str>,
}

/// The plan as one JSON document, with a final line end; what hides in it is written as JSON escapes.
///
/// # Errors
/// If a part of it has no JSON form.
pub fn json(plan: &PlanDocument, pretty: bool) -> Result<String, NoForm> {
    let text = if pretty { serde_json::to_string_pretty(plan)? } else { serde_json::to_string(plan)? };
    let mut text = escape_json(&text).into_owned();
    text.push('\n');
    Ok(text)
}
