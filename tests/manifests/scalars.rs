//! Scalars whose JSON is not what their text looks like, and those that are as they look.

use holdfast::manifest::Surprise;
use serde_json::json;

use crate::{config_map, object, read};

fn surprises(text: &str) -> Vec<Surprise> {
    read(&format!("apiVersion: x.example/v1\nkind: Chart\nmetadata: {{name: a}}\nspec: {text}\n")).documents[0]
        .surprising
        .clone()
}

#[test]
fn a_scalar_that_reads_as_something_else_is_recorded_with_its_text() {
    for raw in [
        "1.10", "1.0", "1.50", "1e5", "81111e1", "0755", "012345", "0340914", "1_000", "0x1F", "yes", "y", "off", "+5",
        ".5", "-0",
    ] {
        let found = surprises(raw);
        assert_eq!(found.len(), 1, "{raw}");
        assert_eq!((found[0].raw.as_deref(), found[0].pointer.as_str()), (Some(raw), "/spec"));
        assert!(!found[0].precision_lost, "{raw}");
    }
    for raw in ["12345678901234567890", "99999999999999999999"] {
        assert!(surprises(raw)[0].precision_lost, "{raw}");
    }
}

#[test]
fn a_scalar_that_reads_as_it_looks_is_not() {
    for raw in [
        "1",
        "-1",
        "0.1",
        "true",
        "True",
        "null",
        "~",
        "",
        "9007199254740993",
        "22:22",
        "2001-01-01",
        "1.10.0",
        "'1.10'",
        "\"yes\"",
        "!!str 1.10",
        "1e400",
        "1e-7",
        "1e+21",
    ] {
        assert_eq!(surprises(raw), [], "{raw}");
    }
}

#[test]
fn a_surprise_behind_an_alias_or_a_merge_is_named_where_it_lands() {
    let text = format!("{}x: &x {{v: 1.10}}\ny: *x\nz:\n  <<: *x\n", config_map("a"));
    let reading = read(&text);
    let pointers: Vec<&str> = reading.documents[0].surprising.iter().map(|s| s.pointer.as_str()).collect();
    assert_eq!(pointers, ["/x/v", "/y/v", "/z/v"]);
}

#[test]
fn the_text_of_a_secret_is_not_kept() {
    let reading = read("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {pin: 0123}\n");
    assert_eq!(reading.documents[0].surprising[0].raw, None);
}

#[test]
fn numbers_keep_what_the_server_would_store() {
    let value = object(&format!(
        "{}num: [9007199254740993, 9223372036854775807, 1e3, 1.0, -0.0, 0o17, 0b11, -0b11, 1e21, 0.5, 12345678901234567890]\n",
        config_map("a")
    ));
    assert_eq!(
        value["num"],
        json!([9_007_199_254_740_993_i64, i64::MAX, 1000, 1, 0, 15, 3, -3, 1e21, 0.5, 12_345_678_901_234_567_890_f64])
    );
    let json = object(
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"n\":[1.0,1e3,9007199254740993,0.5]}",
    );
    assert_eq!(json["n"], json!([1, 1000, 9_007_199_254_740_993_i64, 0.5]));
}

#[test]
fn block_text_keeps_its_white_space() {
    let value = object(&format!(
        "{}data:\n  conf: |\n    first\n    second  \n    third\n  strip: |-\n    one\n  keep: |+\n    one\n\n  sh: |\n    run \\\n      --exclude a \\\n    \n    next\n",
        config_map("a")
    ));
    assert_eq!(
        value["data"],
        json!({
            "conf": "first\nsecond  \nthird\n", "strip": "one", "keep": "one\n\n", "sh": "run \\\n  --exclude a \\\n\nnext\n"
        })
    );
}
