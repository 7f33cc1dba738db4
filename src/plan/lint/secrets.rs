//! No plan shows the data of a Secret.

use serde_json::Value;

use crate::plan::document::ChangeEntry;

pub(super) fn shows_none(change: &ChangeEntry, broken: &mut Vec<String>) {
    if !change.id.is("", "Secret") {
        return;
    }
    let values = change.fields.iter().flat_map(|f| {
        [&f.before, &f.after].into_iter().flatten().map(|value| (f.path.segments().next(), f.path.is_root(), value))
    });
    for (first, is_root, value) in values {
        let open = match first.as_deref() {
            Some("data" | "stringData") => !is_hidden(value),
            _ if is_root => ["data", "stringData"].iter().any(|f| value.get(f).is_some_and(|v| !is_hidden(v))),
            _ => false,
        };
        if open {
            broken.push(format!("{} would show a sensitive value", change.id));
            return;
        }
    }
}

/// Whether nothing but placeholders stands there.
fn is_hidden(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.starts_with("(sensitive, "),
        Value::Object(map) => map.values().all(is_hidden),
        _ => false,
    }
}
