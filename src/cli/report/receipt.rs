//! A receipt for people.

use serde_json::Value;

use crate::base::columns::Columns;
use crate::base::resource::ResourceId;
use crate::base::text::escape;

/// What was done, row by row, then in one line. Takes the receipt as JSON, as it is stored.
pub(crate) fn receipt(receipt: &Value) -> String {
    let text =
        |value: &Value, key: &str| escape(value.get(key).and_then(Value::as_str).unwrap_or_default()).into_owned();
    let list = |key: &str| receipt.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut columns = Columns::new(["RESULT", "OBJECT", "SOURCE", "REASON"]);
    for change in list("changes") {
        let id: Option<ResourceId> = change.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
        let id = id.map(|id| id.to_string()).unwrap_or_default();
        columns.push([
            text(change, "result"),
            escape(&id).into_owned(),
            text(change, "source"),
            text(change, "reason"),
        ]);
    }
    let mut out = String::new();
    if !list("changes").is_empty() {
        out.push_str(&columns.lines().join("\n"));
        out.push_str("\n\n");
    }
    for source in list("sources") {
        let name = text(source, "name");
        out.push_str(&match source.get("purpose").and_then(Value::as_str) {
            Some("orphan" | "prune") => format!("Source {name} is removed\n"),
            Some("rebuild") => format!("Source {name} is rebuilt at commit {}\n", text(source, "commit")),
            _ => format!("Source {name} is at commit {}\n", text(source, "commit")),
        });
    }
    out.push_str(&format!(
        "Applied as {} by {} at {}\n",
        text(receipt, "applyId"),
        text(receipt, "actor"),
        text(receipt, "at")
    ));
    out.push_str(&format!("{}\n", done(receipt.get("summary").unwrap_or(&Value::Null))));
    out
}

/// `Applied: 2 created, 1 deleted, 128 unchanged`.
fn done(summary: &Value) -> String {
    const WORDS: [(&str, &str); 10] = [
        ("create", "created"),
        ("update", "updated"),
        ("own", "owned"),
        ("replace", "replaced"),
        ("delete", "deleted"),
        ("adopt", "adopted"),
        ("transfer", "transferred"),
        ("release", "released"),
        ("keep", "kept"),
        ("unchanged", "unchanged"),
    ];
    let count = |key: &str| summary.get(key).and_then(Value::as_u64).unwrap_or(0);
    let parts: Vec<String> =
        WORDS.iter().filter(|(key, _)| count(key) > 0).map(|(key, word)| format!("{} {word}", count(key))).collect();
    if parts.is_empty() { "Applied: nothing to do".to_owned() } else { format!("Applied: {}", parts.join(", ")) }
}
