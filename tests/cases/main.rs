//! Performs the trial cases against the built binary, by its command line alone.
//!
//! `HOLDFAST_CASES` is a folder whose folders with an `expected.json` are cases (default: `tests/cases-data`),
//! `HOLDFAST_CASES_TARGET` is `embedded` (default) or `kubernetes`. `HOLDFAST_CASES_REPEAT` is how often one is repeated at most. Words on the command line choose cases by part of
//! their name. Prints `case NAME: passed|failed: STEP: WHY|skipped: WHY`, and last `cases: N passed, N failed, N skipped`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test program with its own report")]
#![allow(clippy::unwrap_used, unreachable_pub, reason = "shared with tests")]

mod actions;
mod assign;
mod cluster;
mod command;
#[path = "../support/control_plane.rs"]
mod control_plane;
mod digests;
mod expected;
mod failpoints;
#[path = "../support/hand.rs"]
mod hand;
mod ids;
mod judge;
mod lab;
mod never;
mod perform;
mod pointer;
mod random;
mod reading;
mod reasons;
mod repository;
mod steps;
mod text;
mod verdict;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};

use lab::{Folder, Lab};
use verdict::Verdict;

/// The seed of a run that names none.
const SEED: u64 = 20_260_101;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("cases: {why}");
            ExitCode::from(2)
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a test program reads its own environment")]
fn setting(key: &str) -> Option<String> {
    std::env::var(key).ok().filter(|value| !value.is_empty())
}

fn run() -> Result<bool, String> {
    let target = setting("HOLDFAST_CASES_TARGET").unwrap_or_else(|| "embedded".to_owned());
    let on_cluster = match target.as_str() {
        "embedded" => false,
        "kubernetes" => true,
        other => return Err(format!("HOLDFAST_CASES_TARGET is {other:?}; it is embedded or kubernetes")),
    };
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases-data");
    let bank = setting("HOLDFAST_CASES").map_or_else(|| own.clone(), PathBuf::from);
    let bank = bank.canonicalize().map_err(|error| format!("{}: {error}", bank.display()))?;
    let mkrepo = [&bank, &own].iter().map(|folder| folder.join("mkrepo.sh")).find(|script| script.is_file());
    let mkrepo = mkrepo.ok_or("no mkrepo.sh")?;
    let seed = match setting("HOLDFAST_CASES_SEED") {
        Some(text) => text.parse().map_err(|_| format!("HOLDFAST_CASES_SEED is {text:?}; it is a number"))?,
        None => SEED,
    };
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let folders: Vec<Folder> = lab::folders(&bank)?.into_iter().filter(|folder| chosen(&folder.name)).collect();
    if std::env::args().any(|word| word == "--list") {
        folders.iter().for_each(|folder| println!("{}: test", folder.name));
        return Ok(true);
    }
    let cluster = if on_cluster { cluster::Cluster::start() } else { None };
    let skip =
        (on_cluster && cluster.is_none()).then_some("no API server: neither KUBEBUILDER_ASSETS nor Go to build one");
    let mut lab = Lab::new(PathBuf::from(env!("CARGO_BIN_EXE_holdfast")), mkrepo, seed, cluster)
        .map_err(|error| format!("no temporary folder: {error}"))?;
    if let Some(text) = setting("HOLDFAST_CASES_REPEAT") {
        let most = text.parse().ok().filter(|most| *most > 0);
        lab.most = most.ok_or_else(|| format!("HOLDFAST_CASES_REPEAT is {text:?}; it is a number"))?;
    }
    let verdicts = all(&lab, &folders, skip);
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| wanted(verdict)).count();
    let passed = count(|verdict| matches!(verdict, Verdict::Passed));
    let failed = count(|verdict| matches!(verdict, Verdict::Failed(_)));
    let skipped = count(|verdict| matches!(verdict, Verdict::Skipped(_)));
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    println!("cases: {passed} passed, {failed} failed, {skipped} skipped");
    Ok(failed == 0)
}

/// Performs all cases, as many at once as there are processors; one whose time is measured runs alone.
fn all(lab: &Lab, folders: &[Folder], skip: Option<&str>) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let alone = RwLock::new(());
    let report = Mutex::new(Report { verdicts: vec![None; folders.len()], printed: 0 });
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::SeqCst);
            let Some(folder) = folders.get(index) else { break };
            let (verdict, notes) = match skip {
                Some(why) => (Verdict::Skipped(why.to_owned()), Vec::new()),
                None if perform::is_measured(folder) => {
                    let _guard = alone.write();
                    perform::case(lab, folder)
                }
                None => {
                    let _guard = alone.read();
                    perform::case(lab, folder)
                }
            };
            if let Ok(mut report) = report.lock() {
                report.verdicts[index] = Some((verdict, notes));
                report.print(folders);
            }
        }
    };
    // A cluster is emptied between two cases.
    let workers = match lab.cluster() {
        Some(_) => 1,
        None => std::thread::available_parallelism().map_or(1, usize::from).min(folders.len()),
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let report = report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let lost = || Verdict::Failed("the runner: no verdict".to_owned());
    report.verdicts.into_iter().map(|entry| entry.map_or_else(lost, |(verdict, _)| verdict)).collect()
}

/// Verdicts as they come, printed in the order of the names.
struct Report {
    verdicts: Vec<Option<(Verdict, Vec<String>)>>,
    printed: usize,
}

impl Report {
    fn print(&mut self, folders: &[Folder]) {
        while let Some(Some((verdict, notes))) = self.verdicts.get(self.printed) {
            println!("case {}: {verdict}", folders[self.printed].name);
            notes.iter().for_each(|note| eprintln!("note {}: {note}", folders[self.printed].name));
            self.printed += 1;
        }
    }
}
