//! Warnings as a plan records them.

use super::document::WarningEntry;
use crate::base::fault::Warning;

/// The plain form of a warning.
pub(super) fn entry(warning: &Warning) -> WarningEntry {
    WarningEntry {
        rule: warning.rule.as_str().to_owned(),
        text: warning.text.clone(),
        file: warning.at.as_ref().map(|at| at.file.to_string()),
        line: warning.at.as_ref().map(|at| at.line).filter(|line| *line > 0),
        path: warning.path.clone(),
        id: warning.id.clone(),
        raw: warning.raw.clone(),
    }
}
