//! Runs and measures whole processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::repository::Repository;

/// What one process took.
#[derive(Clone, Copy)]
pub struct Measured {
    pub wall: Duration,
    pub peak_mib: f64,
}

/// Runs a command to its end; it must succeed. Gives its standard output too.
///
/// The peak is read off `/proc` while it runs: `VmHWM` only grows, so the last look before the end counts.
pub fn run(command: &mut Command) -> (Measured, String) {
    let (measured, out, _) = run_telling(command);
    (measured, out)
}

/// The same with standard error.
fn run_telling(command: &mut Command) -> (Measured, String, String) {
    let out = tempfile::NamedTempFile::new().expect("a file");
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out.reopen().expect("a file"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let id = child.id();
    let (done, watched) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        let mut peak = 0.0f64;
        loop {
            if let Some(now) = memory_mib(id, "VmHWM:") {
                peak = peak.max(now);
            }
            if watched.recv_timeout(Duration::from_millis(2)) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return peak;
            }
        }
    });
    let mut errors = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().expect("stderr"), &mut errors).expect("stderr");
    let status = child.wait().expect("an end");
    let wall = start.elapsed();
    drop(done);
    let peak_mib = watcher.join().expect("the watcher");
    assert!(status.success(), "{command:?} failed: {errors}");
    (Measured { wall, peak_mib }, std::fs::read_to_string(out.path()).expect("the output"), errors)
}

/// What `/proc` says of a process's memory under this key; `None` once it is gone.
pub fn memory_mib(id: u32, key: &str) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches("kB").trim().parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// The built program on one repository, hermetic.
pub struct Holdfast {
    pub repository: Repository,
    home: PathBuf,
}

impl Holdfast {
    pub fn new(repository: Repository) -> Self {
        let home = repository.folder.with_extension("home");
        std::fs::create_dir_all(&home).expect("a folder");
        let mut config = String::from("apiVersion: holdfast.dev/v1\nkind: Source\nmetadata:\n  name: bench\nspec:\n");
        config.push_str(&format!("  repository: {}\n", repository.folder.display()));
        config.push_str("  ref: main\n  path: deploy\n  namespaces: [bench]\n  clusterKinds: [Namespace]\n");
        config.push_str("---\napiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: local\nspec:\n");
        config.push_str("  embedded: {path: target/control-plane.db}\n");
        std::fs::write(home.join("holdfast.yaml"), config).expect("a file");
        Self { repository, home }
    }

    /// The same on a cluster, as a Source of its own.
    pub fn on_cluster(repository: Repository, kubeconfig: &Path, name: &str) -> Self {
        let home = repository.folder.with_extension("home");
        std::fs::create_dir_all(&home).expect("a folder");
        let config = format!(
            "apiVersion: holdfast.dev/v1\nkind: Source\nmetadata:\n  name: {name}\nspec:\n  repository: {}\n  ref: main\n  \
             path: deploy\n  namespaces: [{name}]\n---\napiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: \
             cluster\nspec:\n  kubernetes: {{kubeconfig: {}, stateNamespace: state-{name}}}\n",
            repository.folder.display(),
            kubeconfig.display()
        );
        std::fs::write(home.join("holdfast.yaml"), config).expect("a file");
        Self { repository, home }
    }

    /// The files of the commit, as they lie in the work tree.
    pub fn tree(&self) -> PathBuf {
        self.repository.folder.join("deploy")
    }

    pub fn database(&self) -> PathBuf {
        self.home.join("target/control-plane.db")
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
        command.current_dir(&self.home).env_clear();
        command.env("HOME", &self.home).env("XDG_CACHE_HOME", self.home.join("cache")).env("NO_COLOR", "1");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// Sets the interval of the loop.
    pub fn looks_every(&self, interval: &str) {
        let path = self.home.join("holdfast.yaml");
        let text = std::fs::read_to_string(&path).expect("a file");
        let text = text.replacen("  ref: main\n", &format!("  ref: main\n  interval: {interval}\n"), 1);
        std::fs::write(path, text).expect("a file");
    }

    /// The CPU time of a plan on a target that has nothing yet.
    pub fn cold_cpu(&self) -> Duration {
        let mut all: Vec<Duration> = (0..5)
            .map(|_| {
                self.forget_target();
                crate::standing::cpu_of(self.command().arg("plan"))
            })
            .collect();
        all.sort();
        all[2]
    }

    /// Fills the mirror.
    pub fn warm(&self) {
        run(self.command().args(["plan", "-q"]));
    }

    pub fn forget_target(&self) {
        let _ = std::fs::remove_dir_all(self.home.join("target"));
    }

    pub fn plan(&self) -> Measured {
        run(self.command().args(["plan"])).0
    }

    pub fn saved_plan(&self) -> Measured {
        run(self.command().args(["plan", "--out"]).arg(self.home.join("bench.plan.json"))).0
    }

    /// Applies to a fresh target; also how long the write lock was held, BEGIN to COMMIT, as `-v` tells.
    pub fn apply(&self) -> (Measured, Duration) {
        let (measured, _, told) = run_telling(self.command().args(["apply", "--yes", "-v"]));
        let line = told.lines().find_map(|line| line.split_once("lock was held for ")).expect("a time").1;
        let micros = line.split(' ').next().expect("a number").parse().expect("a number");
        (measured, Duration::from_micros(micros))
    }

    /// The same repository with a target on which everything is applied.
    pub fn applied_copy(&self) -> Self {
        self.forget_target();
        run(self.command().args(["apply", "--yes", "-q"]));
        let copy = Self { repository: self.repository.clone(), home: self.home.with_extension("applied") };
        let copied = Command::new("cp").arg("-a").arg(&self.home).arg(&copy.home).status().expect("cp");
        assert!(copied.success());
        copy
    }
}
