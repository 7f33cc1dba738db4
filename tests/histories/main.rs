//! Random histories of a whole world (two Sources, their commits, hands from outside, processes that die) against the real
//! engine and a simple model of what it promises.
//!
//! `HOLDFAST_HISTORIES_SECONDS` and `HOLDFAST_HISTORIES_STEPS` say how long and of how many steps, `HOLDFAST_HISTORIES_SEED`
//! which ones (`random` for ones that nobody tried yet); a history that fails
//! shrinks to a short script, and `HOLDFAST_HISTORY=FILE` runs one again. Scripts in `found/` failed once and stay.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::disallowed_methods, missing_docs, unreachable_pub)]

mod check;
mod draw;
mod engine;
mod play;
mod reference;
mod script;
mod step;
mod tally;

use std::path::Path;
use std::time::{Duration, Instant};

use play::Broken;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use step::Step;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Steps of one history.
const STEPS: usize = 200;
/// Histories that are played side by side; a number of its own, so that one seed means the same histories everywhere.
const THREADS: u64 = 2;
/// The histories that are played unless another seed is given: the same each time, so that what fails is what a change broke.
const SEED: u64 = 20_261_130;
/// After so many histories a thread says how far it has come.
const TOLD: usize = 25;
/// How long histories are tried, unless said otherwise.
const SECONDS: u64 = 45;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn script(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("{step}\n")).collect()
}

#[test]
fn no_history_breaks_a_promise() {
    let until = Instant::now() + Duration::from_secs(number("HOLDFAST_HISTORIES_SECONDS", SECONDS));
    let steps = usize::try_from(number("HOLDFAST_HISTORIES_STEPS", STEPS as u64)).unwrap();
    let seed = match std::env::var("HOLDFAST_HISTORIES_SEED") {
        Ok(text) if text == "random" => random(),
        _ => number("HOLDFAST_HISTORIES_SEED", SEED),
    };
    eprintln!("histories of {steps} steps; HOLDFAST_HISTORIES_SEED={seed}");
    let tried: usize = std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..THREADS).map(|at| scope.spawn(move || alone(|| run(steps, until, seed.wrapping_add(at))))).collect();
        runs.into_iter().map(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).sum()
    });
    eprintln!("histories: {tried} of {steps} steps kept every promise; in them\n{}", tally::told());
    assert!(tried > 0, "the time was too short for a single history");
}

/// Does all of something on one thread: so small a world gains nothing by many, and each hand-over costs.
fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work)
}

/// So many histories at most on each thread (`HOLDFAST_HISTORIES_MOST`).
fn most() -> usize {
    usize::try_from(number("HOLDFAST_HISTORIES_MOST", u64::MAX)).unwrap_or(usize::MAX)
}

/// Tries histories until the time is over; how many there were.
fn run(steps: usize, until: Instant, seed: u64) -> usize {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let history = draw::history(steps);
    let mut tried = 0;
    while tried == 0 || (Instant::now() < until && tried < most()) {
        let steps = history.new_tree(&mut runner).unwrap().current();
        if let Err(broken) = play::play(&steps) {
            eprintln!("{broken}; looking for a short script that fails ...");
            let (steps, broken) = shrink(steps, broken);
            panic!(
                "{broken}\n\nthis script fails (save it, and run it with HOLDFAST_HISTORY=FILE):\n{}",
                script(&steps)
            );
        }
        tried += 1;
        if tried.is_multiple_of(TOLD) {
            eprintln!("histories: {tried} of this thread kept every promise (seed {seed})");
        }
    }
    tried
}

/// A shorter history that breaks a promise, too: what comes after the break goes, then whatever isn't needed for it.
fn shrink(mut steps: Vec<Step>, mut broken: Broken) -> (Vec<Step>, Broken) {
    steps.truncate(broken.at);
    let mut size = steps.len();
    while size > 1 {
        size = size.div_ceil(2);
        let mut from = 0;
        while from < steps.len() {
            let fewer: Vec<Step> = steps
                .iter()
                .enumerate()
                .filter(|(at, _)| *at < from || *at >= from + size)
                .map(|(_, s)| s.clone())
                .collect();
            match play::play(&fewer) {
                Err(still) => {
                    steps = fewer;
                    steps.truncate(still.at);
                    broken = still;
                }
                Ok(()) => from += size,
            }
        }
    }
    (steps, broken)
}

fn random() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap() ^ u64::from(std::process::id())
}

fn read(path: &Path) -> Vec<Step> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines =
        text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
    lines.map(|line| line.parse().unwrap_or_else(|e| panic!("{}: {line}: {e}", path.display()))).collect()
}

#[test]
fn histories_that_once_failed_keep_every_promise() {
    let mut scripts: Vec<_> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories/found"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    scripts.extend(std::env::var_os("HOLDFAST_HISTORY").map(Into::into));
    scripts.sort();
    assert!(!scripts.is_empty());
    for path in scripts {
        if let Err(why) = play::play(&read(&path)) {
            panic!("{}: {why}", path.display());
        }
    }
}

#[test]
fn what_a_hand_writes_again_after_three_repairs_is_left_alone() {
    let mut script = vec!["declare alpha x a=0", "apply alpha"];
    for _ in 0..5 {
        script.extend(["put 0 x a 1 keep", "tick alpha"]);
    }
    script.extend(["declare alpha x a=2", "tick alpha", "put 0 x a 1 keep", "tick alpha"]);
    let steps: Vec<Step> = script.into_iter().map(|line| line.parse().unwrap()).collect();
    play::play(&steps).unwrap();
}

#[test]
fn every_step_reads_back_as_it_is_written() {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let step = draw::step();
    let outcome = runner.run(&step, |step| {
        let read: Step = step.to_string().parse().map_err(TestCaseError::fail)?;
        if read == step { Ok(()) } else { Err(TestCaseError::fail(format!("{step} became {read}"))) }
    });
    outcome.unwrap();
}
