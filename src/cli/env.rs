//! The environment and the wall clock, read here alone and handed in.
#![allow(clippy::disallowed_methods, reason = "the one place that reads the environment and the clock")]

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::base::clock::{Clock, Moment};

/// What of the environment counts.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    /// `HOLDFAST_CONFIG`.
    pub config: Option<PathBuf>,
    /// Where mirrors are kept.
    pub cache: Option<PathBuf>,
    /// The user's own folder.
    pub home: Option<PathBuf>,
    /// The present folder.
    pub folder: PathBuf,
    /// Who runs this.
    pub user: String,
    /// `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// stdout is a terminal.
    pub stdout_is_terminal: bool,
    /// stderr is a terminal.
    pub stderr_is_terminal: bool,
    /// stdin is a terminal.
    pub stdin_is_terminal: bool,
    /// The kubeconfig files that kubectl would read.
    pub kubeconfig: Vec<PathBuf>,
    /// `HOLDFAST_LEASE`: how many seconds the lease of a Source holds, for tests of applies that were cut off.
    pub lease: Option<Duration>,
    /// This runs in a Pod.
    pub in_cluster: bool,
    /// `HOLDFAST_FAILPOINT`: where to stop dead, for crash tests.
    pub failpoint: Option<String>,
}

impl Env {
    /// Reads the environment of this process.
    pub(crate) fn of_process() -> Self {
        let path = |name: &str| filled(name).map(PathBuf::from);
        let cache = path("XDG_CACHE_HOME").or_else(|| path("HOME").map(|home| home.join(".cache")));
        let kubeconfig: Vec<PathBuf> = match filled("KUBECONFIG") {
            Some(list) => std::env::split_paths(&list).filter(|path| path.is_file()).collect(),
            None => {
                path("HOME").map(|home| home.join(".kube/config")).filter(|path| path.is_file()).into_iter().collect()
            }
        };
        let name = |name: &str| filled(name).and_then(|value| value.into_string().ok());
        Self {
            config: path("HOLDFAST_CONFIG"),
            home: path("HOME"),
            cache: cache.map(|folder| folder.join("holdfast")),
            folder: std::env::current_dir().unwrap_or_default(),
            user: name("USER").or_else(|| name("LOGNAME")).unwrap_or_else(|| "unknown".to_owned()),
            no_color: filled("NO_COLOR").is_some(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            kubeconfig,
            lease: name("HOLDFAST_LEASE").and_then(|text| text.parse().ok()).map(Duration::from_secs),
            in_cluster: filled("KUBERNETES_SERVICE_HOST").is_some(),
            failpoint: name("HOLDFAST_FAILPOINT"),
        }
    }
}

fn filled(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
