//! Follows a symbolic link inside a commit's tree, and only as far as the Source's path reaches.

use git2::{Oid, Repository, Tree};

use crate::base::path::RepoPath;

use super::CheckoutError;
use super::walk::{FOLDER, LINK, SUBMODULE};

/// Most links followed for one; as many as Linux follows.
const MAX_HOPS: usize = 40;
/// Longest target read, in bytes; as long as a path may be on Linux.
const MAX_TARGET: usize = 4096;

/// Where a link leads.
pub(super) enum Resolved {
    /// To a file.
    File { path: RepoPath, oid: Oid },
    /// To a folder.
    Folder,
    /// Out of the Source's path.
    Outside,
    /// Back to itself.
    Loop,
    /// To nothing.
    Dangling,
}

/// Resolves the link at `path`, whose target is the blob `id`.
pub(super) fn resolve(
    repository: &Repository,
    root: &Tree<'_>,
    source: &RepoPath,
    path: &RepoPath,
    id: Oid,
) -> Result<Resolved, CheckoutError> {
    let mut here: Vec<Vec<u8>> = parts(path.as_bytes());
    here.pop();
    // The parts still to go, the next one last.
    let mut ahead: Vec<Vec<u8>> = Vec::new();
    let Some(mut target) = target(repository, path, id)? else { return Ok(Resolved::Dangling) };
    for _ in 0..MAX_HOPS {
        if target.first() == Some(&b'/') {
            return Ok(Resolved::Outside);
        }
        let slash = target.ends_with(b"/");
        ahead.extend(parts(&target).into_iter().rev());
        if slash && ahead.is_empty() {
            return Ok(Resolved::Folder);
        }
        match step(repository, root, &mut here, &mut ahead)? {
            Step::Above => return Ok(Resolved::Outside),
            Step::Nothing if is_within(&here, source) => return Ok(Resolved::Dangling),
            Step::Nothing => return Ok(Resolved::Outside),
            Step::Submodule => return Ok(Resolved::Outside),
            Step::Folder if is_within(&here, source) => return Ok(Resolved::Folder),
            Step::File(oid) if is_within(&here, source) => return Ok(Resolved::File { path: join(&here), oid }),
            Step::Folder | Step::File(_) => return Ok(Resolved::Outside),
            Step::Link(oid) => {
                let link = join(&here);
                if !is_within(&here, source) {
                    return Ok(Resolved::Outside);
                }
                here.pop();
                match self::target(repository, &link, oid)? {
                    Some(next) => target = next,
                    None => return Ok(Resolved::Dangling),
                }
            }
        }
    }
    Ok(Resolved::Loop)
}

enum Step {
    File(Oid),
    Folder,
    Link(Oid),
    Submodule,
    Nothing,
    Above,
}

/// Goes on until there is nothing left to go, or something that is no folder is in the way.
fn step(
    repository: &Repository,
    root: &Tree<'_>,
    here: &mut Vec<Vec<u8>>,
    ahead: &mut Vec<Vec<u8>>,
) -> Result<Step, CheckoutError> {
    while let Some(part) = ahead.pop() {
        if part == b".." {
            if here.pop().is_none() {
                return Ok(Step::Above);
            }
            continue;
        }
        here.push(part);
        match entry(repository, root, here)? {
            None => return Ok(Step::Nothing),
            Some((FOLDER, _)) => {}
            Some((LINK, oid)) => return Ok(Step::Link(oid)),
            Some((SUBMODULE, _)) => return Ok(Step::Submodule),
            Some((_, oid)) if ahead.is_empty() => return Ok(Step::File(oid)),
            Some(_) => return Ok(Step::Nothing),
        }
    }
    Ok(Step::Folder)
}

fn entry(repository: &Repository, root: &Tree<'_>, here: &[Vec<u8>]) -> Result<Option<(i32, Oid)>, CheckoutError> {
    let mut tree = root.clone();
    for (i, part) in here.iter().enumerate() {
        let Some((mode, oid)) = tree.get_name_bytes(part).map(|e| (e.filemode_raw(), e.id())) else { return Ok(None) };
        if i + 1 == here.len() {
            return Ok(Some((mode, oid)));
        }
        tree = repository.find_tree(oid).map_err(|e| CheckoutError::object(&join(here), &e))?;
    }
    Ok(None)
}

/// The text of a link; `None` if it is none that a file system would take.
fn target(repository: &Repository, path: &RepoPath, id: Oid) -> Result<Option<Vec<u8>>, CheckoutError> {
    let object = |e: git2::Error| CheckoutError::object(path, &e);
    let odb = repository.odb().map_err(object)?;
    let (size, _) = odb.read_header(id).map_err(object)?;
    if size == 0 || size > MAX_TARGET {
        return Ok(None);
    }
    let text = odb.read(id).map_err(object)?.data().to_vec();
    Ok((!text.contains(&0)).then_some(text))
}

fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|&b| b == b'/').filter(|part| !matches!(*part, b"" | b".")).map(<[u8]>::to_vec).collect()
}

fn join(parts: &[Vec<u8>]) -> RepoPath {
    RepoPath::new(&parts.join(&b'/'))
}

fn is_within(here: &[Vec<u8>], source: &RepoPath) -> bool {
    let source = parts(source.as_bytes());
    here.len() >= source.len() && here[..source.len()] == source[..]
}
