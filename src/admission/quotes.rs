//! Source lines for a report, but for those that could show a secret.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::fault::{At, Fault};
use crate::base::map::HashSet;
use crate::base::path::RepoPath;
use crate::base::sensitive;
use crate::manifest::{SourceFile, source_line};

/// What stands at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quote {
    /// The line, as written.
    Line(String),
    /// A line that could show a sensitive value.
    Hidden,
    /// No line: the place is a whole file, or the file can't be read as text.
    Nothing,
}

/// The files of a commit, and which of their documents hold sensitive values.
#[derive(Debug, Clone, Default)]
pub struct Quotes {
    /// By path.
    files: Vec<Arc<SourceFile>>,
    /// Documents with sensitive values.
    hidden: BTreeSet<(RepoPath, usize)>,
    /// Files that couldn't be read whole.
    unread: BTreeSet<RepoPath>,
    /// Kinds whose fields the Source calls sensitive.
    kinds: Vec<String>,
}

impl Quotes {
    /// `faults` are those of reading the files; `kinds` those that the Source's `sensitive` names.
    pub(super) fn new(files: Vec<Arc<SourceFile>>, faults: &[Fault], kinds: Vec<String>) -> Self {
        let unread = faults.iter().filter_map(|fault| Some(fault.at.as_ref()?.file.clone())).collect();
        Self { files, hidden: BTreeSet::new(), unread, kinds }
    }

    /// Notes that a document holds sensitive values.
    pub(super) fn hide(&mut self, file: &RepoPath, document: usize) {
        self.hidden.insert((file.clone(), document));
    }

    /// Takes files out and puts others in; how many there are then, and their bytes.
    pub(super) fn replace(&mut self, files: Vec<Arc<SourceFile>>, gone: &HashSet<RepoPath>) -> (usize, usize) {
        self.files.retain(|file| !gone.contains(&file.path));
        self.hidden.retain(|(file, _)| !gone.contains(file));
        self.files.extend(files);
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        (self.files.len(), self.files.iter().map(|file| file.text.len()).sum())
    }

    /// The bytes of a file.
    pub(super) fn text(&self, path: &RepoPath) -> Option<&[u8]> {
        let index = self.files.binary_search_by(|file| file.path.cmp(path)).ok()?;
        Some(&self.files[index].text)
    }

    /// The line at a place.
    pub fn quote(&self, at: &At) -> Quote {
        let Ok(index) = self.files.binary_search_by(|file| file.path.cmp(&at.file)) else { return Quote::Nothing };
        let file = &self.files[index];
        let Some(line) = source_line(file, at.line) else { return Quote::Nothing };
        // In a place of a wrong type a value isn't known as sensitive; its line still says what it is.
        let showable = !self.hidden.contains(&(at.file.clone(), at.document))
            && !sensitive::is_usual_name(line)
            && (!self.unread.contains(&at.file) || self.may_show_unread(file, at.line));
        if showable { Quote::Line(line.to_owned()) } else { Quote::Hidden }
    }

    /// Of a document that couldn't be read nobody knows what it is: nothing is shown of a file that may hold a Secret, nor
    /// a line near a word that marks sensitive values.
    fn may_show_unread(&self, file: &SourceFile, line: u32) -> bool {
        if contains(&file.text, b"Secret") || self.kinds.iter().any(|kind| contains(&file.text, kind.as_bytes())) {
            return false;
        }
        (line.saturating_sub(2)..=line.saturating_add(1))
            .filter_map(|near| source_line(file, near))
            .all(|text| !sensitive::is_usual_name(text))
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}
