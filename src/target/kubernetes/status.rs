//! What an API server answers when it refuses, without the values that it quotes.

use serde_json::Value;

use crate::base::pointer::Pointer;
use crate::base::text;

/// Longest text of a server that is shown.
const LONGEST: usize = 2000;

/// A refusal by the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Status {
    /// The HTTP status.
    pub(super) code: u16,
    /// The reason in one word, such as `Conflict`; empty if none is said.
    pub(super) reason: String,
    /// One sentence. It may quote the request.
    pub(super) message: String,
    /// What exactly is wrong.
    pub(super) causes: Vec<Cause>,
    /// After how many seconds to come back.
    pub(super) retry_after: Option<u64>,
}

/// One thing that the API server finds wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) reason: String,
    pub(super) message: String,
    /// Such as `spec.containers[0].image`.
    pub(super) field: String,
}

impl Status {
    /// Reads the body of an answer that is no success.
    pub(super) fn read(code: u16, body: &[u8], retry_after: Option<u64>) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let field = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        if field(&value, "kind") != "Status" {
            let shown = String::from_utf8_lossy(&body[..body.len().min(LONGEST)]).trim().to_owned();
            return Self { code, reason: String::new(), message: shown, causes: Vec::new(), retry_after };
        }
        let causes = value.pointer("/details/causes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let causes = causes.iter().map(|cause| Cause {
            reason: field(cause, "reason"),
            message: field(cause, "message"),
            field: field(cause, "field"),
        });
        let wait = value.pointer("/details/retryAfterSeconds").and_then(Value::as_u64).filter(|s| *s > 0);
        Self {
            code,
            reason: field(&value, "reason"),
            message: field(&value, "message"),
            causes: causes.collect(),
            retry_after: retry_after.or(wait),
        }
    }

    /// Whether the same request may be answered otherwise a little later.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self.code, 429 | 500 | 502 | 503 | 504)
    }

    /// The admission webhook in whose name the server answers, if it does.
    pub(super) fn webhook(&self) -> Option<&str> {
        let (_, rest) = self.message.split_once("webhook \"")?;
        rest.split_once('"').map(|(name, _)| name)
    }

    /// The admission webhook because of which the server takes no dry run of the object.
    pub(super) fn deaf_webhook(&self) -> Option<&str> {
        let rest = self.message.strip_prefix("admission webhook \"")?;
        let name = rest.strip_suffix("\" does not support dry run").filter(|name| !name.contains('"'));
        name.filter(|_| self.code == 400)
    }

    /// What went wrong, for people, of a request without a body.
    pub(super) fn text(&self) -> String {
        let message = if self.message.is_empty() { self.reason.clone() } else { self.message.clone() };
        let message = if message.is_empty() { "no reason given".to_owned() } else { message };
        format!("{} (HTTP {})", shown(&message), self.code)
    }

    /// What is wrong with an object that was sent, each with its field; `hidden` are texts that may not be shown, and
    /// where there are any, only fields and words of the server's own are.
    pub(super) fn faults(&self, hidden: &[String]) -> Vec<(Option<Pointer>, String)> {
        let mask = |text: &str| hide(text, hidden);
        if self.causes.is_empty() || self.reason == "Forbidden" {
            return vec![(None, mask(&self.message))];
        }
        let each = self.causes.iter().map(|cause| {
            let message = if cause.message.is_empty() { &cause.reason } else { &cause.message };
            (field(&cause.field), mask(message))
        });
        each.collect()
    }
}

/// A server's text, cut and escaped.
pub(super) fn shown(message: &str) -> String {
    let mut end = message.len().min(LONGEST);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let cut = if end < message.len() { "..." } else { "" };
    format!("{}{cut}", text::escape(&message[..end]))
}

/// Takes values out of a server's text. What quotes a whole request is cut where the quotation begins.
fn hide(message: &str, hidden: &[String]) -> String {
    if hidden.is_empty() {
        return shown(message);
    }
    let mut text = message.to_owned();
    let mut values: Vec<&String> = hidden.iter().filter(|value| !value.is_empty()).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    for value in values {
        if value.len() < 4 && text.contains(value.as_str()) {
            // Too short to be told from other words: nothing of the text can be shown.
            return "refused; the reason quotes a sensitive value".to_owned();
        }
        text = text.replace(value.as_str(), "(sensitive)");
    }
    for quotation in ["{\"", "map[", "&"] {
        if let Some(at) = text.find(quotation) {
            text.truncate(at);
            text.push_str("(the rest is not shown: it quotes the object)");
        }
    }
    shown(&text)
}

/// A field path of the API server as a pointer, as far as that can be told.
fn field(text: &str) -> Option<Pointer> {
    let mut pointer = Pointer::root();
    let mut rest = text.strip_prefix('.').unwrap_or(text);
    if rest.is_empty() || rest == "<nil>" {
        return None;
    }
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (step, after) = inside.split_once(']')?;
            match step.parse::<usize>() {
                Ok(index) => pointer.push_index(index),
                // A key of a map, or the keys of a list's entry, which only the object could place.
                Err(_) if step.contains('=') => return Some(pointer),
                Err(_) => pointer.push_key(step.trim_matches('"')),
            }
            rest = after.strip_prefix('.').unwrap_or(after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            pointer.push_key(&rest[..end]);
            rest = &rest[end..];
            rest = rest.strip_prefix('.').unwrap_or(rest);
        }
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_server_are_read_as_pointers() {
        for (text, pointer) in [
            ("spec.template.spec.containers[0].image", "/spec/template/spec/containers/0/image"),
            (".spec.replicas", "/spec/replicas"),
            ("metadata.labels[a.b/c]", "/metadata/labels/a.b~1c"),
            (".spec.containers[name=\"web\"].image", "/spec/containers"),
        ] {
            assert_eq!(field(text).unwrap().as_str(), pointer, "{text}");
        }
        assert_eq!(field("<nil>"), None);
    }

    #[test]
    fn sensitive_values_and_quoted_requests_are_hidden() {
        let hidden = ["aHVudGVyMg==".to_owned(), "hunter2".to_owned()];
        assert_eq!(hide("the value aHVudGVyMg== is bad", &hidden), "the value (sensitive) is bad");
        assert!(!hide("cannot restore from {\"data\":{\"x\":\"other\"}}", &hidden).contains("other"));
        assert_eq!(hide("ab is too short", &["ab".to_owned()]), "refused; the reason quotes a sensitive value");
    }
}
