//! What a terminal shows and a pipe does not: progress and colours.

use std::process::{Command, Stdio};

use libtest_mimic::Trial;

use crate::lab::{Lab, Said, hermetic};
use crate::{needs_program, trial};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("terminal::every_long_part_of_an_apply_shows_its_progress", needs, every_part_shows_its_progress),
        trial("terminal::no_progress_and_no_colour_in_a_pipe", || None, nothing_in_a_pipe),
        trial("terminal::quiet_shows_no_progress", needs, quiet_shows_none),
        trial("terminal::a_refusal_is_not_written_over", needs, a_refusal_is_whole),
    ]
}

/// `script` gives a program a terminal (the one of util-linux; others take other options).
fn needs() -> Option<String> {
    needs_program("script", &["-qec", "test -t 1 && test -t 2", "/dev/null"])
}

fn lab() -> Lab {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    for n in 0..200 {
        repo.write(&format!("c{n}.yaml"), format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\n"));
    }
    repo.commit("one");
    lab.configure(&[repo.source("shop", "  namespaces: [shop]\n  clusterKinds: [Namespace]")]);
    lab
}

/// Runs the program with stdout and stderr on one terminal.
fn on_a_terminal(lab: &Lab, arguments: &str) -> Said {
    let mut command = Command::new("script");
    hermetic(&mut command, lab.path());
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    command.args(["-qec", &format!("{} {arguments}", env!("CARGO_BIN_EXE_holdfast")), "/dev/null"]);
    Said::of(command.current_dir(lab.path()).stdin(Stdio::null()).output().unwrap())
}

const PARTS: [(&str, &str); 5] = [
    ("fetching", " objects"),
    ("reading", "/201 files"),
    ("checking", "/201 manifests"),
    ("observing", "/201 objects"),
    ("applying", "/201 changes"),
];

fn every_part_shows_its_progress() {
    let lab = lab();
    let said = on_a_terminal(&lab, "apply --yes").ok();
    for (part, count) in PARTS {
        let shown = said.stdout.split(['\r', '\n']).any(|line| line.contains(part) && line.contains(count));
        assert!(shown, "{part} {count} is not in: {}", said.stdout);
    }
    // Every bar is gone before the first line of the result.
    let plan = said.stdout.find("ACTION").unwrap();
    assert!(
        !said.stdout[plan..].contains("fetching") && said.stdout.contains("Applied: 201 created"),
        "{}",
        said.stdout
    );
}

#[track_caller]
fn shows_none(all: &str) {
    for (part, _) in PARTS {
        assert!(!all.contains(&format!("{part} ")), "{part} in: {all}");
    }
    assert!(!all.contains('\x1b') && !all.contains('\r'), "{all:?}");
}

fn nothing_in_a_pipe() {
    let lab = lab();
    for arguments in [&["plan", "-v"] as &[&str], &["apply", "--yes", "-v"]] {
        let mut command = lab.command(arguments);
        let said = Said::of(command.env("TERM", "xterm").env_remove("NO_COLOR").output().unwrap()).ok();
        shows_none(&said.all());
    }
}

fn quiet_shows_none() {
    let lab = lab();
    let said = on_a_terminal(&lab, "apply --yes -q --color never").ok();
    shows_none(&said.stdout.replace("\r\n", "\n"));
}

fn a_refusal_is_whole() {
    let lab = lab();
    std::fs::write(lab.path().join("repo/bad.yaml"), "kind: [").unwrap();
    let script = "git add -A && git commit -qm bad";
    let mut shell = Command::new("sh");
    hermetic(&mut shell, lab.path());
    assert!(shell.args(["-c", script]).current_dir(lab.path().join("repo")).status().unwrap().success());
    let said = on_a_terminal(&lab, "plan").exits(1);
    let refusal = said.stdout.find("yaml-syntax").unwrap();
    let rest = &said.stdout[refusal..];
    assert!(PARTS.iter().all(|(part, _)| !rest.contains(part)), "{}", said.stdout);
    assert!(rest.contains("Nothing was written."), "{}", said.stdout);
}
