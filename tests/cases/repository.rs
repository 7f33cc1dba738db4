//! The repositories of a case: made once by `mkrepo.sh`, copied for each world.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::command;
use crate::lab::Lab;

/// A repository.
#[derive(Debug)]
pub(crate) struct Repository {
    path: PathBuf,
    home: PathBuf,
    /// The full ID of each `commit-N`, read before a script of the case may drop tags.
    commits: BTreeMap<String, String>,
}

/// All repositories of a case as they are at first, by the folder of the case that they were made of ("" is the case).
pub(crate) struct Templates {
    _folder: TempDir,
    repositories: BTreeMap<String, Repository>,
}

impl Templates {
    /// Makes the repositories of a case.
    pub(crate) fn make(lab: &Lab, case: &Path, folders: &[String]) -> Result<Self, String> {
        let folder = lab.folder("template").map_err(|error| error.to_string())?;
        let mut repositories = BTreeMap::new();
        for (index, name) in folders.iter().enumerate() {
            let path = folder.path().join(format!("repository-{index}"));
            let mut make = command::hermetic("sh", folder.path(), folder.path());
            make.arg(lab.mkrepo()).arg(case.join(name)).arg(&path);
            let output = command::run(&mut make, folder.path(), "mkrepo").map_err(|error| error.to_string())?;
            if output.code != Some(0) {
                return Err(format!("{}: {}", output.line, output.brief()));
            }
            let mut repository = Repository { path, home: folder.path().to_owned(), commits: BTreeMap::new() };
            repository.read_commits()?;
            repositories.insert(name.clone(), repository);
        }
        Ok(Self { _folder: folder, repositories })
    }

    /// Copies them into the folder of a world.
    pub(crate) fn copy(&self, into: &Path) -> Result<BTreeMap<String, Repository>, String> {
        let mut copies = BTreeMap::new();
        for (index, (name, template)) in self.repositories.iter().enumerate() {
            let path = into.join(format!("repository-{index}"));
            let mut copy = command::hermetic("cp", into, into);
            copy.arg("-a").arg(&template.path).arg(&path);
            let output = command::run(&mut copy, into, "cp").map_err(|error| error.to_string())?;
            if output.code != Some(0) {
                return Err(format!("{}: {}", output.line, output.brief()));
            }
            let commits = template.commits.clone();
            copies.insert(name.clone(), Repository { path, home: into.to_owned(), commits });
        }
        Ok(copies)
    }
}

impl Repository {
    /// An empty repository in a new folder.
    pub(crate) fn init(into: &Path) -> Result<Self, String> {
        let path = into.join("repository-0");
        std::fs::create_dir(&path).map_err(|error| error.to_string())?;
        let repository = Self { path, home: into.to_owned(), commits: BTreeMap::new() };
        repository.git(&["-c", "init.defaultBranch=main", "init", "-q"])?;
        Ok(repository)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs git in it; its standard output.
    pub(crate) fn git(&self, args: &[&str]) -> Result<String, String> {
        let mut git = command::hermetic("git", &self.home, &self.path);
        let output = command::run(git.args(args), &self.home, "git").map_err(|error| error.to_string())?;
        if output.code == Some(0) { Ok(output.stdout) } else { Err(format!("{}: {}", output.line, output.brief())) }
    }

    fn read_commits(&mut self) -> Result<(), String> {
        let tags = self.git(&["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/tags"])?;
        self.commits = tags
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(tag, id)| (tag.to_owned(), id.to_owned()))
            .collect();
        Ok(())
    }

    /// The full ID of a `commit-N`.
    pub(crate) fn commit(&self, name: &str) -> Result<&str, String> {
        self.commits.get(name).map(String::as_str).ok_or_else(|| format!("the repository has no {name}"))
    }

    /// The highest `commit-N`.
    pub(crate) fn last_commit(&self) -> Option<&str> {
        let number = |name: &str| name.strip_prefix("commit-").and_then(|n| n.parse::<u32>().ok());
        self.commits.keys().filter(|name| number(name).is_some()).max_by_key(|name| number(name)).map(String::as_str)
    }

    /// Moves `main` to a `commit-N`.
    pub(crate) fn checkout(&self, name: &str) -> Result<(), String> {
        let id = self.commit(name)?;
        self.git(&["checkout", "-q", "-f", "-B", "main", id]).map(|_| ())
    }

    /// Commits one file as the whole tree.
    pub(crate) fn commit_file(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.path.join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        }
        std::fs::write(path, text).map_err(|error| error.to_string())?;
        self.git(&["add", "-A"])?;
        let who = ["-c", "user.name=cases", "-c", "user.email=cases@example.com"];
        let commit = ["commit", "-q", "--allow-empty", "-m", "spelling"];
        self.git(&[&who[..], &commit[..]].concat()).map(|_| ())
    }

    /// Runs a script of the case inside it.
    pub(crate) fn script(&self, script: &Path, case: &Path, args: &[String]) -> Result<(), String> {
        let mut run = command::hermetic("sh", &self.home, &self.path);
        run.arg(script).arg(case).args(args);
        let output = command::run(&mut run, &self.home, "script").map_err(|error| error.to_string())?;
        if output.code == Some(0) { Ok(()) } else { Err(format!("{}: {}", output.line, output.brief())) }
    }

    /// Renames it away, so that nobody can read it.
    pub(crate) fn take_away(&self) -> Result<(), String> {
        std::fs::rename(&self.path, self.aside()).map_err(|error| error.to_string())
    }

    /// Puts it back.
    pub(crate) fn bring_back(&self) -> Result<(), String> {
        std::fs::rename(self.aside(), &self.path).map_err(|error| error.to_string())
    }

    fn aside(&self) -> PathBuf {
        self.path.with_extension("away")
    }
}
