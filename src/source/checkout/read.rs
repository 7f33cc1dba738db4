//! Reads contents on all cores and hands each to its consumer at once, so that parsing overlaps reading.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use git2::{ObjectType, Repository};
use rayon::prelude::*;

use crate::base::fault::{At, Fault};
use crate::base::path::RepoPath;
use crate::base::text::escape;

use super::super::rules;
use super::{Checkout, CheckoutError, IGNORE_FILE, TreeFile};

/// How a Git LFS pointer begins (the format's own specification).
const LFS: [&[u8]; 2] = [b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/"];
/// A pointer is smaller than this (the same specification).
const LFS_BYTES: usize = 1024;

/// What the consumer made of the files, in the order of their paths, and the files that are refused.
#[derive(Debug)]
pub struct Blobs<T> {
    /// One for each file that could be read.
    pub read: Vec<T>,
    /// Files over a size limit, and Git LFS pointers.
    pub faults: Vec<Fault>,
}

impl Checkout {
    /// Hands the content of each wanted file to `each`, from several threads at once.
    ///
    /// A content is held only while `each` runs. Git LFS pointers and files over a limit become faults.
    ///
    /// # Errors
    /// If an object is missing or damaged: never read as an absent file.
    pub fn map_blobs<T: Send>(
        &self,
        wanted: impl Fn(&TreeFile) -> bool,
        each: impl Fn(&TreeFile, &[u8]) -> T + Sync,
    ) -> Result<Blobs<T>, CheckoutError> {
        self.read_blobs(wanted, each).inspect_err(|error| error.distrust(&self.folder))
    }

    fn read_blobs<T: Send>(
        &self,
        wanted: impl Fn(&TreeFile) -> bool,
        each: impl Fn(&TreeFile, &[u8]) -> T + Sync,
    ) -> Result<Blobs<T>, CheckoutError> {
        let wanted: Vec<&TreeFile> = self.files.iter().filter(|file| wanted(file)).collect();
        let readers = Readers { checkout: self, idle: Mutex::new(Vec::new()) };
        let total = AtomicU64::new(0);
        let read: Vec<Result<T, Box<Fault>>> = wanted
            .par_iter()
            .map_init(
                || readers.take(),
                |reader, file| {
                    let repository = reader.get()?;
                    Ok(self.blob(repository, file, &total)?.map_or_else(Err, |object| Ok(each(file, object.data()))))
                },
            )
            .collect::<Result<_, CheckoutError>>()?;
        if total.into_inner() > self.limits.total_bytes {
            let limit = self.limits.total_bytes;
            return Err(CheckoutError::Limit {
                what: "the files together are too large",
                limit,
                path: self.path.clone(),
            });
        }
        let mut blobs = Blobs { read: Vec::with_capacity(read.len()), faults: Vec::new() };
        for item in read {
            match item {
                Ok(item) => blobs.read.push(item),
                Err(fault) => blobs.faults.push(*fault),
            }
        }
        Ok(blobs)
    }

    /// Reads one file again, to show a place in it.
    ///
    /// # Errors
    /// If there is no such file in the checkout, or if its object is missing or damaged.
    pub fn read_one(&self, path: &RepoPath) -> Result<Vec<u8>, CheckoutError> {
        let index = self.files.binary_search_by(|file| file.path.cmp(path));
        let file = index
            .map(|i| &self.files[i])
            .map_err(|_| CheckoutError::MissingPath { commit: self.commit.clone(), path: path.clone() })?;
        let repository = self.open()?;
        let odb = repository.odb().map_err(|e| CheckoutError::object(path, &e))?;
        let (size, _) = odb.read_header(file.oid).map_err(|e| CheckoutError::object(path, &e))?;
        if size as u64 > self.limits.file_bytes {
            let limit = self.limits.file_bytes;
            return Err(CheckoutError::Limit { what: "the file is too large", limit, path: path.clone() });
        }
        Ok(odb.read(file.oid).map_err(|e| CheckoutError::object(path, &e))?.data().to_vec())
    }

    pub(super) fn read_ignore_files(&mut self, repository: &Repository) -> Result<(), CheckoutError> {
        let total = AtomicU64::new(0);
        let mut found = Vec::new();
        for file in self.files.iter().filter(|file| file.path.file_name() == IGNORE_FILE) {
            match self.blob(repository, file, &total)? {
                Ok(object) => {
                    let path = file.path.as_bytes();
                    let folder = path[..path.len() - IGNORE_FILE.len()].strip_suffix(b"/").unwrap_or_default();
                    found.push((RepoPath::new(folder), object.data().to_vec()));
                }
                Err(fault) => self.faults.push(*fault),
            }
        }
        self.ignore_files = found;
        Ok(())
    }

    fn blob<'r>(
        &self,
        repository: &'r Repository,
        file: &TreeFile,
        total: &AtomicU64,
    ) -> Result<Result<Object<'r>, Box<Fault>>, CheckoutError> {
        let object = |e: git2::Error| CheckoutError::object(&file.path, &e);
        let odb = repository.odb().map_err(object)?;
        // The size first: a small pack can hold a huge file.
        let (size, kind) = odb.read_header(file.oid).map_err(object)?;
        if kind != ObjectType::Blob {
            return Err(CheckoutError::Object { path: file.path.clone(), text: "it is no file's content".to_owned() });
        }
        let bytes = size as u64;
        if bytes > self.limits.file_bytes {
            let text = format!(
                "{} has {bytes} bytes; the limit is {}",
                escape(&file.path.to_string()),
                self.limits.file_bytes
            );
            return Ok(Err(Box::new(Fault::new(rules::SIZE_LIMIT, text).at(At::file(&file.path)))));
        }
        if total.fetch_add(bytes, Ordering::Relaxed) + bytes > self.limits.total_bytes {
            let limit = self.limits.total_bytes;
            return Err(CheckoutError::Limit {
                what: "the files together are too large",
                limit,
                path: self.path.clone(),
            });
        }
        let blob = repository.find_blob(file.oid).map_err(object)?;
        match lfs_pointer(blob.content()) {
            Some(about) => {
                let text =
                    format!("{} is a Git LFS pointer ({about}), not the file itself", escape(&file.path.to_string()));
                let at = At { line: 1, column: 1, ..At::file(&file.path) };
                let hint = "take the file out of Git LFS: its content is not in the repository";
                Ok(Err(Box::new(Fault::new(rules::LFS_POINTER, text).at(at).hint(hint))))
            }
            None => Ok(Ok(Object(blob))),
        }
    }
}

struct Object<'r>(git2::Blob<'r>);

impl Object<'_> {
    fn data(&self) -> &[u8] {
        self.0.content()
    }
}

/// What a pointer says about the content that isn't there.
fn lfs_pointer(content: &[u8]) -> Option<String> {
    if content.len() >= LFS_BYTES || !LFS.iter().any(|start| content.starts_with(start)) {
        return None;
    }
    let text = String::from_utf8_lossy(content);
    let lines = text.lines().filter(|line| line.starts_with("oid ") || line.starts_with("size "));
    let about: Vec<String> = lines.map(|line| escape(line).into_owned()).collect();
    Some(if about.is_empty() { "without oid and size".to_owned() } else { about.join(", ") })
}

/// Repositories that wait for a thread: rayon starts many small jobs, and opening one costs more than a read.
struct Readers<'a> {
    checkout: &'a Checkout,
    idle: Mutex<Vec<Repository>>,
}

impl Readers<'_> {
    fn take(&self) -> Reader<'_> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Reader { readers: self, repository: idle }
    }
}

struct Reader<'a> {
    readers: &'a Readers<'a>,
    repository: Option<Repository>,
}

impl Reader<'_> {
    fn get(&mut self) -> Result<&Repository, CheckoutError> {
        match &mut self.repository {
            Some(repository) => Ok(repository),
            none => Ok(none.insert(self.readers.checkout.open()?)),
        }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(repository) = self.repository.take() {
            self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(repository);
        }
    }
}
