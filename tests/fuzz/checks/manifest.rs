//! A manifest file: no third meaning. Whatever is read without a fault says the same as JSON, as YAML and by serde_json.

use holdfast::base::path::RepoPath;
use holdfast::base::pointer::Pointer;
use holdfast::base::yaml::to_yaml;
use holdfast::manifest::{Change, FileReading, Limits, read_file, read_objects, rewrite};
use serde_json::Value;

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
    let mut becomes = first.value.clone();
    // Whether they are mappings is judged later.
    let Some(metadata) = becomes["metadata"].as_object_mut() else { return };
    let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Default::default()));
    let Some(labels) = labels.as_object_mut() else { return };
    labels.insert("fuzz".to_owned(), Value::from("yes: #1"));
    let change = Change { index: first.index, item: first.item.clone(), becomes: Some(becomes.clone()) };
    let rewritten = rewrite(&reading.file, &[change], &Limits::default());
    if rewritten.failed.is_empty() {
        let again = read("any.yaml", rewritten.text.expect("a document is left"));
        assert!(again.faults.is_empty(), "{:?}", again.faults);
        assert!(same(&again.documents[0].value, &becomes), "the change became {}", again.documents[0].value);
        let rest = |reading: &FileReading| reading.documents[1..].iter().map(|d| d.value.clone()).collect::<Vec<_>>();
        assert_eq!(rest(&again), rest(reading), "the change reached others");
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
