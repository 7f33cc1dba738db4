//! What it costs to stand still: ticks of `holdfast run` on what didn't change, and on a commit of one file.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use crate::process::{Holdfast, memory_mib};

/// Ticks of which the memory is looked at.
const TICKS: usize = 1000;
/// Ticks over which the cost of one is measured, and after which the memory must be flat.
const MEASURED: usize = 200;

/// A running loop that looks all the time.
struct Loop {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
}

impl Loop {
    fn start(holdfast: &Holdfast) -> Self {
        let mut command: Command = holdfast.command();
        command.args(["run", "-v", "--log-format", "json"]).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("a process");
        let lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
        Self { child, lines }
    }

    /// Waits for so many lines of an event.
    fn wait(&mut self, event: &str, count: usize) {
        let wanted = format!("\"event\":\"{event}\"");
        for _ in 0..count {
            self.lines
                .find(|line| line.as_ref().is_ok_and(|line| line.contains(&wanted)))
                .expect("a line")
                .expect("a line");
        }
    }

    /// The CPU time of all its threads so far.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("its state");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime");
        Duration::from_millis(ticks * 10)
    }

    fn resident_mib(&self) -> f64 {
        memory_mib(self.child.id(), "VmRSS:").expect("its memory")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures on an applied repository of 10,000 objects in 5,000 files; `cold` is the CPU time of its cold plan.
pub fn standing(holdfast: &Holdfast, cold: Duration) {
    holdfast.looks_every("10ms");
    let mut running = Loop::start(holdfast);
    running.wait("unchanged", 3);
    let before = running.cpu();
    running.wait("unchanged", MEASURED);
    let tick = (running.cpu() - before) / u32::try_from(MEASURED).expect("a number");
    crate::figure("run-tick-unchanged-cpu", tick.as_secs_f64() * 1e3, "ms");
    crate::figure("run-tick-unchanged-to-cold-plan", tick.as_secs_f64() / cold.as_secs_f64(), "times (at most 0.1)");

    let settled = running.resident_mib();
    running.wait("unchanged", TICKS - MEASURED);
    crate::figure("run-memory-after-1000-ticks-to-200", running.resident_mib() / settled, "times (at most 1.05)");

    let mut costs = Vec::new();
    for n in 0..3 {
        let before = running.cpu();
        holdfast.repository.commit_one_file(n);
        running.wait("applied", 1);
        costs.push(running.cpu() - before);
        // The next one plans once more, and finds nothing to do.
        running.wait("unchanged", 2);
    }
    costs.sort();
    crate::figure("run-commit-of-one-file-cpu", costs[1].as_secs_f64() * 1e3, "ms");
    let ratio = costs[1].as_secs_f64() / cold.as_secs_f64();
    crate::figure("run-commit-of-one-file-to-cold-plan", ratio, "times (at most 0.25)");
}

/// The CPU time that a command took, by the shell's own count.
pub fn cpu_of(command: &mut Command) -> Duration {
    let program = command.get_program().to_owned();
    let args: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
    let mut timed = Command::new("bash");
    timed.args(["-c", "TIMEFORMAT='%U %S'; time \"$0\" \"$@\" >/dev/null"]).arg(program).args(args);
    if let Some(folder) = command.get_current_dir() {
        timed.current_dir(folder);
    }
    timed.env_clear();
    timed.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = timed.stdin(Stdio::null()).output().expect("bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().last().expect("times");
    Duration::from_secs_f64(line.split(' ').map(|part| part.parse::<f64>().expect("seconds")).sum())
}
