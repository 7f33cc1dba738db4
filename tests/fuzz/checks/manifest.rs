//! A manifest file: no third meaning. Whatever is read without a fault says the same as JSON, as YAML and by serde_json.

use holdfast::base::path::RepoPath;
use holdfast::base::pointer::Pointer;
use holdfast::base::yaml::to_yaml;
use holdfast::manifest::{Change, FileReading, Limits, read_file, read_objects, rewrite};
use serde_json::{Map, Value};

/// Reads it in all ways.
pub fn holds(data: &[u8]) {
    let reading = read("any.yaml", data.to_vec());
    super::are_placed(&reading.faults, data);
    for document in reading.documents.iter().chain(&reading.damaged) {
        super::is_inside(&document.at(), data);
        let mut pointers: Vec<Pointer> = document.surprising.iter().map(|s| s.pointer.clone()).collect();
        pointers.push(Pointer::of(["metadata", "name"]));
        for at in document.locate_all(&pointers) {
            assert!(at.line > 0, "a place is lost");
            super::is_inside(&at, data);
        }
    }
    let whole = read_objects(&RepoPath::from("any.yaml"), data.to_vec(), &Limits::default());
    assert_eq!(whole.faults.is_empty(), reading.faults.is_empty(), "{:?} {:?}", whole.faults, reading.faults);
    if !reading.faults.is_empty() {
        return;
    }
    as_serde_json(data, &whole);
    for document in &reading.documents {
        written_again(&document.value);
    }
    if data.len() < 4096 {
        edited(&reading);
    }
}

fn read(name: &str, bytes: Vec<u8>) -> FileReading {
    read_file(&RepoPath::from(name), bytes, &Limits::default())
}

/// What is one JSON text is read as serde_json reads it, but for lists, that are flattened.
fn as_serde_json(data: &[u8], whole: &FileReading) {
    let Ok(theirs) = serde_json::from_slice::<Value>(data) else { return };
    if theirs.get("items").is_some() || theirs.is_null() {
        return;
    }
    assert_eq!(whole.documents.len(), 1, "one JSON text is one document");
    assert!(same(&whole.documents[0].value, &theirs), "read {} for {theirs}", whole.documents[0].value);
}

/// The object written as JSON and as YAML is the object.
fn written_again(value: &Value) {
    for (name, text) in [("a.json", value.to_string()), ("a.yaml", to_yaml(value))] {
        let again = read(name, text.into_bytes());
        // An alias costs nothing until it is written out; a limit may refuse then.
        let limited = again.faults.iter().any(|f| f.rule.as_str() == "size-limit");
        assert!(again.faults.is_empty() || limited, "{name}: {:?}", again.faults);
        if !limited {
            assert_eq!(again.documents.len(), 1, "{name}: {value}");
            assert!(same(&again.documents[0].value, value), "{name}: {value} became {}", again.documents[0].value);
        }
    }
}

/// A change in the text changes this one thing, or is refused.
fn edited(reading: &FileReading) {
    let Some(first) = reading.documents.first() else { return };
    // Whether these are mappings is judged later.
    let mut labelled = first.value.clone();
    if let Some(metadata) = labelled["metadata"].as_object_mut() {
        let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
        labels.as_object_mut().into_iter().for_each(|labels| drop(labels.insert("fuzz".to_owned(), "yes: #1".into())));
    }
    let (mut shorter, mut other) = (first.value.clone(), first.value.clone());
    if let Some(map) = shorter.as_object_mut() {
        map.retain(|key, _| ["apiVersion", "kind", "metadata"].contains(&key.as_str()));
    }
    for (key, value) in other.as_object_mut().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata"].contains(&key.as_str()) {
            replace_texts(value);
        }
    }
    for becomes in [Some(labelled), Some(shorter), Some(other), None] {
        let change = Change { index: first.index, item: first.item.clone(), becomes: becomes.clone() };
        let rewritten = rewrite(&reading.file, &[change], &Limits::default());
        if !rewritten.failed.is_empty() {
            continue;
        }
        let again = read("any.yaml", rewritten.text.unwrap_or_default());
        assert!(again.faults.is_empty(), "{:?}", again.faults);
        let mut rest = again.documents.iter().map(|d| &d.value);
        if let Some(becomes) = &becomes {
            assert!(rest.next().is_some_and(|now| same(now, becomes)), "the change became {:?}", again.documents);
        }
        let rest: Vec<&Value> = rest.collect();
        let before: Vec<&Value> = reading.documents[1..].iter().map(|d| &d.value).collect();
        assert_eq!(rest, before, "the change reached others");
    }
}

/// What somebody could have written by hand.
fn replace_texts(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str("\n---\n# *a: \u{2028}\u{202e}\"'\n  - x\n\n"),
        Value::Array(list) => list.iter_mut().for_each(replace_texts),
        Value::Object(map) => map.values_mut().for_each(replace_texts),
        _ => *value = Value::from("0755"),
    }
}

/// Equal, integers exactly, other numbers as doubles.
pub fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) if !(a.is_i64() && b.is_i64()) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (a, b) => a == b,
    }
}
