//! Why a commit's files can't be listed or read at all.

use std::path::Path;

use crate::base::fault::{At, Fault};
use crate::base::ids::CommitId;
use crate::base::path::RepoPath;
use crate::base::text::escape;

use super::super::mirror::{MirrorError, distrust};
use super::super::rules;

/// A commit whose files can't be listed or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    /// The mirror can't be read.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The commit isn't in the mirror.
    #[error("the commit {0} is not there any more")]
    CommitGone(CommitId),
    /// The commit has nothing at the path: never the same as an empty folder.
    #[error("no such file or folder in commit {}: {}", commit.short(), escape(&path.to_string()))]
    MissingPath {
        /// The commit.
        commit: CommitId,
        /// The path.
        path: RepoPath,
    },
    /// A part of the path is a link.
    #[error("{} is a symbolic link; a Source's path goes through folders only", escape(&.0.to_string()))]
    LinkedPath(RepoPath),
    /// The path is a submodule, or leads into one.
    #[error("{} is a submodule at commit {commit}; its files are in another repository", escape(&path.to_string()))]
    Submodule {
        /// The submodule.
        path: RepoPath,
        /// The commit it stands at.
        commit: String,
    },
    /// More than a limit allows.
    #[error("{what}: the limit is {limit}")]
    Limit {
        /// What is too much.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// Where it was hit.
        path: RepoPath,
    },
    /// The tree isn't one that git would write.
    #[error("the tree of {} is malformed: {text}", escape(&path.to_string()))]
    Malformed {
        /// The folder.
        path: RepoPath,
        /// What is wrong.
        text: &'static str,
    },
    /// An object is missing or isn't what its ID says.
    #[error("{} can't be read from the mirror: {text}", escape(&path.to_string()))]
    Object {
        /// The file or folder.
        path: RepoPath,
        /// What the git library said.
        text: String,
    },
}

impl CheckoutError {
    /// The error as a fault of a report.
    pub fn fault(&self) -> Fault {
        let text = self.to_string();
        match self {
            Self::Mirror(error) => error.fault(),
            Self::CommitGone(_) => Fault::new(rules::COMMIT_GONE, text),
            Self::MissingPath { .. } | Self::LinkedPath(_) => Fault::new(rules::EMPTY_SOURCE, text),
            Self::Submodule { path, .. } => Fault::new(rules::SUBMODULE, text).at(At::file(path)),
            Self::Limit { path, .. } => Fault::new(rules::SIZE_LIMIT, text).at(At::file(path)),
            Self::Malformed { path, .. } | Self::Object { path, .. } => {
                Fault::new(rules::REPOSITORY, text).at(At::file(path))
            }
        }
    }

    /// Lets the mirror be fetched anew if it is the mirror that is at fault.
    pub(in crate::source) fn distrust(&self, folder: &Path) {
        if matches!(self, Self::Object { .. } | Self::Mirror(MirrorError::Damaged { .. })) {
            distrust(folder);
        }
    }

    pub(super) fn object(path: &RepoPath, error: &git2::Error) -> Self {
        Self::Object { path: path.clone(), text: error.message().to_owned() }
    }
}
