//! SQLite's errors in the words of the port. None of them carries a value of an object.

use std::time::Duration;

use rusqlite::{Error, ErrorCode, ffi};

use super::lock;
use crate::target::TargetError;

/// Which database, for messages.
#[derive(Debug, Clone)]
pub(super) struct Name {
    /// The path, as shown.
    pub(super) shown: String,
    /// The path itself.
    pub(super) path: std::path::PathBuf,
}

impl Name {
    /// A failure to read.
    pub(super) fn reading(&self, error: Error) -> TargetError {
        match code(&error) {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => self.damaged(error.to_string()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.locked(None),
            // A table or column that isn't there.
            Some(ErrorCode::Unknown) | None => self.damaged(error.to_string()),
            Some(_) => self.unavailable(error.to_string()),
        }
    }

    /// A failure to write, before the commit: the transaction is given up.
    pub(super) fn writing(&self, error: Error) -> TargetError {
        match code(&error) {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => self.damaged(error.to_string()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.locked(None),
            Some(ErrorCode::DiskFull) => self.write_failed("the disk or the file's size limit is full"),
            Some(ErrorCode::ReadOnly) => self.write_failed("the file, its folder or its file system is read-only"),
            _ => self.write_failed(error.to_string()),
        }
    }

    pub(super) fn damaged(&self, reason: impl Into<String>) -> TargetError {
        TargetError::Damaged { target: self.shown.clone(), reason: reason.into() }
    }

    pub(super) fn unavailable(&self, reason: impl Into<String>) -> TargetError {
        TargetError::Unavailable { target: self.shown.clone(), reason: reason.into() }
    }

    pub(super) fn write_failed(&self, reason: impl Into<String>) -> TargetError {
        TargetError::WriteFailed { target: self.shown.clone(), reason: reason.into() }
    }

    /// Somebody else's lock, with who it is where the system tells.
    pub(super) fn locked(&self, wait: Option<Duration>) -> TargetError {
        let holder = lock::holder(&self.path).unwrap_or_else(|| "another process".to_owned());
        let reason = match wait {
            Some(wait) => format!("waited {} ms for {holder}", wait.as_millis()),
            None => format!("waited in vain for {holder}"),
        };
        TargetError::Locked { target: self.shown.clone(), reason }
    }
}

fn code(error: &Error) -> Option<ErrorCode> {
    match error {
        Error::SqliteFailure(ffi::Error { code, .. }, _) => Some(*code),
        _ => None,
    }
}

/// Whether a lock is held by somebody else.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(code(error), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the file can't be opened as asked, though it may be there: so in a folder that can't be written.
pub(super) fn is_no_access(error: &Error) -> bool {
    matches!(code(error), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
}
