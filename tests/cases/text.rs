//! Looking for texts in JSON and in output.

use serde_json::Value;

/// Tells whether a JSON value holds, at any depth, a key, a text or a number of which `test` is true.
pub(crate) fn any_string(value: &Value, test: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => test(text),
        Value::Number(number) => test(&number.to_string()),
        Value::Array(items) => items.iter().any(|item| any_string(item, test)),
        Value::Object(map) => map.iter().any(|(key, item)| test(key) || any_string(item, test)),
        Value::Null | Value::Bool(_) => false,
    }
}

/// Tells whether a JSON value has a text somewhere in it.
pub(crate) fn is_named_in(text: &str, value: &Value) -> bool {
    any_string(value, &|found| found.contains(text))
}

/// Tells whether a text stands as a whole word, that is, not inside a longer run of letters, digits and dashes.
pub(crate) fn has_word(haystack: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '-';
    !word.is_empty()
        && haystack.match_indices(word).any(|(at, _)| {
            let before = haystack[..at].chars().next_back();
            let after = haystack[at + word.len()..].chars().next();
            !before.is_some_and(inside) && !after.is_some_and(inside)
        })
}

/// The last lines of an output, on one line, for a failure report.
pub(crate) fn tail(text: &str, most: usize) -> String {
    let flat = text.trim().replace('\n', " | ");
    let count = flat.chars().count();
    if count <= most { flat } else { format!("... {}", flat.chars().skip(count - most).collect::<String>()) }
}
