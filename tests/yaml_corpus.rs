//! Every input of the corpus reads as kubectl reads it, or is refused at a place.

use std::collections::BTreeSet;
use std::path::Path;

use holdfast::base::path::RepoPath;
use holdfast::manifest::{FileReading, Limits, read_file};
use serde_json::Value;

/// What kubectl accepts and we refuse on purpose, with the rule. The corpus's README gives the reasons.
const REFUSED: &[(&str, &str)] = &[
    ("d_anchor.yaml", "ambiguous-key"),
    ("d_badutf8.yaml", "encoding"),
    ("d_badutf8_comment.yaml", "encoding"),
    ("d_badutf8_overlong.yaml", "encoding"),
    ("d_badutf8_surr.yaml", "encoding"),
    ("d_boolkey.yaml", "ambiguous-key"),
    ("d_deepblock1000.yaml", "size-limit"),
    ("d_deepblock200.yaml", "size-limit"),
    ("d_deepflow1000.yaml", "size-limit"),
    ("d_deepflow200.yaml", "size-limit"),
    ("d_deepflow9000.yaml", "size-limit"),
    ("d_doc_end_more.yaml", "yaml-syntax"),
    ("d_dup.yaml", "duplicate-key"),
    ("d_dupkind.yaml", "ambiguous-key"),
    ("d_dupstr.yaml", "duplicate-key"),
    ("d_emptyflow.yaml", "ambiguous-key"),
    ("d_intkey.yaml", "ambiguous-key"),
    ("d_mergeafter.yaml", "ambiguous-merge"),
    ("f_json_dup.yaml", "duplicate-key"),
    ("s_tagbinb.yaml", "encoding"),
];

fn corpus() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/yaml-corpus"))
}

fn read(name: &str) -> FileReading {
    let bytes = std::fs::read(corpus().join("inputs").join(name)).unwrap();
    read_file(&RepoPath::from(name), bytes, &Limits::default())
}

/// By input; one line each. Those nested too deep for serde_json have no documents to compare.
fn kubectl() -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(corpus().join("kubectl.json")).unwrap();
    let entries = text.lines().filter_map(|line| line.trim().trim_end_matches(',').split_once(": "));
    entries
        .map(|(name, reading)| {
            let reading = serde_json::from_str(reading)
                .unwrap_or_else(|_| serde_json::json!({"accepts": reading.starts_with(r#"{"accepts": true"#)}));
            (name.trim_matches('"').to_owned(), reading)
        })
        .collect()
}

/// Equal, integers exactly, other numbers as doubles.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) if !(a.is_i64() && b.is_i64()) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (a, b) => a == b,
    }
}

#[test]
fn every_input_reads_as_kubectl_reads_it_or_is_refused_at_a_place() {
    let expected = kubectl();
    assert_eq!(expected.len(), 213);
    let mut wrong = Vec::new();
    for (name, kubectl) in &expected {
        let reading = read(name);
        if reading.faults.is_empty() {
            let ours: Vec<&Value> = reading.documents.iter().map(|d| &d.value).collect();
            match kubectl["documents"].as_array() {
                _ if kubectl["accepts"] != true => wrong.push(format!("{name}: kubectl refuses it, we read {ours:?}")),
                Some(theirs) if ours.len() != theirs.len() || !ours.iter().zip(theirs).all(|(a, b)| same(a, b)) => {
                    wrong.push(format!("{name}: kubectl reads {theirs:?}, we read {ours:?}"));
                }
                _ => {}
            }
        }
        for fault in &reading.faults {
            let at = fault.at.as_ref().unwrap();
            if at.line == 0 || at.column == 0 {
                wrong.push(format!("{name}: no place in {fault:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_too_deep_for_the_expectations_still_has_its_depth() {
    let reading = read("d_deepflow127.yaml");
    let mut value = &reading.documents[0].value["data"]["v"];
    let mut depth = 0;
    while let Value::Array(list) = value {
        depth += 1;
        match list.first() {
            Some(first) => value = first,
            None => break,
        }
    }
    assert_eq!(depth, 127);
}

#[test]
fn nothing_is_refused_that_kubectl_accepts_but_what_is_listed() {
    let accepted: Vec<String> =
        kubectl().into_iter().filter(|(_, reading)| reading["accepts"] == true).map(|(name, _)| name).collect();
    let refused: BTreeSet<(String, String)> = accepted
        .iter()
        .flat_map(|name| read(name).faults.into_iter().map(|f| (name.clone(), f.rule.to_string())))
        .collect();
    let listed: BTreeSet<(String, String)> = REFUSED.iter().map(|(n, r)| ((*n).to_owned(), (*r).to_owned())).collect();
    let more: Vec<_> = refused.difference(&listed).collect();
    let less: Vec<_> = listed.difference(&refused).collect();
    assert!(more.is_empty() && less.is_empty(), "refused and not listed: {more:?}\nlisted and not refused: {less:?}");
}
