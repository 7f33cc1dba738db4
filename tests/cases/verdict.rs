//! How a step, and a case, can end.

use std::collections::BTreeSet;
use std::fmt;

/// Why a course does not go on.
#[derive(Debug, Clone)]
pub(crate) enum Stop {
    /// The tool did something else than expected.
    Failed(String),
    /// A command that this build of the tool does not have.
    Missing(String),
    /// Something that this target does not have.
    Unsupported(String),
}

/// A step, or part of one.
pub(crate) type Done<T = ()> = Result<T, Stop>;

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Fails with all problems, unless there is none.
pub(crate) fn none_of(problems: Vec<String>) -> Done {
    if problems.is_empty() { Ok(()) } else { Err(Stop::Failed(problems.join("; "))) }
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every step as expected.
    Passed,
    /// A step was not; with the step and the reason.
    Failed(String),
    /// Not performed in full; with the reason.
    Skipped(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed(why) => write!(f, "failed: {}", why.replace('\n', " | ")),
            Self::Skipped(why) => write!(f, "skipped: {}", why.replace('\n', " | ")),
        }
    }
}

impl Verdict {
    /// A case that met commands of a later release, and was as expected in all that could be performed.
    pub(crate) fn of_missing(commands: &BTreeSet<String>) -> Self {
        let names: Vec<&str> = commands.iter().map(String::as_str).collect();
        Self::Skipped(format!("command of a later release: {}", names.join(", ")))
    }
}
