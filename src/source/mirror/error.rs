//! What can go wrong between a repository and its mirror.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::base::fault::{Class, Fault};
use crate::base::ids::CommitId;

use super::super::mask::mask;
use super::super::rules;

/// A mirror that can't be used, or a fetch that failed. No text holds a credential.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The cache can be read by others than its owner.
    #[error("the cache {0} must belong to you and be closed to everybody else (chmod 700)")]
    CacheOpen(PathBuf),
    /// The cache can't be read or written.
    #[error("the cache {path} can't be used: {error}")]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Something in a mirror points elsewhere (alternates, grafts, a shallow border).
    #[error("the mirror {0} holds {1}, which would bring history from elsewhere; remove the mirror's folder")]
    Foreign(PathBuf, &'static str),
    /// The mirror's objects can't be read.
    #[error("the mirror {path} is damaged: {text}; a fetch makes it anew")]
    Damaged {
        /// The mirror.
        path: PathBuf,
        /// What the git library said.
        text: String,
    },
    /// The deadline passed.
    #[error("{url}: no answer within {} s; nothing was changed", deadline.as_secs_f32())]
    Deadline {
        /// The masked repository.
        url: String,
        /// How long was waited.
        deadline: Duration,
    },
    /// More came than is allowed.
    #[error("{url}: the repository is larger than the limit of {limit} {what}")]
    TooLarge {
        /// The masked repository.
        url: String,
        /// The limit.
        limit: u64,
        /// What is counted.
        what: &'static str,
    },
    /// The server wants a credential that nobody has, or refuses the one it got.
    #[error("{url}: the credentials of git's helpers, the ssh agent or key files were refused or missing: {text}")]
    Credentials {
        /// The masked repository.
        url: String,
        /// What the git library said.
        text: String,
    },
    /// The server isn't who it should be.
    #[error("{url}: the server's certificate or host key isn't trusted: {text}")]
    Untrusted {
        /// The masked repository.
        url: String,
        /// What the git library said.
        text: String,
    },
    /// The user's ssh configuration can't be followed.
    #[error("{url}: {text}")]
    Ssh {
        /// The masked repository.
        url: String,
        /// What of it.
        text: String,
    },
    /// The repository can't be read.
    #[error("{url}: the repository can't be read: {text}")]
    Unreadable {
        /// The masked repository.
        url: String,
        /// What the git library said.
        text: String,
    },
    /// The repository is shallow: its root commits can't be known.
    #[error("{0}: the repository is shallow, so its history can't be told; fetch it whole (git fetch --unshallow)")]
    Shallow(String),
    /// The repository's history is rewritten by grafts.
    #[error("{0}: the repository has grafts, so its history isn't what its commits say; remove info/grafts")]
    Grafts(String),
    /// The repository's HEAD names no branch.
    #[error("{0}: the repository's HEAD names no branch that exists; name one with ref")]
    NoHead(String),
    /// The branch isn't there.
    #[error("{url}: there is no branch {name}")]
    NoBranch {
        /// The masked repository.
        url: String,
        /// The branch.
        name: String,
    },
    /// The tag isn't there.
    #[error("{url}: there is no tag {name}")]
    NoTag {
        /// The masked repository.
        url: String,
        /// The tag.
        name: String,
    },
    /// The ref or ID names something that is no commit.
    #[error("{url}: {name} is no commit")]
    NoCommit {
        /// The masked repository.
        url: String,
        /// What was asked for.
        name: String,
    },
    /// The commit is gone from the repository and from the mirror.
    #[error("{url}: the commit {commit} is not there any more")]
    CommitGone {
        /// The masked repository.
        url: String,
        /// The commit.
        commit: CommitId,
    },
    /// The commit is there, but no branch or tag reaches it.
    #[error("{url}: the commit {commit} is reached by no branch and no tag")]
    Unreachable {
        /// The masked repository.
        url: String,
        /// The commit.
        commit: CommitId,
    },
    /// Offline, and nothing was ever fetched.
    #[error("{0}: nothing was fetched yet, so there is nothing to work with offline")]
    NeverFetched(String),
    /// A thread could not be started, or ended in a way it never should.
    #[error("{url}: the fetch broke off: {text}")]
    BrokeOff {
        /// The masked repository.
        url: String,
        /// Why.
        text: String,
    },
}

impl MirrorError {
    /// Whether the repository was read and has no such ref.
    pub fn is_missing_ref(&self) -> bool {
        matches!(self, Self::NoHead(_) | Self::NoBranch { .. } | Self::NoTag { .. })
    }

    /// Whether a commit is no longer anywhere in the repository.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::CommitGone { .. })
    }

    /// Whether another try may help.
    pub fn class(&self) -> Class {
        match self {
            Self::Deadline { .. } | Self::Unreadable { .. } | Self::Credentials { .. } | Self::BrokeOff { .. } => {
                Class::Target
            }
            _ => Class::Commit,
        }
    }

    /// The error as a fault of a report.
    pub fn fault(&self) -> Fault {
        let rule = match self {
            Self::CommitGone { .. } => rules::COMMIT_GONE,
            Self::Unreachable { .. } => rules::COMMIT_UNREACHABLE,
            Self::TooLarge { .. } => rules::SIZE_LIMIT,
            _ => rules::REPOSITORY,
        };
        Fault::new(rule, self.to_string()).class(self.class())
    }

    pub(super) fn remote(url: &str, error: &git2::Error, host_key: Option<String>) -> Self {
        let (url, text) = (url.to_owned(), mask(error.message()));
        match (error.code(), error.class(), host_key) {
            (git2::ErrorCode::Auth, ..) => Self::Credentials { url, text },
            (git2::ErrorCode::Certificate, _, Some(key)) => {
                Self::Untrusted { url, text: format!("{key}, and ~/.ssh/known_hosts has another one or none for it") }
            }
            (git2::ErrorCode::Certificate, ..) | (_, git2::ErrorClass::Ssl, _) => Self::Untrusted { url, text },
            (_, git2::ErrorClass::Callback, _) if text.starts_with(super::credentials::NONE) => {
                Self::Credentials { url, text }
            }
            _ => Self::Unreadable { url, text },
        }
    }
}
