//! All manifests of a commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::document::{Document, SourceFile};
use super::file::{FileReading, read_file};
use super::limits::Limits;
use super::rules;
use crate::base::fault::{Fault, Warning};
use crate::base::path::RepoPath;

/// The manifests of a commit: what was declared, before any rule was asked.
///
/// With a fault in it nothing may be planned: what is missing here would be pruned.
#[derive(Debug, Default)]
pub struct ManifestSet {
    documents: Vec<Document>,
    damaged: Vec<Document>,
    faults: Vec<Fault>,
    warnings: Vec<Warning>,
    files: Vec<Arc<SourceFile>>,
    memory: usize,
}

/// Reads all files, in parallel. The result is the same in whatever order they come: by the bytes of the path.
pub fn assemble<F>(files: F, limits: &Limits) -> ManifestSet
where
    F: IntoParallelIterator<Item = (RepoPath, Vec<u8>)>,
{
    let memory = AtomicUsize::new(0);
    let readings = files
        .into_par_iter()
        .filter_map(|(path, text)| {
            // Over the limit the commit is refused anyway.
            if memory.load(Ordering::Relaxed) > limits.total_memory {
                return None;
            }
            let reading = read_file(&path, text, limits);
            memory.fetch_add(reading.memory, Ordering::Relaxed);
            Some(reading)
        })
        .collect();
    ManifestSet::join(readings, limits)
}

impl ManifestSet {
    /// Joins the readings of files.
    pub fn join(mut readings: Vec<FileReading>, limits: &Limits) -> Self {
        readings.sort_unstable_by(|a, b| a.file.path.cmp(&b.file.path));
        let mut set = Self::default();
        set.documents.reserve(readings.iter().map(|reading| reading.documents.len()).sum());
        let (mut bytes, mut memory) = (0usize, 0usize);
        for reading in readings {
            bytes = bytes.saturating_add(reading.file.text.len());
            memory = memory.saturating_add(reading.memory);
            set.documents.extend(reading.documents);
            set.damaged.extend(reading.damaged);
            set.faults.extend(reading.faults);
            set.warnings.extend(reading.warnings);
            set.files.push(reading.file);
        }
        set.memory = memory;
        let mut bound = |what: &str, count: usize, limit: usize| {
            if count > limit {
                let text = format!("the commit has more {what} than the {limit} allowed");
                set.faults.push(Fault::new(rules::SIZE_LIMIT, text));
            }
        };
        bound("manifest files", set.files.len(), limits.files);
        bound("objects", set.documents.len(), limits.documents);
        bound("bytes of manifests", bytes, limits.total_bytes);
        bound("bytes of memory for its values", memory, limits.total_memory);
        set
    }

    /// Bytes of memory that the values take, by estimate.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The objects, by path and place.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// Objects whose text has a fault: they were meant to exist, and what they say is unsure.
    pub fn damaged(&self) -> &[Document] {
        &self.damaged
    }

    /// What is wrong with the files.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// What the authors should know.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The files, by path.
    pub fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    /// The file of a path.
    pub fn file(&self, path: &RepoPath) -> Option<&Arc<SourceFile>> {
        let index = self.files.binary_search_by(|file| file.path.cmp(path)).ok()?;
        self.files.get(index)
    }

    /// Gives all parts away: documents, damaged ones, faults, warnings, files.
    #[allow(clippy::type_complexity, reason = "the five parts, once")]
    pub fn into_parts(self) -> (Vec<Document>, Vec<Document>, Vec<Fault>, Vec<Warning>, Vec<Arc<SourceFile>>) {
        (self.documents, self.damaged, self.faults, self.warnings, self.files)
    }
}
