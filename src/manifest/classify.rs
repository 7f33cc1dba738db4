//! Which files of a commit are manifests: by their ending, and by ignore rules in gitignore's syntax.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::rules;
use crate::base::fault::{At, Fault};
use crate::base::path::RepoPath;
use crate::base::text::{escape, shorten};

/// The name of files with ignore patterns.
pub const IGNORE_FILE: &str = ".holdfastignore";

/// What a file is to a Source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// A manifest: it is read, and what can't be read is a fault.
    Manifest,
    /// It has the ending of a manifest and an ignore rule leaves it out; which rule.
    Excluded(String),
    /// It hasn't the ending of a manifest.
    NotCounted,
    /// It lies in a folder that begins with a dot.
    Hidden,
}

/// A pattern that is none; the text says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is no gitignore pattern: {reason}")]
pub struct BadPattern {
    /// The pattern.
    pub pattern: String,
    /// Why.
    pub reason: String,
}

/// The ignore rules of a Source: its own patterns, and those of the commit.
#[derive(Debug, Clone)]
pub struct IgnoreRules {
    /// The Source's path: patterns and dot folders count from here.
    base: RepoPath,
    own: Gitignore,
    /// By folder, as seen from the base; `/` ends each but the base itself.
    in_git: BTreeMap<Vec<u8>, Gitignore>,
}

impl IgnoreRules {
    /// The patterns of a Source's `ignore`, for a path inside the repository.
    ///
    /// # Errors
    /// If a pattern is not valid.
    pub fn new<S: AsRef<str>>(base: &RepoPath, patterns: &[S]) -> Result<Self, BadPattern> {
        let mut builder = GitignoreBuilder::new("");
        for pattern in patterns {
            let bad = |e: ignore::Error| BadPattern { pattern: pattern.as_ref().to_owned(), reason: e.to_string() };
            builder.add_line(None, pattern.as_ref()).map_err(bad)?;
        }
        let own = builder.build().map_err(|e| BadPattern { pattern: String::new(), reason: e.to_string() })?;
        Ok(Self { base: base.clone(), own, in_git: BTreeMap::new() })
    }

    /// Adds a `.holdfastignore` of the commit: it applies to its folder and below. Lines that are no patterns are faults.
    pub fn add_file(&mut self, path: &RepoPath, text: &[u8]) -> Vec<Fault> {
        let Some(inside) = self.inside(path) else { return Vec::new() };
        let folder = &inside[..inside.len() - path.file_name().len()];
        let at = |line: u32| At { line, column: 1, ..At::file(path) };
        let Ok(text) = std::str::from_utf8(text) else {
            return vec![Fault::new(rules::ENCODING, "an ignore file must be UTF-8").at(at(1))];
        };
        let (mut builder, mut faults) = (GitignoreBuilder::new(""), Vec::new());
        for (line, number) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().zip(1..) {
            if builder.add_line(None, line).is_err() {
                let text = format!("{} is no gitignore pattern", escape(&shorten(line, 60)));
                faults.push(Fault::new(rules::IGNORE_PATTERN, text).at(at(number)));
            }
        }
        match builder.build() {
            Ok(rules) => {
                self.in_git.insert(folder.to_vec(), rules);
            }
            Err(_) => faults.push(Fault::new(rules::IGNORE_PATTERN, "these patterns are too large together").at(at(1))),
        }
        faults
    }

    /// What a file under the Source's path is. A Source whose path is one file reads that file whatever its name: don't ask.
    pub fn classify(&self, path: &RepoPath) -> Counted {
        let Some(inside) = self.inside(path) else { return Counted::NotCounted };
        if !has_counted_ending(path) {
            return Counted::NotCounted;
        }
        let folders = inside.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(i, _)| i);
        if inside.split(|&b| b == b'/').rev().skip(1).any(|part| part.starts_with(b".")) {
            return Counted::Hidden;
        }
        if self.own.is_empty() && self.in_git.is_empty() {
            return Counted::Manifest;
        }
        // As git: what lies in a folder that is left out can't be taken back in.
        for end in folders {
            if let Some(rule) = self.left_out(&inside[..end], true) {
                return Counted::Excluded(rule);
            }
        }
        self.left_out(inside, false).map_or(Counted::Manifest, Counted::Excluded)
    }

    fn inside<'p>(&self, path: &'p RepoPath) -> Option<&'p [u8]> {
        let base = self.base.as_bytes();
        if base.is_empty() {
            return Some(path.as_bytes());
        }
        path.as_bytes().strip_prefix(base)?.strip_prefix(b"/")
    }

    /// The rule that leaves a path out. The Source's own patterns come first: the commit can't undo them.
    fn left_out(&self, inside: &[u8], is_dir: bool) -> Option<String> {
        let as_path = |bytes| Path::new(OsStr::from_bytes(bytes));
        match self.own.matched(as_path(inside), is_dir) {
            Match::Ignore(glob) => return Some(format!("ignore: {}", glob.original())),
            Match::Whitelist(_) => return None,
            Match::None => {}
        }
        // The deepest folder's file has the last word.
        let mut end = inside.len();
        while let Some(slash) = inside[..end].iter().rposition(|&b| b == b'/') {
            if let Some(verdict) = self.verdict(&inside[..=slash], &inside[slash + 1..], is_dir) {
                return verdict;
            }
            end = slash;
        }
        self.verdict(b"", inside, is_dir).flatten()
    }

    #[allow(clippy::option_option, reason = "no opinion, taken in, left out")]
    fn verdict(&self, folder: &[u8], below: &[u8], is_dir: bool) -> Option<Option<String>> {
        match self.in_git.get(folder)?.matched(Path::new(OsStr::from_bytes(below)), is_dir) {
            Match::Ignore(glob) => {
                let folder = RepoPath::new(folder);
                Some(Some(format!("{folder}{IGNORE_FILE}: {}", glob.original())))
            }
            Match::Whitelist(_) => Some(None),
            Match::None => None,
        }
    }
}

/// Whether a file's name ends as manifests do: .yaml, .yml or .json, in any case.
pub fn has_counted_ending(path: &RepoPath) -> bool {
    let name = path.file_name();
    [b".yaml".as_slice(), b".yml", b".json"]
        .iter()
        .any(|end| name.len() > end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end))
}

/// Whether a file that isn't counted once was, by its name: `web.yaml.BAK`, `web.yaml~`, `web.yaml.off`.
pub fn is_near_miss(path: &RepoPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    !has_counted_ending(path)
        && [b".yaml".as_slice(), b".yml", b".json"].iter().any(|end| {
            name.windows(end.len()).enumerate().any(|(i, part)| {
                part == *end && i > 0 && name.get(i + end.len()).is_some_and(|b| !b.is_ascii_alphanumeric())
            })
        })
}
