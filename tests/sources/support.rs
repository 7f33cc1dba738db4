//! Real repositories in temporary folders, made by the `git` program with nothing of the user's configuration.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use holdfast::base::clock::Moment;
use holdfast::base::ids::CommitId;
use holdfast::base::path::RepoPath;
use holdfast::source::checkout::{Checkout, CheckoutError};
use holdfast::source::limits::Limits;
use holdfast::source::mirror::{Credentials, Fetched, Mirror, MirrorError, NoProgress};
use holdfast::source::refs::RefSpec;
use holdfast::source::url::RepositoryUrl;
use tempfile::TempDir;

/// A `git` that knows nothing of this machine's configuration.
pub(crate) fn git_command(home: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env("HOME", home)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "tester")
        .env("GIT_AUTHOR_EMAIL", "tester@example.com")
        .env("GIT_COMMITTER_NAME", "tester")
        .env("GIT_COMMITTER_EMAIL", "tester@example.com")
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
        .stdin(Stdio::null());
    command
}

/// A repository with a work tree.
pub(crate) struct Repo {
    pub(crate) dir: TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        let repo = Self { dir: tempfile::tempdir().unwrap() };
        repo.git(&["init", "-q", "-b", "main"]);
        repo.git(&["config", "core.autocrlf", "false"]);
        repo
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let out = git_command(self.path()).current_dir(self.path()).args(args).output().unwrap();
        assert!(out.status.success(), "git: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) -> CommitId {
        self.git(&["add", "-A"]);
        self.commit_index(message)
    }

    pub(crate) fn commit_index(&self, message: &str) -> CommitId {
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    pub(crate) fn head(&self) -> CommitId {
        CommitId::parse(&self.git(&["rev-parse", "HEAD"])).unwrap()
    }
}

/// A cache that only we can read.
pub(crate) fn cache() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    dir
}

pub(crate) fn url(text: &str) -> RepositoryUrl {
    RepositoryUrl::parse(text, Path::new("/")).unwrap()
}

pub(crate) fn path_url(path: &Path) -> RepositoryUrl {
    url(path.to_str().unwrap())
}

pub(crate) fn limits() -> Limits {
    Limits { deadline: Duration::from_secs(60), ..Limits::default() }
}

pub(crate) fn moment() -> Moment {
    Moment::from_millis(1_767_322_800_000)
}

pub(crate) fn branch(name: &str) -> RefSpec {
    RefSpec::Branch(name.to_owned())
}

/// A mirror of a repository, in a cache of its own.
pub(crate) struct Mirrored {
    pub(crate) cache: TempDir,
    pub(crate) mirror: Mirror,
}

impl Mirrored {
    pub(crate) fn of(repo: &Repo) -> Self {
        Self::of_url(&path_url(repo.path()))
    }

    pub(crate) fn of_url(url: &RepositoryUrl) -> Self {
        let cache = cache();
        let mirror = Mirror::open(cache.path(), url, Credentials::Ambient).unwrap();
        Self { cache, mirror }
    }

    pub(crate) fn fetch(&self, ref_: &RefSpec) -> Result<Fetched, MirrorError> {
        self.mirror.fetch(ref_, &limits(), &NoProgress, moment())
    }

    pub(crate) fn checkout(&self, path: &str) -> Result<Checkout, CheckoutError> {
        let commit = self.fetch(&RefSpec::Head).unwrap().commit;
        self.mirror.checkout(&commit, &RepoPath::from(path), &limits())
    }
}

pub(crate) fn paths(checkout: &Checkout) -> Vec<String> {
    checkout.files.iter().map(|f| f.path.to_string()).collect()
}

/// Rule and file of each fault, sorted.
pub(crate) fn faults(faults: &[holdfast::base::fault::Fault]) -> Vec<(String, String)> {
    let place = |f: &holdfast::base::fault::Fault| f.at.as_ref().map(|at| at.file.to_string()).unwrap_or_default();
    let mut all: Vec<_> = faults.iter().map(|f| (f.rule.to_string(), place(f))).collect();
    all.sort();
    all
}

pub(crate) fn os(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Runs one ignored test of this binary in a process of its own, with an environment of its own.
pub(crate) fn run_alone(test: &str, env: &[(&str, &OsStr)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).envs(env.iter().copied());
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(
        out.status.success() && text.contains("1 passed"),
        "{test}: {text}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
}
