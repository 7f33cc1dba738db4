//! The files of a commit under a Source's path, read from its tree and never from a work tree.

mod error;
mod links;
mod read;
mod walk;

use std::path::PathBuf;

use git2::{Oid, Repository};

use crate::base::fault::Fault;
use crate::base::ids::CommitId;
use crate::base::path::RepoPath;

use super::limits::Limits;
use super::mirror::open_reader;
pub use error::CheckoutError;
pub use read::Blobs;
use walk::Walk;

/// The file whose patterns name what is no manifest.
pub const IGNORE_FILE: &[u8] = b".holdfastignore";

/// The files of one commit under one path, in the order of their paths' bytes.
#[derive(Debug, Clone)]
pub struct Checkout {
    folder: PathBuf,
    limits: Limits,
    /// The commit.
    pub commit: CommitId,
    /// The folder or file, from the repository's top.
    pub path: RepoPath,
    /// Every file and every link to one, whatever its ending.
    pub files: Vec<TreeFile>,
    /// Submodules and links that are refused. A caller drops those that the Source ignores.
    pub faults: Vec<Fault>,
    /// Folders that begin with a dot: they are outside.
    pub hidden_folders: usize,
    /// Files with a counted ending in those.
    pub hidden_files: usize,
    /// Each `.holdfastignore` under the path: the folder it stands in, and its text.
    pub ignore_files: Vec<(RepoPath, Vec<u8>)>,
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path from the repository's top.
    pub path: RepoPath,
    /// Whether its ending says that it is a manifest, or it is the Source's path itself.
    pub counted: bool,
    /// Where its content is, if it is a symbolic link.
    pub link_target: Option<RepoPath>,
    oid: Oid,
}

impl TreeFile {
    /// The ID of its content, 40 hex digits.
    pub fn blob_id(&self) -> String {
        self.oid.to_string()
    }
}

impl Checkout {
    pub(super) fn list(
        repository: &Repository,
        folder: PathBuf,
        commit: &CommitId,
        path: &RepoPath,
        limits: &Limits,
    ) -> Result<Self, CheckoutError> {
        let walk = Walk::run(repository, commit, path, limits)?;
        let mut checkout = Self {
            folder,
            limits: *limits,
            commit: commit.clone(),
            path: path.clone(),
            files: walk.files,
            faults: walk.faults,
            hidden_folders: walk.hidden_folders,
            hidden_files: walk.hidden_files,
            ignore_files: Vec::new(),
        };
        checkout.read_ignore_files(repository)?;
        Ok(checkout)
    }

    /// How many files have a counted ending.
    pub fn counted(&self) -> usize {
        self.files.iter().filter(|file| file.counted).count()
    }

    fn open(&self) -> Result<Repository, CheckoutError> {
        Ok(open_reader(&self.folder)?)
    }
}

/// Whether a file's ending counts as a manifest's: .yaml, .yml or .json in any case.
pub fn is_counted(name: &[u8]) -> bool {
    let ends = |end: &[u8]| name.len() > end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end);
    ends(b".yaml") || ends(b".yml") || ends(b".json")
}
