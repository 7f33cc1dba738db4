//! The house rules that a compiler doesn't hold.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, unreachable_pub)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `src/` from the bottom up; rooms of one row may import each other only as [`BESIDE`] says.
const LAYERS: &[&[&str]] = &[
    &["base"],
    &["source", "manifest", "health"],
    &["schema", "merge"],
    &["inventory"],
    &["target"],
    &["plan", "admission"],
    &["apply", "drift"],
    &["reconcile", "delivery"],
    &["server"],
    &["cli"],
];

/// Imports inside a row that are meant: what merges walks schemas, and admission and planning take turns
/// (`CheckedSet -> Draft -> Plan`); drift reads a commit as an apply does.
const BESIDE: &[(&str, &str)] =
    &[("merge", "schema"), ("plan", "admission"), ("admission", "plan"), ("drift", "apply")];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    assert!(found.len() > 20, "the sources were not found");
    found
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect()
}

fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&room))
}

/// The rooms that a source text names by `crate::ROOM`, comments and docs aside.
fn imports(text: &str) -> Vec<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut rooms = Vec::new();
    for rest in code.split("crate::").skip(1) {
        if let Some(group) = rest.strip_prefix('{') {
            let group = group.split('}').next().unwrap_or_default();
            rooms.extend(group.split(',').map(|part| word(part.trim())));
        } else {
            rooms.push(word(rest));
        }
    }
    rooms.retain(|room| !room.is_empty());
    rooms
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn imports_go_down_the_layers_only() {
    let mut wrong = Vec::new();
    for (file, text) in all_sources() {
        let room = file.split('/').next().unwrap_or_default();
        let Some(own) = layer(room) else {
            assert!(matches!(room, "lib.rs" | "main.rs"), "src/{file} is in no room of the layout");
            continue;
        };
        for other in imports(&text) {
            if other == room {
                continue;
            }
            let Some(below) = layer(&other) else {
                wrong.push(format!("src/{file} names crate::{other}, which is in no layer"));
                continue;
            };
            let beside = below == own && BESIDE.contains(&(room, other.as_str()));
            if below > own || (below == own && !beside) {
                wrong.push(format!("src/{file} ({room}) imports {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "imports against the layers:\n{}", wrong.join("\n"));
}

#[test]
fn only_the_command_line_names_adapters() {
    for (file, text) in all_sources() {
        let allowed = file.starts_with("cli/") || file.starts_with("target/") || file.starts_with("lib");
        let names = text.contains("target::sqlite") || text.contains("target::kubernetes");
        assert!(allowed || !names, "src/{file} names an adapter");
    }
}

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let long: BTreeMap<String, usize> =
        all_sources().into_iter().map(|(f, t)| (f, t.lines().count())).filter(|(_, n)| *n > 600).collect();
    assert!(long.is_empty(), "too long, find the seam: {long:?}");
}

#[test]
fn warrants_to_delete_are_issued_in_one_place_and_plans_admitted_in_one() {
    for (call, home) in [("PruneWarrant {", "inventory/warrant.rs"), ("PruneWarrant::issue(", "plan/prune.rs")] {
        let places: Vec<String> =
            all_sources().into_iter().filter(|(_, t)| t.contains(call)).map(|(f, _)| f).filter(|f| f != home).collect();
        assert!(places.is_empty(), "{call} stands in {places:?} too");
    }
}

#[test]
fn nothing_is_left_for_later() {
    for (file, text) in all_sources() {
        for mark in ["todo!(", "unimplemented!(", "TODO", "FIXME"] {
            assert!(!text.contains(mark), "src/{file} has {mark}");
        }
    }
}
