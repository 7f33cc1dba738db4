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
