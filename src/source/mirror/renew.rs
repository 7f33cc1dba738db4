//! A mirror that can't be trusted is never mended in place: another is fetched beside it and takes its name, and the old one is
//! moved aside for whoever wants to look. Until the new one is whole the old one stays, and reads as damaged, never as absent.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use git2::Repository;
use tempfile::TempDir;

use crate::base::ids::CommitId;

use super::cache::{self, Place};
use super::error::MirrorError;
use super::packs;

/// In a mirror that a reader found damaged; the next fetch sees it.
const DISTRUSTED: &str = "holdfast-distrusted";
/// Where the refs of applied commits are.
pub(super) const APPLIED: &str = "refs/holdfast/applied";
/// How often others may make an empty mirror between two renames of ours.
const TRIES: usize = 5;

/// Notes that something in a mirror could not be read.
pub(super) fn distrust(folder: &Path) {
    // The damage itself is reported. Where not even this can be written, the next reader finds it again.
    let _ = fs::write(folder.join(DISTRUSTED), "");
}

/// Whether a reader found it damaged.
pub(super) fn is_distrusted(folder: &Path) -> bool {
    folder.join(DISTRUSTED).exists()
}

/// Opens a mirror that seems sound; else why it must be fetched anew.
pub(super) fn sound(folder: &Path) -> Result<Result<Repository, String>, MirrorError> {
    if is_distrusted(folder) {
        return Ok(Err("an object in it could not be read".to_owned()));
    }
    match packs::verify(folder).and_then(|()| cache::open(folder)) {
        Ok(repository) => Ok(Ok(repository)),
        Err(MirrorError::Damaged { text, .. }) => Ok(Err(text)),
        Err(error) => Err(error),
    }
}

/// An empty mirror under a name of its own; it goes away unless it takes a place.
pub(super) struct Fresh {
    holder: TempDir,
}

impl Fresh {
    pub(super) fn beside(place: &Place) -> Result<Self, MirrorError> {
        Ok(Self { holder: cache::new_mirror(place.root(), &place.folder)? })
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.holder.path().join(cache::NEW)
    }

    /// Takes the place, with the refs of those applied commits that came too. Gives the folder of the old one. The caller
    /// holds the lock.
    pub(super) fn take(self, place: &Place) -> Result<PathBuf, MirrorError> {
        let folder = self.folder();
        carry_applied(&place.folder, &folder)?;
        let aside = place.folder.with_extension("damaged");
        let failed = |path: &Path, error| MirrorError::Cache { path: path.to_owned(), error };
        match fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&aside, error)),
            _ => {}
        }
        let mut result = Ok(());
        for attempt in 0..TRIES {
            // Only the first is the old one; a later one is an empty one, made by somebody who found none.
            let moved = match attempt {
                0 => fs::rename(&place.folder, &aside),
                _ => remove_empty(&place.folder),
            };
            moved.map_err(|error| failed(&place.folder, error))?;
            result = fs::rename(&folder, &place.folder);
            if result.is_ok() {
                break;
            }
        }
        result.map_err(|error| failed(&place.folder, error))?;
        Ok(aside)
    }
}

/// Removes a mirror that was never fetched.
fn remove_empty(folder: &Path) -> io::Result<()> {
    if folder.join(super::FETCHED).exists() {
        return Err(io::Error::other("somebody else fetched a mirror without the lock"));
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The names of these refs are their commits, so that they can be read from a mirror that is no repository any more.
fn carry_applied(from: &Path, to: &Path) -> Result<(), MirrorError> {
    let damaged = |e: git2::Error| MirrorError::Damaged { path: to.to_owned(), text: e.message().to_owned() };
    let entries = match fs::read_dir(from.join(APPLIED)) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        entries => entries.map_err(|error| MirrorError::Cache { path: from.join(APPLIED), error })?,
    };
    let repository: Repository = cache::open(to)?;
    for entry in entries {
        let entry = entry.map_err(|error| MirrorError::Cache { path: from.join(APPLIED), error })?;
        let Ok(commit) = CommitId::parse(&entry.file_name().to_string_lossy()) else { continue };
        let id = super::history::oid(&commit).map_err(damaged)?;
        if repository.find_commit(id).is_ok() {
            repository.reference(&format!("{APPLIED}/{commit}"), id, true, "applied").map_err(damaged)?;
        }
    }
    Ok(())
}
