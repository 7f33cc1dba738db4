//! Colours, where they are wanted.

use anstyle::{AnsiColor, Style};

use super::super::document::Action;

/// A colour for what is added.
pub(super) const ADDED: Style = AnsiColor::Green.on_default();
/// A colour for what is removed.
pub(super) const REMOVED: Style = AnsiColor::Red.on_default();
/// A colour for what changes.
pub(super) const CHANGED: Style = AnsiColor::Yellow.on_default();
/// A colour for what needs a look.
pub(super) const NOTED: Style = AnsiColor::Cyan.on_default();
/// For headings.
pub(super) const BOLD: Style = Style::new().bold();
/// For what matters less.
pub(super) const DIM: Style = Style::new().dimmed();

/// Colours a text, or leaves it alone.
pub(super) fn paint(color: bool, style: Style, text: &str) -> String {
    if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// The colour of an action.
pub(super) fn of(action: Action) -> Style {
    match action {
        Action::Create => ADDED,
        Action::Delete | Action::Replace => REMOVED,
        Action::Update => CHANGED,
        Action::Adopt | Action::Transfer | Action::Release => NOTED,
        Action::Own | Action::Keep => DIM,
    }
}
