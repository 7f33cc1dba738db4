//! Manifest files: what is read, what is refused, and at which place.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod ignore_rules;
mod lists;
mod properties;
mod refusals;
mod rewrite;
mod scalars;
mod set;

use holdfast::base::fault::{At, Fault};
use holdfast::base::path::RepoPath;
use holdfast::manifest::{FileReading, Limits, read_file};
use serde_json::Value;

fn read(text: &str) -> FileReading {
    read_bytes("a.yaml", text.as_bytes())
}

fn read_bytes(name: &str, bytes: &[u8]) -> FileReading {
    read_file(&RepoPath::from(name), bytes.to_vec(), &Limits::default())
}

/// The only object of a text without faults.
fn object(text: &str) -> Value {
    let reading = read(text);
    assert_eq!(reading.faults, [], "{text}");
    assert_eq!(reading.documents.len(), 1, "{text}");
    reading.documents[0].value.clone()
}

/// The names of the objects.
fn names(reading: &FileReading) -> Vec<&str> {
    reading.documents.iter().map(|d| d.value["metadata"]["name"].as_str().unwrap()).collect()
}

/// `rule line:column path` of each fault.
fn shown(faults: &[Fault]) -> Vec<String> {
    let place = |at: &Option<At>| at.as_ref().map_or_else(String::new, |at| format!("{}:{}", at.line, at.column));
    faults
        .iter()
        .map(|f| {
            let path = f.path.as_ref().map_or("", |path| path.as_str());
            format!("{} {} {path}", f.rule, place(&f.at)).trim_end().to_owned()
        })
        .collect()
}

fn refused(text: &str) -> Vec<String> {
    shown(&read(text).faults)
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\n")
}
