//! The folder of mirrors: only its owner can read it, and a mirror appears in it whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use git2::{Config, Repository, RepositoryInitOptions};

use crate::base::digest::sha256;

use super::super::url::RepositoryUrl;
use super::credentials::Credentials;
use super::error::MirrorError;

/// What a mirror is called until it takes its place.
pub(super) const NEW: &str = "mirror.git";

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> MirrorError + '_ {
    move |error| MirrorError::Cache { path: path.to_owned(), error }
}

/// Where one mirror and its lock are.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) lock: PathBuf,
}

impl Place {
    /// The cache that it is in.
    pub(super) fn root(&self) -> &Path {
        self.folder.parent().unwrap_or(Path::new("."))
    }
}

/// Makes the cache and the mirror if need be; whoever comes second finds the first one's.
pub(super) fn prepare(root: &Path, url: &RepositoryUrl, credentials: Credentials) -> Result<Place, MirrorError> {
    private_folder(root)?;
    let key = sha256(format!("{}\n{}", url.fetch_url(), credentials.key()).as_bytes());
    let key = &key.as_str()[..32];
    let place = Place { folder: root.join(format!("{key}.git")), lock: root.join(format!("{key}.lock")) };
    if fs::symlink_metadata(&place.folder).is_err() {
        create(root, &place.folder)?;
    }
    let found = fs::symlink_metadata(&place.folder).map_err(io_error(&place.folder))?;
    if !found.is_dir() {
        return Err(MirrorError::Damaged { path: place.folder, text: "it is no folder".to_owned() });
    }
    refuse_foreign(&place.folder)?;
    Ok(place)
}

fn create(root: &Path, folder: &Path) -> Result<(), MirrorError> {
    let temporary = new_mirror(root, folder)?;
    match fs::rename(temporary.path().join(NEW), folder) {
        Ok(()) => Ok(()),
        // Somebody else was faster.
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => Err(io_error(folder)(error)),
    }
}

/// A folder that goes away, with an empty mirror called [`NEW`] in it.
pub(super) fn new_mirror(root: &Path, folder: &Path) -> Result<TempDir, MirrorError> {
    let temporary = tempfile::Builder::new().prefix("new-").tempdir_in(root).map_err(io_error(root))?;
    let inside = temporary.path().join(NEW);
    let mut options = RepositoryInitOptions::new();
    // No template: a user's could bring hooks and alternates.
    options.bare(true).no_reinit(true).external_template(false).initial_head("holdfast-never-fetched");
    Repository::init_opts(&inside, &options)
        .map_err(|e| MirrorError::Damaged { path: folder.to_owned(), text: e.message().to_owned() })?;
    Ok(temporary)
}

/// Opens a mirror with its own configuration alone: the user's `insteadOf` must not lead elsewhere.
pub(super) fn open(folder: &Path) -> Result<Repository, MirrorError> {
    let damaged = |e: git2::Error| MirrorError::Damaged { path: folder.to_owned(), text: e.message().to_owned() };
    let repository = Repository::open_bare(folder).map_err(damaged)?;
    let config = Config::open(&folder.join("config")).map_err(damaged)?;
    repository.set_config(&config).map_err(damaged)?;
    Ok(repository)
}

/// The lock of a mirror's writers; readers need none, as objects are only ever added.
pub(super) fn lock(path: &Path) -> Result<File, MirrorError> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(io_error(path))?;
    file.lock().map_err(io_error(path))?;
    Ok(file)
}

/// Removes what a killed writer left behind. The caller holds the lock.
pub(super) fn sweep(folder: &Path) -> Result<(), MirrorError> {
    let pack = folder.join("objects/pack");
    remove_files(&pack, &|name| !(name.ends_with(".pack") || name.ends_with(".idx") || name.ends_with(".keep")))?;
    for lock in ["HEAD.lock", "packed-refs.lock", "config.lock"] {
        remove(&folder.join(lock))?;
    }
    sweep_refs(&folder.join("refs"))
}

fn sweep_refs(folder: &Path) -> Result<(), MirrorError> {
    remove_files(folder, &|name| name.ends_with(".lock"))?;
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let entry = entry.map_err(io_error(folder))?;
        if entry.file_type().map_err(io_error(folder))?.is_dir() {
            sweep_refs(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_files(folder: &Path, which: &dyn Fn(&str) -> bool) -> Result<(), MirrorError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(io_error(folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(io_error(folder))?;
        let is_file = entry.file_type().map_err(io_error(folder))?.is_file();
        if is_file && which(&entry.file_name().to_string_lossy()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), MirrorError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(path)(error)),
        _ => Ok(()),
    }
}

fn refuse_foreign(folder: &Path) -> Result<(), MirrorError> {
    let foreign = [
        ("objects/info/alternates", "alternates"),
        ("objects/info/http-alternates", "alternates"),
        ("info/grafts", "grafts"),
        ("shallow", "a shallow border"),
        ("refs/replace", "replace refs"),
    ];
    match foreign.iter().find(|(path, _)| fs::symlink_metadata(folder.join(path)).is_ok()) {
        Some((_, what)) => Err(MirrorError::Foreign(folder.to_owned(), what)),
        None => Ok(()),
    }
}

/// Makes a folder that only its owner can read, or refuses one that others can.
///
/// # Errors
/// If it can't be made, or is open to others.
pub fn private_folder(root: &Path) -> Result<(), MirrorError> {
    if !root.is_dir() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(root).map_err(io_error(root))?;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = fs::metadata(root).map_err(io_error(root))?;
        if found.mode() & 0o077 != 0 {
            return Err(MirrorError::CacheOpen(root.to_owned()));
        }
        // A new file has our own user ID, whatever the system calls it.
        let probe = tempfile::Builder::new().prefix("probe-").tempfile_in(root).map_err(io_error(root))?;
        if probe.as_file().metadata().map_err(io_error(root))?.uid() != found.uid() {
            return Err(MirrorError::CacheOpen(root.to_owned()));
        }
    }
    Ok(())
}
