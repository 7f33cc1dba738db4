//! What the fuzzer found stays found: every input under `tests/fuzz`, the seeds too, through the checks it runs.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, unreachable_pub)]

#[path = "fuzz/checks/mod.rs"]
mod checks;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holdfast::base::path::RepoPath;
use holdfast::manifest::{Limits, read_objects};
use serde_json::Value;

/// The files of a folder and of those in it, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Each input of a target, with those of another folder.
fn replay(target: &str, also: Option<&str>, holds: fn(&[u8])) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    let mut all = files(&fuzz.join("found").join(target));
    let found = all.len();
    all.extend(files(&fuzz.join("seeds").join(target)));
    all.extend(also.into_iter().flat_map(|also| files(&fuzz.join(also))));
    assert!(all.len() > found, "no seeds");
    for path in &all {
        let bytes = fs::read(path).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| holds(&bytes)) {
            println!("{}", path.display());
            std::panic::resume_unwind(panic);
        }
    }
    println!("fuzzed: {target}: {found} findings and {} seeds hold", all.len() - found);
}

#[test]
fn manifests_hold() {
    replay("manifest", Some("../yaml-corpus/inputs"), checks::manifest::holds);
}

/// `found/kubectl.jsonl` is what `oracle` says of them.
#[test]
fn manifests_that_were_found_are_read_as_kubectl_reads_them() {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/found");
    agree(&files(&found.join("manifest")), &fs::read_to_string(found.join("kubectl.jsonl")).unwrap());
}

#[test]
fn plans_hold() {
    replay("plan", None, checks::plan::holds);
}

#[test]
fn configurations_hold() {
    replay("config", None, checks::config::holds);
}

#[test]
fn trees_hold() {
    replay("tree", None, checks::tree::holds);
}

/// Needs `go build` in `tests/fuzz/oracle`, and a folder of inputs (`HOLDFAST_FUZZ_CORPUS`).
#[test]
#[ignore = "for the corpus that a run of the fuzzer left"]
fn what_is_read_is_read_as_kubectl_reads_it() {
    let corpus = std::env::var("HOLDFAST_FUZZ_CORPUS").expect("HOLDFAST_FUZZ_CORPUS names a folder");
    // kubectl replaces what is no UTF-8 before it decodes.
    let all: Vec<PathBuf> = files(Path::new(&corpus))
        .into_iter()
        .filter(|path| std::str::from_utf8(&fs::read(path).unwrap()).is_ok())
        .collect();
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/oracle/oracle");
    let mut child = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let names: String = all.iter().map(|path| format!("{}\n", path.display())).collect();
    let feed = std::thread::spawn(move || stdin.write_all(names.as_bytes()));
    let said = child.wait_with_output().unwrap();
    feed.join().unwrap().unwrap();
    agree(&all, &String::from_utf8(said.stdout).unwrap());
    all.iter().for_each(|path| checks::manifest::holds(&fs::read(path).unwrap()));
}

/// Kubectl's readings are one to a line, in the order of the files. What we read, we read as it does.
fn agree(all: &[PathBuf], readings: &str) {
    assert_eq!(all.len(), readings.lines().count());
    let (mut read, mut refused, mut wrong) = (0, 0, Vec::new());
    for (path, line) in all.iter().zip(readings.lines()) {
        let Ok(theirs) = holdfast::base::json::read::<Value>(line.as_bytes()) else { continue };
        assert!(path.ends_with(theirs["name"].as_str().unwrap()), "{}: {}", path.display(), theirs["name"]);
        let ours = read_objects(&RepoPath::from("any.yaml"), fs::read(path).unwrap(), &Limits::default());
        if !ours.faults.is_empty() {
            refused += 1;
            continue;
        }
        read += 1;
        let documents = theirs["documents"].as_array().unwrap();
        let same = documents.len() == ours.documents.len()
            && documents.iter().zip(&ours.documents).all(|(a, b)| checks::manifest::same(&b.value, a));
        if theirs["accepts"] != true || !same {
            let ours: Vec<&Value> = ours.documents.iter().map(|d| &d.value).collect();
            wrong.push(format!("{}: kubectl {theirs}\n  we read {ours:?}", path.display()));
        }
    }
    println!("fuzzed: {read} are read, {refused} refused, {} otherwise than kubectl", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
