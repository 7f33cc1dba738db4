//! What is written as YAML reads back as the same values, by the reader that reads as kubectl does.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holdfast::base::path::RepoPath;
use holdfast::base::text::is_unsafe;
use holdfast::base::yaml::to_yaml;
use holdfast::manifest::{Limits, read_objects};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(text: &str) -> Value {
    let reading = read_objects(&RepoPath::from("x.yaml"), text.as_bytes().to_vec(), &Limits::default());
    assert!(reading.faults.is_empty(), "{:?} in:\n{text}", reading.faults);
    assert_eq!(reading.documents.len(), 1, "{text}");
    // A fraction like 0.0 is a number whose spelling changes; of a text nothing may surprise.
    let is_number = |raw: &Option<String>| raw.as_ref().is_some_and(|raw| raw.parse::<f64>().is_ok());
    let surprising: Vec<_> = reading.documents[0].surprising.iter().filter(|s| !is_number(&s.raw)).collect();
    assert!(surprising.is_empty(), "{surprising:?} in:\n{text}");
    reading.documents[0].value.clone()
}

fn object(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

/// Text near everything that YAML reads in its own way.
fn text() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        prop::sample::select(vec![
            "yes",
            "no",
            "on",
            "y",
            "N",
            "null",
            "~",
            "true",
            "False",
            "1",
            "01",
            "0o7",
            "0x1F",
            "1_000",
            "1.5",
            ".5",
            "1e3",
            "1E",
            "+1",
            "-",
            "- ",
            ":",
            ": ",
            "#",
            " #",
            "?",
            "? ",
            "'",
            "\"",
            "\\",
            "{",
            "}",
            "[",
            "]",
            ",",
            "&",
            "*",
            "!",
            "!!str",
            "|",
            ">",
            "%",
            "@",
            "`",
            "---",
            "...",
            "<<",
            "=",
            "\n",
            "\n\n",
            "\t",
            "\r",
            " ",
            "  ",
            "é",
            "\u{85}",
            "\u{2028}",
            "\u{feff}",
            "\u{202e}",
            "\u{1b}[31m",
            "\u{7f}",
            "😀",
            "\u{e0041}",
            "\u{fffd}",
            "\u{fffe}",
            "12:30:45",
            "2001-01-01",
            "2001-01-01T00:00:00Z",
            "1.2.3",
            "100m",
            "1Gi",
            "25%",
            ".inf",
            "-.NaN",
            "0b1",
            "1__0",
            "a",
            "Z",
            "/",
            "(",
            "word",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(token, 0..6).prop_map(|tokens| tokens.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_value_reads_back_as_itself_and_hides_nothing(value in value()) {
        let object = object(&value);
        let yaml = to_yaml(&object);
        prop_assert!(!yaml.contains(|c| is_unsafe(c) && c != '\n' && c != '\t'), "{:?}", yaml);
        let back = read(&yaml);
        prop_assert!(same(&back, &object), "{}\nreads as {}", yaml, back);
    }
}

#[test]
fn a_key_of_any_length_reads_back() {
    for length in [1, 999, 1000, 1001, 1024, 1025, 5000] {
        let value = object(&json!({"x".repeat(length): {"a": 1}, "b": [{"y".repeat(length): "z"}]}));
        assert_eq!(read(&to_yaml(&value)), value, "{length}");
    }
}
