//! Questions about commits, answered from the mirror.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use git2::{ErrorCode, Oid, Repository, Sort};

use crate::base::ids::CommitId;

use super::super::refs::RefSpec;
use super::error::MirrorError;

/// The last answer about root commits: the commit, then its roots, one a line.
const ROOTS: &str = "holdfast-roots";

/// One mirror, opened for reading.
pub(super) struct History<'a> {
    pub(super) repository: &'a Repository,
    pub(super) folder: &'a Path,
    pub(super) url: String,
}

pub(super) fn oid(commit: &CommitId) -> Result<Oid, git2::Error> {
    Oid::from_str(commit.as_str())
}

impl History<'_> {
    fn damaged(&self) -> impl Fn(git2::Error) -> MirrorError + '_ {
        |e| MirrorError::Damaged { path: self.folder.to_owned(), text: e.message().to_owned() }
    }

    fn commit_id(&self, oid: Oid) -> Result<CommitId, MirrorError> {
        CommitId::parse(&oid.to_string())
            .map_err(|_| MirrorError::NoCommit { url: self.url.clone(), name: oid.to_string() })
    }

    /// The commit that a ref stands for.
    pub(super) fn resolve(&self, ref_: &RefSpec) -> Result<CommitId, MirrorError> {
        let url = self.url.clone();
        let (name, missing) = match ref_ {
            RefSpec::Head => ("HEAD".to_owned(), MirrorError::NoHead(url)),
            RefSpec::Branch(name) => (format!("refs/heads/{name}"), MirrorError::NoBranch { url, name: name.clone() }),
            RefSpec::Tag(name) => (format!("refs/tags/{name}"), MirrorError::NoTag { url, name: name.clone() }),
            RefSpec::Commit(commit) => {
                self.exists(commit)?;
                if !self.is_reachable(commit)? {
                    return Err(MirrorError::Unreachable { url, commit: commit.clone() });
                }
                return Ok(commit.clone());
            }
        };
        let found = match self.repository.find_reference(&name) {
            Ok(found) => found,
            Err(e) if e.code() == ErrorCode::NotFound => return Err(missing),
            Err(e) => return Err(self.damaged()(e)),
        };
        let resolved = match found.resolve() {
            Ok(resolved) => resolved,
            Err(e) if e.code() == ErrorCode::NotFound => return Err(missing),
            Err(e) => return Err(self.damaged()(e)),
        };
        match resolved.peel_to_commit() {
            Ok(commit) => self.commit_id(commit.id()),
            Err(e) if matches!(e.code(), ErrorCode::Peel | ErrorCode::InvalidSpec) => {
                Err(MirrorError::NoCommit { url: self.url.clone(), name: ref_.to_string() })
            }
            Err(e) => Err(self.damaged()(e)),
        }
    }

    /// That the mirror has a commit.
    pub(super) fn exists(&self, commit: &CommitId) -> Result<(), MirrorError> {
        match self.repository.find_commit(oid(commit).map_err(self.damaged())?) {
            Ok(_) => Ok(()),
            Err(e) if e.code() == ErrorCode::NotFound => {
                // A tag's own ID, or a tree's, is there but no commit.
                let other = oid(commit).is_ok_and(|id| self.repository.find_object(id, None).is_ok());
                if other {
                    return Err(MirrorError::NoCommit { url: self.url.clone(), name: commit.to_string() });
                }
                Err(MirrorError::CommitGone { url: self.url.clone(), commit: commit.clone() })
            }
            Err(e) => Err(self.damaged()(e)),
        }
    }

    /// The commits of all branches and tags.
    fn tips(&self) -> Result<BTreeSet<Oid>, MirrorError> {
        let mut tips = BTreeSet::new();
        for glob in ["refs/heads/*", "refs/tags/*"] {
            for found in self.repository.references_glob(glob).map_err(self.damaged())? {
                // A tag may name a tree or a blob, which reaches no commit.
                if let Ok(commit) = found.map_err(self.damaged())?.peel_to_commit() {
                    tips.insert(commit.id());
                }
            }
        }
        Ok(tips)
    }

    pub(super) fn is_reachable(&self, commit: &CommitId) -> Result<bool, MirrorError> {
        let wanted = oid(commit).map_err(self.damaged())?;
        let tips = self.tips()?;
        if tips.contains(&wanted) {
            return Ok(true);
        }
        let mut walk = self.repository.revwalk().map_err(self.damaged())?;
        walk.set_sorting(Sort::NONE).map_err(self.damaged())?;
        for tip in tips {
            walk.push(tip).map_err(self.damaged())?;
        }
        for found in walk {
            if found.map_err(|e| self.incomplete(&e))? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn descends_from(&self, commit: &CommitId, ancestor: &CommitId) -> Result<bool, MirrorError> {
        self.exists(commit)?;
        self.exists(ancestor)?;
        if commit == ancestor {
            return Ok(true);
        }
        let (commit, ancestor) = (oid(commit).map_err(self.damaged())?, oid(ancestor).map_err(self.damaged())?);
        self.repository.graph_descendant_of(commit, ancestor).map_err(|e| self.incomplete(&e))
    }

    /// The commits without parents that a commit descends from. The last answer is kept, and only what came since walked.
    pub(super) fn root_commits(&self, commit: &CommitId) -> Result<BTreeSet<CommitId>, MirrorError> {
        self.exists(commit)?;
        let known = self.known_roots();
        if let Some((_, roots)) = known.as_ref().filter(|(of, _)| of == commit) {
            return Ok(roots.clone());
        }
        let mut walk = self.repository.revwalk().map_err(self.damaged())?;
        walk.push(oid(commit).map_err(self.damaged())?).map_err(self.damaged())?;
        let mut roots = BTreeSet::new();
        if let Some((of, old)) = known
            && self.exists(&of).is_ok()
            && self.descends_from(commit, &of)?
        {
            walk.hide(oid(&of).map_err(self.damaged())?).map_err(self.damaged())?;
            roots = old;
        }
        for found in walk {
            let found = found.map_err(|e| self.incomplete(&e))?;
            if self.repository.find_commit(found).map_err(self.damaged())?.parent_count() == 0 {
                roots.insert(self.commit_id(found)?);
            }
        }
        self.keep_roots(commit, &roots).map_err(|error| MirrorError::Cache { path: self.folder.join(ROOTS), error })?;
        Ok(roots)
    }

    fn known_roots(&self) -> Option<(CommitId, BTreeSet<CommitId>)> {
        let text = fs::read_to_string(self.folder.join(ROOTS)).ok()?;
        let mut ids = text.lines().map(|line| CommitId::parse(line).ok()).collect::<Option<Vec<_>>>()?.into_iter();
        let of = ids.next()?;
        Some((of, ids.collect())).filter(|(_, roots): &(_, BTreeSet<_>)| !roots.is_empty())
    }

    fn keep_roots(&self, commit: &CommitId, roots: &BTreeSet<CommitId>) -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix("holdfast-new-").tempfile_in(self.folder)?;
        for id in std::iter::once(commit).chain(roots) {
            writeln!(file, "{id}")?;
        }
        file.persist(self.folder.join(ROOTS)).map(|_| ()).map_err(|e| e.error)
    }

    /// A parent that isn't there means that the server's history was cut.
    fn incomplete(&self, error: &git2::Error) -> MirrorError {
        match error.code() {
            ErrorCode::NotFound => MirrorError::Shallow(self.url.clone()),
            _ => MirrorError::Damaged { path: self.folder.to_owned(), text: error.message().to_owned() },
        }
    }
}
