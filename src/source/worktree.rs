//! A local repository's uncommitted changes: they are in no commit, so in no plan, and that is said.

use std::path::Path;

use git2::{Repository, Status, StatusOptions};

use crate::base::fault::{At, Warning};
use crate::base::path::RepoPath;

use super::mirror::MirrorError;
use super::rules;

/// Most paths named; the warning counts the others.
pub const MAX_NAMED: usize = 20;

/// Lists the changed and untracked files under a Source's path in a local repository's work tree; none in a bare one.
///
/// # Errors
/// If the repository or its work tree can't be read.
pub fn uncommitted(repository: &Path, source: &RepoPath) -> Result<Vec<RepoPath>, MirrorError> {
    let failed = |e: git2::Error| MirrorError::Unreadable {
        url: repository.display().to_string(),
        text: e.message().to_owned(),
    };
    let opened = Repository::open(repository).map_err(failed)?;
    if opened.is_bare() {
        return Ok(Vec::new());
    }
    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .exclude_submodules(true)
        // Reading only: the index is the user's.
        .update_index(false)
        .disable_pathspec_match(true);
    if !source.as_bytes().is_empty() {
        options.pathspec(source.as_bytes());
    }
    let found = opened.statuses(Some(&mut options)).map_err(failed)?;
    let changed = found.iter().filter(|entry| !entry.status().intersects(Status::IGNORED));
    Ok(changed.map(|entry| RepoPath::new(entry.path_bytes())).collect())
}

/// Says that changes are not in the plan; nothing, if there are none.
pub fn warning(paths: &[RepoPath]) -> Option<Warning> {
    let first = paths.first()?;
    let named: Vec<String> = paths.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = match paths.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!("uncommitted changes are not in the plan: {}{more}", named.join(", "));
    Some(Warning::new(rules::UNCOMMITTED, text).at(At::file(first)))
}

/// A file of a commit, for a configuration that is read from git.
#[derive(Debug)]
pub struct CommittedFile {
    /// The work tree's top.
    pub top: std::path::PathBuf,
    /// The commit it was read from.
    pub commit: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Reads `path` at `reference` in the repository around `folder`.
///
/// # Errors
/// If there is no such repository, commit or file, or if the file has more than `limit` bytes.
pub fn read_file(folder: &Path, reference: &str, path: &str, limit: usize) -> Result<CommittedFile, MirrorError> {
    let unreadable = |text: String| MirrorError::Unreadable { url: folder.display().to_string(), text };
    let failed = |e: git2::Error| unreadable(e.message().to_owned());
    let repository = Repository::discover(folder).map_err(failed)?;
    let top = repository.workdir().unwrap_or_else(|| repository.path()).to_owned();
    let commit = repository.revparse_single(reference).and_then(|o| o.peel_to_commit()).map_err(failed)?;
    let entry = commit.tree().and_then(|tree| tree.get_path(Path::new(path))).map_err(failed)?;
    let odb = repository.odb().map_err(failed)?;
    let (size, kind) = odb.read_header(entry.id()).map_err(failed)?;
    if kind != git2::ObjectType::Blob || size > limit {
        return Err(unreadable(format!("{path} is no file of at most {limit} bytes")));
    }
    let bytes = odb.read(entry.id()).map_err(failed)?.data().to_vec();
    Ok(CommittedFile { top, commit: commit.id().to_string(), bytes })
}

/// Whether a file lies in the work tree that a folder belongs to; without one, below the folder itself. What can't be
/// found out counts as inside.
pub fn holds(file: &Path, folder: &Path) -> bool {
    let tree = Repository::discover(folder).ok().and_then(|found| found.workdir().map(Path::to_owned));
    let tree = tree.unwrap_or_else(|| folder.to_owned());
    match (file.canonicalize(), tree.canonicalize()) {
        (Ok(file), Ok(tree)) => file.starts_with(tree),
        _ => true,
    }
}
