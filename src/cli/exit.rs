//! Exit codes, mapped here alone.

use std::process::ExitCode;

use crate::admission::Rejection;
use crate::admission::TARGET_UNREADABLE;
use crate::apply::{ApplyError, LOCKED};
use crate::base::fault::Fault;
use crate::plan::binding::{PLAN_DIGEST, STALE_PLAN};
use crate::plan::identity::NoForm;
use crate::plan::stored::StoredError;
use crate::target::TargetError;

/// How a command ended; the numbers are a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
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
    pub(crate) fn number(self) -> u8 {
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
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }
}

/// Why a command can't go on; its text is for people, with what was left untouched and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Failure {
    text: String,
    hint: Option<String>,
    exit: Exit,
}

impl Failure {
    /// A user's error, or a refusal.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: None, exit: Exit::Refused }
    }

    /// A command line that can't be understood.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: None, exit: Exit::Usage }
    }

    /// A fault of ours.
    pub(crate) fn fault(text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: Some("please report this".to_owned()), exit: Exit::Fault }
    }

    /// Adds what to do next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do next.
    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// How the command ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let exit = match &error {
            TargetError::Precondition { .. } => Exit::Stale,
            TargetError::Unknown { .. } | TargetError::Partial { .. } | TargetError::Unfinished { .. } => Exit::Partial,
            _ => Exit::Refused,
        };
        Self { text: error.to_string(), hint: Some(hint(&error).to_owned()), exit }
    }
}

fn hint(error: &TargetError) -> &'static str {
    match error {
        TargetError::Locked { .. } => "wait until the other process is done, or give it longer with --lock-timeout",
        TargetError::Damaged { .. } => "nothing was written; restore the file from a backup, or name another target",
        TargetError::Newer { .. } => "nothing was written",
        TargetError::Partial { .. } => "look at what is left, put it right by hand, and make the plan again",
        TargetError::Unfinished { .. } => "run holdfast recover once the cause is mended",
        TargetError::Unknown { .. } => "look at holdfast source list and holdfast history before anything else",
        TargetError::Unavailable { .. } | TargetError::WriteFailed { .. } => {
            "nothing was written; mend the cause and try again"
        }
        TargetError::Precondition { .. } => "nothing was written; make the plan again",
        TargetError::Refused { .. } => "nothing was written",
        TargetError::Ambiguous { .. } => "holdfast history lists the IDs",
    }
}

/// Why a command stops short.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It can't go on.
    Failure(Failure),
    /// It was refused, for these reasons.
    Refused {
        /// Everything that is wrong.
        rejection: Box<Rejection>,
        /// How it ends.
        exit: Exit,
    },
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Refused { rejection: Box::new(rejection), exit: Exit::Refused }
    }
}

impl From<Vec<Fault>> for Stop {
    fn from(faults: Vec<Fault>) -> Self {
        let mut rejection = Rejection::new();
        faults.into_iter().for_each(|fault| rejection.push(fault));
        rejection.into()
    }
}

impl From<TargetError> for Stop {
    fn from(error: TargetError) -> Self {
        if let TargetError::Refused { faults } = error {
            return faults.into();
        }
        let (rule, exit) = match &error {
            // Whether something was written is not known: no refusal, which says that nothing was.
            TargetError::Unknown { .. }
            | TargetError::Partial { .. }
            | TargetError::Unfinished { .. }
            | TargetError::Ambiguous { .. } => return Self::Failure(error.into()),
            TargetError::Locked { .. } => (LOCKED, Exit::Refused),
            TargetError::Precondition { .. } => (STALE_PLAN, Exit::Stale),
            _ => (TARGET_UNREADABLE, Exit::Refused),
        };
        let fault = Fault::new(rule, error.to_string()).class(error.class()).hint(hint(&error));
        Self::Refused { rejection: Box::new(Rejection::of(fault)), exit }
    }
}

impl From<ApplyError> for Stop {
    fn from(error: ApplyError) -> Self {
        let exit = of_apply(&error);
        match error {
            ApplyError::Refused(refused) => Self::Refused { rejection: Box::new(refused.rejection), exit },
            ApplyError::Target(error) => error.into(),
            ApplyError::Interrupted => Self::Failure(Failure::refused("interrupted; nothing was written")),
        }
    }
}

impl From<StoredError> for Stop {
    fn from(error: StoredError) -> Self {
        let hint = match &error {
            StoredError::OtherVersion { .. } => "make the plan again with this holdfast, or use the one that made it",
            StoredError::NotAPlan | StoredError::NotJson { .. } => "a plan is saved with holdfast plan --out FILE",
            _ => "make the plan again; nothing of this file is used",
        };
        Rejection::of(Fault::new(PLAN_DIGEST, error.to_string()).hint(hint)).into()
    }
}

impl From<serde_json::Error> for Stop {
    fn from(error: serde_json::Error) -> Self {
        Self::Failure(error.into())
    }
}

impl From<NoForm> for Stop {
    fn from(error: NoForm) -> Self {
        Self::Failure(error.into())
    }
}

impl From<NoForm> for Failure {
    fn from(error: NoForm) -> Self {
        Self::fault(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::fault(format!("the output can't be written as JSON: {error}"))
    }
}

/// How an apply that did not take place ends.
pub(crate) fn of_apply(error: &ApplyError) -> Exit {
    match error {
        ApplyError::Refused(refused) if refused.stale => Exit::Stale,
        ApplyError::Target(TargetError::Precondition { .. }) => Exit::Stale,
        _ => Exit::Refused,
    }
}
