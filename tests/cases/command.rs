//! Running one command: hermetic environment, captured output, wall time, peak memory, a hard deadline.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// No command of a case takes this long; one that does hangs.
const DEADLINE: Duration = Duration::from_secs(300);
/// How often a running child is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// What a command did.
#[derive(Debug)]
pub(crate) struct Output {
    /// The command line, for reports.
    pub(crate) line: String,
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// Wall time.
    pub(crate) took: Duration,
    /// Peak resident memory in MiB, where the system tells.
    pub(crate) peak_mib: Option<f64>,
}

impl Output {
    /// Standard output as the one JSON document that it must be.
    pub(crate) fn json(&self) -> Result<Value, String> {
        serde_json::from_str(&self.stdout)
            .map_err(|error| format!("{}: stdout is not one JSON document: {error}; {}", self.line, self.brief()))
    }

    /// The exit code and the end of what was said.
    pub(crate) fn brief(&self) -> String {
        let code = self.code.map_or("a signal".to_owned(), |code| code.to_string());
        let said = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        format!("exit {code}: {}", super::text::tail(said, 400))
    }
}

/// The environment of every child: nothing of the caller's but `PATH`.
pub(crate) fn hermetic(program: impl AsRef<OsStr>, home: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear();
    for key in ["PATH", "LLVM_PROFILE_FILE"] {
        if let Some(value) = caller(key) {
            command.env(key, value);
        }
    }
    command
        .env("HOME", home)
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_DATA_HOME", home.join("data"))
        .env("TMPDIR", home.join("tmp"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .env("NO_COLOR", "1")
        .env("TERM", "dumb")
        .env("USER", "cases")
        .stdin(Stdio::null());
    command
}

#[allow(clippy::disallowed_methods, reason = "a test runner reads its own environment")]
fn caller(key: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(key)
}

/// A child whose output goes to files, so that it never waits for a reader.
pub(crate) struct Running {
    child: Child,
    line: String,
    stdout: PathBuf,
    stderr: PathBuf,
    since: Instant,
    peak_kib: Option<u64>,
}

/// Starts a command; its output goes to `NAME.stdout` and `NAME.stderr`.
pub(crate) fn start(command: &mut Command, outputs: &Path, name: &str) -> io::Result<Running> {
    let (stdout, stderr) = (outputs.join(format!("{name}.stdout")), outputs.join(format!("{name}.stderr")));
    command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    let line = shown(command);
    let since = Instant::now();
    Ok(Running { child: command.spawn()?, line, stdout, stderr, since, peak_kib: None })
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command, outputs: &Path, name: &str) -> io::Result<Output> {
    start(command, outputs, name)?.finish()
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut line = program.to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

impl Running {
    /// Waits for the end.
    pub(crate) fn finish(mut self) -> io::Result<Output> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return self.output(status.code());
            }
            if self.since.elapsed() > DEADLINE {
                self.child.kill()?;
                self.child.wait()?;
                return Err(io::Error::other(format!("{}: no end after {} s", self.line, DEADLINE.as_secs())));
            }
            self.look();
            std::thread::sleep(LOOK);
        }
    }

    /// Kills it (`kill -9`) at a moment after its start, unless it ended before.
    pub(crate) fn kill_at(mut self, moment: Duration) -> io::Result<Output> {
        while self.since.elapsed() < moment {
            if let Some(status) = self.child.try_wait()? {
                return self.output(status.code());
            }
            std::thread::sleep(Duration::from_micros(200).min(moment.saturating_sub(self.since.elapsed())));
        }
        self.child.kill()?;
        let status = self.child.wait()?;
        self.output(status.code())
    }

    /// Reads the peak so far: `VmHWM` only grows, so the last look before the end counts.
    fn look(&mut self) {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())) else { return };
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        self.peak_kib = self.peak_kib.max(peak);
    }

    fn output(self, code: Option<i32>) -> io::Result<Output> {
        let took = self.since.elapsed();
        let read = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let output = Output {
            code,
            took,
            stdout: read(&self.stdout)?,
            stderr: read(&self.stderr)?,
            peak_mib: self.peak_kib.map(|kib| f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0),
            line: self.line,
        };
        std::fs::remove_file(&self.stdout)?;
        std::fs::remove_file(&self.stderr)?;
        Ok(output)
    }
}
