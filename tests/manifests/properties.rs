//! Whatever the bytes: no panic, no fault without a place, no field without one.

use std::path::Path;
use std::sync::LazyLock;

use holdfast::base::pointer::Pointer;
use holdfast::manifest::FileReading;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::read_bytes;

static CORPUS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/yaml-corpus/inputs");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).filter(|bytes| bytes.len() < 4000).collect()
});

const PIECES: &[&str] = &[
    "---\n",
    "...\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a ",
    "<<: ",
    "!!int ",
    "!x",
    "!",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "'",
    "|\n",
    ">",
    "#",
    "%YAML 1.1\n",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\\",
    "yes",
    "~",
    "0755",
    "1e400",
    ".nan",
    "items: []\n",
    "kind: List\n",
    "{\"a\":1}",
    "sops: {mac: x}\n",
    "\0",
    "status: {}\n",
];

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let cut = (any::<Index>(), 0usize..12, 0usize..PIECES.len(), any::<bool>());
    (any::<Index>(), prop::collection::vec(cut, 1..6)).prop_map(|(base, cuts)| {
        let mut bytes = CORPUS[base.index(CORPUS.len())].clone();
        for (at, len, piece, insert) in cuts {
            let at = at.index(bytes.len() + 1);
            let end = (at + len).min(bytes.len());
            let piece = if insert { PIECES[piece].as_bytes() } else { b"" };
            bytes.splice(at..end, piece.iter().copied());
        }
        bytes
    })
}

fn sound(reading: &FileReading) {
    for fault in &reading.faults {
        let at = fault.at.as_ref().unwrap();
        assert!(at.line >= 1 && at.column >= 1, "{fault:?}");
        assert!(fault.text.len() < 400, "{fault:?}");
    }
    let lines = u32::try_from(reading.file.text.iter().filter(|b| **b == b'\n').count()).unwrap() + 1;
    for document in reading.documents.iter().chain(&reading.damaged) {
        let mut pointers = Vec::new();
        fields(&document.value, &Pointer::root(), &mut pointers);
        for at in document.locate_all(&pointers) {
            assert!((1..=lines).contains(&at.line) && at.column >= 1);
        }
    }
}

fn fields(value: &Value, at: &Pointer, out: &mut Vec<Pointer>) {
    out.push(at.clone());
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(i, entry)| fields(entry, &at.index(i), out)),
        Value::Object(map) => map.iter().for_each(|(key, entry)| fields(entry, &at.key(key), out)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_manifests_are_read_or_refused_at_a_place(bytes in mutated()) {
        sound(&read_bytes("a.yaml", &bytes));
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused_at_a_place(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        sound(&read_bytes("a.yaml", &bytes));
    }

    #[test]
    fn json_means_the_same_to_both_readers(text in "[a-z0-9 .:_-]{0,12}", number in any::<i64>(), half in any::<f32>()) {
        let half = if half.is_finite() { f64::from(half) } else { 0.5 };
        let value = serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"t": text, "n": number, "l": [half, null, true, {}]}
        });
        let json = read_bytes("a.json", value.to_string().as_bytes());
        let yaml = read_bytes("a.yaml", format!("# yaml\n{value}").as_bytes());
        prop_assert_eq!(&json.documents[0].value, &yaml.documents[0].value);
        prop_assert_eq!(&json.documents[0].value["data"]["t"], &value["data"]["t"]);
        prop_assert_eq!(&json.documents[0].value["data"]["n"], &value["data"]["n"]);
    }
}
