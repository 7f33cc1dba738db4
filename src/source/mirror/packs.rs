//! The digests of a mirror's pack indexes: the git library follows a damaged one out of bounds, so it may see none.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::base::digest::sha256;
use crate::base::ids::Digest;

use super::error::MirrorError;

/// One line for each index: its digest and its file name.
const LIST: &str = "holdfast-packs";

type Digests = BTreeMap<String, Digest>;

/// Refuses a mirror of which an index isn't what it was when it came. One that isn't listed yet is being fetched.
pub(super) fn verify(folder: &Path) -> Result<(), MirrorError> {
    let listed = read_list(folder).map_err(|error| cache_error(folder, error))?;
    for (name, digest) in &listed {
        match fs::read(folder.join("objects/pack").join(name)) {
            Ok(bytes) if sha256(&bytes) == *digest => {}
            // Somebody packed the mirror anew.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) => {
                let text = format!("the index {name} isn't what it was when it was fetched");
                return Err(MirrorError::Damaged { path: folder.to_owned(), text });
            }
            Err(error) => return Err(cache_error(folder, error)),
        }
    }
    Ok(())
}

/// Lists the indexes that came. The caller holds the lock.
pub(super) fn record(folder: &Path) -> Result<(), MirrorError> {
    let write = || -> io::Result<()> {
        let old = read_list(folder)?;
        let mut new = Digests::new();
        for entry in fs::read_dir(folder.join("objects/pack"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.ends_with(".idx") {
                continue;
            }
            let digest = match old.get(&name) {
                Some(digest) => digest.clone(),
                None => sha256(&fs::read(folder.join("objects/pack").join(&name))?),
            };
            new.insert(name, digest);
        }
        if new == old {
            return Ok(());
        }
        let mut file = tempfile::Builder::new().prefix("holdfast-new-").tempfile_in(folder)?;
        for (name, digest) in &new {
            writeln!(file, "{digest} {name}")?;
        }
        file.persist(folder.join(LIST)).map(|_| ()).map_err(|e| e.error)
    };
    write().map_err(|error| cache_error(folder, error))
}

fn read_list(folder: &Path) -> io::Result<Digests> {
    let text = match fs::read_to_string(folder.join(LIST)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Digests::new()),
        text => text?,
    };
    let line = |line: &str| {
        let (digest, name) = line.split_once(' ')?;
        Some((name.to_owned(), Digest::parse(digest).ok()?))
    };
    text.lines()
        .map(|l| line(l).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the list of packs is damaged")))
        .collect()
}

fn cache_error(folder: &Path, error: io::Error) -> MirrorError {
    if error.kind() == io::ErrorKind::InvalidData {
        return MirrorError::Damaged { path: folder.to_owned(), text: error.to_string() };
    }
    MirrorError::Cache { path: folder.join(LIST), error }
}
