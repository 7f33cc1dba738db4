//! Every fetch brings a pack; when there are many, all objects go into one, and nothing is lost at any moment.
//!
//! The packs that the new one replaces stay until the next time: whoever reads them now is not disturbed. An object that no ref
//! reaches any more is kept too, since a reviewed plan may name its commit.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use git2::Repository;

use super::cache;
use super::error::MirrorError;

/// More packs than this become one.
const MANY: usize = 50;
/// The packs that a new one has replaced, one name a line.
const REPLACED: &str = "holdfast-replaced-packs";

/// Makes one pack of many. The caller holds the lock; whenever it is broken off, what is there is whole.
pub(super) fn collapse(folder: &Path) -> Result<(), MirrorError> {
    let failed = |error| MirrorError::Cache { path: folder.join("objects/pack"), error };
    let present = packs(folder).map_err(failed)?;
    let replaced = replaced(folder).map_err(failed)?;
    let live: BTreeSet<&String> = present.difference(&replaced).collect();
    if live.len() <= MANY {
        return Ok(());
    }
    let repository = cache::open(folder)?;
    write_one(&repository)
        .map_err(|e| MirrorError::Damaged { path: folder.to_owned(), text: e.message().to_owned() })?;
    drop(repository);
    // Named as replaced only now that the new one is there; those that were replaced before go.
    let note = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix("holdfast-new-").tempfile_in(folder)?;
        for name in &live {
            writeln!(file, "{name}")?;
        }
        file.persist(folder.join(REPLACED)).map(drop).map_err(|error| error.error)?;
        for name in replaced.intersection(&present) {
            for ending in ["idx", "pack"] {
                fs::remove_file(folder.join("objects/pack").join(format!("{name}.{ending}")))?;
            }
        }
        Ok(())
    };
    note().map_err(failed)
}

/// Writes a pack of every object there is.
fn write_one(repository: &Repository) -> Result<(), git2::Error> {
    let odb = repository.odb()?;
    let mut all = Vec::new();
    odb.foreach(|id| {
        all.push(*id);
        true
    })?;
    let mut builder = repository.packbuilder()?;
    for id in all {
        builder.insert_object(id, None)?;
    }
    let mut writer = odb.packwriter()?;
    let mut broken = None;
    builder.foreach(|chunk| match writer.write_all(chunk) {
        Ok(()) => true,
        Err(error) => {
            broken = Some(error);
            false
        }
    })?;
    match broken {
        Some(error) => Err(git2::Error::from_str(&error.to_string())),
        None => writer.commit().map(drop),
    }
}

/// The names of the packs that are whole.
fn packs(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder.join("objects/pack"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".idx").map(str::to_owned));
    }
    Ok(names)
}

fn replaced(folder: &Path) -> io::Result<BTreeSet<String>> {
    match fs::read_to_string(folder.join(REPLACED)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        // A name that a path could be made of is none of ours.
        text => Ok(text?.lines().filter(|name| !name.contains(['/', '\\'])).map(str::to_owned).collect()),
    }
}
