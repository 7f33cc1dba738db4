//! Exit codes, mapped here alone.

use std::process::ExitCode;

use crate::apply::ApplyError;
use crate::target::TargetError;

/// How a command ended; the numbers are a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or nothing to do.
    Done,
    /// Refused, or a user's error.
    Refused,
    /// The command line can't be understood.
    Usage,
    /// Changes are pending (only with `--exit-code`).
    Pending,
    /// The plan is stale.
    Stale,
    /// Applied in part, or deletes still pending.
    Partial,
    /// A fault of Holdfast's own.
    Fault,
}

impl Exit {
    /// The number.
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Pending => 3,
            Self::Stale => 4,
            Self::Partial => 5,
            Self::Fault => 255,
        }
    }

    /// For the operating system.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }
}

/// Why a command can't go on; its text is for people, with what was left untouched and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    text: String,
    hint: Option<String>,
    exit: Exit,
}

impl Failure {
    /// A user's error, or a refusal.
    pub fn refused(text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: None, exit: Exit::Refused }
    }

    /// A command line that can't be understood.
    pub fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: None, exit: Exit::Usage }
    }

    /// A fault of ours.
    pub fn fault(text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: Some("please report this".to_owned()), exit: Exit::Fault }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do next.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// How the command ends.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let hint = match &error {
            TargetError::Locked { .. } => "wait until the other process is done, or give --lock-timeout",
            TargetError::Damaged { .. } => "nothing was written; restore the file from a backup, or name another target",
            TargetError::Newer { .. } => "nothing was written",
            TargetError::Unknown { .. } => "look at holdfast source list and holdfast history before anything else",
            TargetError::Unavailable { .. } | TargetError::WriteFailed { .. } => "nothing was written; mend the cause and try again",
            TargetError::Precondition { .. } => "nothing was written; make the plan again",
        };
        let stale = matches!(error, TargetError::Precondition { .. });
        let exit = if stale { Exit::Stale } else { Exit::Refused };
        Self { text: error.to_string(), hint: Some(hint.to_owned()), exit }
    }
}

/// How an apply that did not take place ends.
pub fn of_apply(error: &ApplyError) -> Exit {
    match error {
        ApplyError::Refused(refused) if refused.stale => Exit::Stale,
        ApplyError::Target(TargetError::Precondition { .. }) => Exit::Stale,
        _ => Exit::Refused,
    }
}
