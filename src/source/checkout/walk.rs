//! Walks the trees under a Source's path.

use git2::{Oid, Repository, Tree};

use crate::base::fault::{At, Fault};
use crate::base::ids::CommitId;
use crate::base::path::RepoPath;
use crate::base::text::escape;

use super::super::limits::Limits;
use super::super::rules;
use super::links::{self, Resolved};
use super::{CheckoutError, TreeFile, is_counted};

pub(super) const FOLDER: i32 = 0o040_000;
pub(super) const LINK: i32 = 0o120_000;
pub(super) const SUBMODULE: i32 = 0o160_000;
const FILE: i32 = 0o100_000;
/// The bits of a mode that say what it is.
const KIND: i32 = 0o170_000;

/// What has been found so far.
pub(super) struct Walk<'a> {
    repository: &'a Repository,
    root: Tree<'a>,
    limits: &'a Limits,
    source: &'a RepoPath,
    entries: usize,
    pub(super) files: Vec<TreeFile>,
    pub(super) faults: Vec<Fault>,
    pub(super) hidden_folders: usize,
    pub(super) hidden_files: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn run(
        repository: &'a Repository,
        commit: &CommitId,
        source: &'a RepoPath,
        limits: &'a Limits,
    ) -> Result<Self, CheckoutError> {
        let object = |e: git2::Error| CheckoutError::object(source, &e);
        let id = Oid::from_str(commit.as_str()).map_err(object)?;
        let found = match repository.find_commit(id) {
            Ok(found) => found,
            Err(e) if e.code() == git2::ErrorCode::NotFound => return Err(CheckoutError::CommitGone(commit.clone())),
            Err(e) => return Err(object(e)),
        };
        let root = found.tree().map_err(object)?;
        let mut walk = Self {
            repository,
            root,
            limits,
            source,
            entries: 0,
            files: Vec::new(),
            faults: Vec::new(),
            hidden_folders: 0,
            hidden_files: 0,
        };
        walk.start(commit)?;
        Ok(walk)
    }

    /// Goes down to the Source's path, through folders only.
    fn start(&mut self, commit: &CommitId) -> Result<(), CheckoutError> {
        let missing = || CheckoutError::MissingPath { commit: commit.clone(), path: self.source.clone() };
        let mut tree = self.root.clone();
        let mut here = RepoPath::default();
        let parts: Vec<&[u8]> = self.source.as_bytes().split(|&b| b == b'/').filter(|part| !part.is_empty()).collect();
        for (i, part) in parts.iter().enumerate() {
            let last = i + 1 == parts.len();
            let (mode, id) = {
                let entry = tree.get_name_bytes(part).ok_or_else(missing)?;
                (entry.filemode_raw(), entry.id())
            };
            judge_mode(mode).map_err(|text| CheckoutError::Malformed { path: here.clone(), text })?;
            here = here.join(part);
            match mode {
                FOLDER => tree = self.tree(id, &here)?,
                SUBMODULE => return Err(CheckoutError::Submodule { path: here, commit: id.to_string() }),
                LINK if last && is_counted(part) => return self.link(&here, id, true),
                LINK => return Err(CheckoutError::LinkedPath(here)),
                _ if last => {
                    self.files.push(TreeFile { path: here, counted: true, link_target: None, oid: id });
                    return Ok(());
                }
                _ => return Err(missing()),
            }
        }
        self.folder(&tree, &here, 0, false)
    }

    fn tree(&self, id: Oid, path: &RepoPath) -> Result<Tree<'a>, CheckoutError> {
        self.repository.find_tree(id).map_err(|e| CheckoutError::object(path, &e))
    }

    fn folder(&mut self, tree: &Tree<'_>, path: &RepoPath, depth: usize, hidden: bool) -> Result<(), CheckoutError> {
        if depth > self.limits.path_depth {
            let limit = self.limits.path_depth as u64;
            return Err(CheckoutError::Limit { what: "folders are nested too deep", limit, path: path.clone() });
        }
        let mut last: Vec<u8> = Vec::new();
        for entry in tree {
            self.entries += 1;
            if self.entries > self.limits.tree_entries {
                let limit = self.limits.tree_entries as u64;
                return Err(CheckoutError::Limit { what: "too many files", limit, path: path.clone() });
            }
            let (name, mode) = (entry.name_bytes(), entry.filemode_raw());
            let malformed = |text| CheckoutError::Malformed { path: path.clone(), text };
            judge_mode(mode).map_err(malformed)?;
            judge_name(name, mode, &mut last).map_err(malformed)?;
            match mode {
                FOLDER => {
                    let below = path.join(name);
                    let dot = !hidden && name.starts_with(b".");
                    self.hidden_folders += usize::from(dot);
                    let tree = self.tree(entry.id(), &below)?;
                    self.folder(&tree, &below, depth + 1, hidden || dot)?;
                }
                _ if hidden => self.hidden_files += usize::from(mode != SUBMODULE && is_counted(name)),
                SUBMODULE => self.submodule(&path.join(name), entry.id()),
                LINK => self.link(&path.join(name), entry.id(), is_counted(name))?,
                _ => self.files.push(TreeFile {
                    path: path.join(name),
                    counted: is_counted(name),
                    link_target: None,
                    oid: entry.id(),
                }),
            }
        }
        Ok(())
    }

    fn submodule(&mut self, path: &RepoPath, commit: Oid) {
        let text = format!(
            "{} is a submodule at commit {commit}; read as empty it would prune all it stands for",
            escape(&path.to_string())
        );
        let hint = "commit the files themselves, or move the submodule out of the Source's path";
        self.faults.push(Fault::new(rules::SUBMODULE, text).at(At::file(path)).hint(hint));
    }

    fn link(&mut self, path: &RepoPath, id: Oid, counted: bool) -> Result<(), CheckoutError> {
        let resolved = links::resolve(self.repository, &self.root, self.source, path, id)?;
        let (rule, text) = match resolved {
            Resolved::File { path: target, oid } => {
                self.files.push(TreeFile { path: path.clone(), counted, link_target: Some(target), oid });
                return Ok(());
            }
            Resolved::Folder => (rules::LINK_FOLDER, "leads to a folder; files are read where they are"),
            Resolved::Outside => (rules::LINK_OUTSIDE, "leads out of the Source's path"),
            Resolved::Loop => (rules::LINK_LOOP, "leads back to itself"),
            Resolved::Dangling => (rules::LINK_DANGLING, "leads to nothing"),
        };
        let text = format!("the symbolic link {} {text}", escape(&path.to_string()));
        self.faults.push(Fault::new(rule, text).at(At::file(path)));
        Ok(())
    }
}

/// Refuses what git itself never writes: an entry with bits that make it a folder or a submodule to git and a file to
/// others. Taken for a file, a folder's manifests would be gone.
fn judge_mode(mode: i32) -> Result<(), &'static str> {
    match mode {
        FOLDER | LINK | SUBMODULE => Ok(()),
        _ if mode & KIND == FILE => Ok(()),
        _ => Err("an entry is neither a file, a folder, a link nor a submodule"),
    }
}

/// Refuses what git itself never writes: a name that could be taken for a path, or one that is there twice.
fn judge_name(name: &[u8], mode: i32, last: &mut Vec<u8>) -> Result<(), &'static str> {
    if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') {
        return Err("an entry's name is empty, a dot, or holds a slash");
    }
    // git's order: a folder sorts as if its name ended in a slash.
    let suffix: &[u8] = if mode == FOLDER { b"/" } else { b"" };
    let ordered = last.is_empty() || last.iter().lt(name.iter().chain(suffix));
    last.clear();
    last.extend_from_slice(name);
    last.extend_from_slice(suffix);
    if ordered { Ok(()) } else { Err("entries are out of order or there twice") }
}
