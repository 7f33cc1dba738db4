//! Values written as YAML that every YAML 1.1 and 1.2 reader reads back as the same values, kubectl's among them.
//!
//! Characters that could move the cursor or hide in a line are written as escapes, which a reader turns back: what is
//! shown is safe on a terminal and still exact.

use std::fmt::Write;

use serde_json::Value;

use super::text::is_unsafe;

/// Writes a value as one YAML document, without `---`, with a final line end.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => block(value, 0, &mut out),
        Value::Array(list) if !list.is_empty() => block(value, 0, &mut out),
        scalar => {
            inline(scalar, &mut out);
            out.push('\n');
        }
    }
    out
}

/// Writes the entries of a non-empty map or list, each on its own lines, `indent` columns in.
pub(crate) fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) => {
            for (key, entry) in map {
                pad(indent, out);
                write_key(key, out);
                after_key(entry, indent, out);
            }
        }
        Value::Array(list) => {
            for entry in list {
                pad(indent, out);
                out.push('-');
                after_dash(entry, indent, out);
            }
        }
        _ => {}
    }
}

/// Writes what follows `key:` at `indent`, and the line end. Lists stand at their key's own indentation, as kubectl writes them.
pub(crate) fn after_key(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            block(value, indent + 2, out);
        }
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            block(value, indent, out);
        }
        Value::String(text) if is_block(text) => literal(text, indent + 2, out),
        scalar => {
            out.push(' ');
            inline(scalar, out);
            out.push('\n');
        }
    }
}

/// Writes what follows the dash of a list entry at `indent`, and the line end.
pub(crate) fn after_dash(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut first = String::new();
            block(value, indent + 2, &mut first);
            out.push(' ');
            out.push_str(first.trim_start_matches(' '));
        }
        Value::Array(list) if !list.is_empty() => {
            let mut first = String::new();
            block(value, indent + 2, &mut first);
            out.push(' ');
            out.push_str(first.trim_start_matches(' '));
        }
        Value::String(text) if is_block(text) => literal(text, indent + 2, out),
        scalar => {
            out.push(' ');
            inline(scalar, out);
            out.push('\n');
        }
    }
}

/// Writes a map's key and its colon.
pub(crate) fn write_key(key: &str, out: &mut String) {
    let mut text = String::new();
    scalar(key, &mut text);
    // A simple key may have 1,024 characters at most, and there are readers that count bytes.
    if text.len() > 1000 {
        out.push_str("? ");
        out.push_str(&text);
        out.push('\n');
        let line = out.rfind('\n').map_or(0, |end| out[..end].rfind('\n').map_or(0, |start| start + 1));
        let indent = out[line..].chars().take_while(|c| *c == ' ').count();
        pad(indent, out);
        out.push(':');
    } else {
        out.push_str(&text);
        out.push(':');
    }
}

pub(crate) fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Writes a scalar, or an empty map or list, on one line.
pub(crate) fn inline(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&float(&number.to_string())),
        Value::String(text) => scalar(text, out),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

/// YAML 1.1 knows a number with an exponent only by its point and sign.
fn float(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// Writes a text on one line: plain where nothing could misread it, else quoted.
fn scalar(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        quoted(text, out);
    }
}

/// Words that some YAML reader takes for something else than text, compared without case.
const WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"];

/// Units after a number with which the whole is text for every reader. No `e` and no `E`: those are exponents.
const UNITS: &[&str] = &["m", "s", "h", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "%"];

fn is_plain(text: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '(');
    if text.len() > 1000 || text.ends_with([' ', ':']) || text.contains(": ") || text.contains(" #") {
        return false;
    }
    if text.chars().any(|c| is_escaped(c) || c.is_ascii_control()) {
        return false;
    }
    match text.chars().next() {
        Some(c) if starts(c) => !WORDS.contains(&text.to_ascii_lowercase().as_str()),
        Some(c) if c.is_ascii_digit() => is_measure(text) || is_version(text),
        _ => false,
    }
}

/// `100m`, `1.5Gi`, `30s`, `25%`.
fn is_measure(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    number.matches('.').count() <= 1 && !number.ends_with('.') && UNITS.contains(&unit)
}

/// `1.2.3` and `10.0.0.1`: two points and more are no number.
fn is_version(text: &str) -> bool {
    let parts = text.split('.');
    parts.clone().count() >= 3
        && parts.into_iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

fn is_escaped(c: char) -> bool {
    is_unsafe(c) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_escaped(c) => {
                let _ = match c as u32 {
                    code @ 0..=0xff => write!(out, "\\x{code:02x}"),
                    code @ 0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a text is written as a literal block: several lines, and nothing in them that a block can't hold or would hide.
pub(crate) fn is_block(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.contains(|c| c != '\n' && c != '\t' && is_escaped(c))
        && text.split('\n').all(|line| line.is_empty() || !line.chars().all(|c| c == ' ' || c == '\t'))
        && !text.starts_with(['\n', ' ', '\t'])
}

fn literal(text: &str, indent: usize, out: &mut String) {
    let kept = text.trim_end_matches('\n');
    let ends = text.len() - kept.len();
    out.push_str(match ends {
        0 => " |-\n",
        1 => " |\n",
        _ => " |+\n",
    });
    for line in kept.split('\n') {
        if !line.is_empty() {
            pad(indent, out);
            out.push_str(line);
        }
        out.push('\n');
    }
    out.extend(std::iter::repeat_n('\n', ends.saturating_sub(1)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_that_a_reader_would_take_for_something_else_is_quoted() {
        for text in [
            "yes",
            "No",
            "on",
            "y",
            "NULL",
            "~",
            "1",
            "1.0",
            "0x1f",
            "1_000",
            "1:20",
            "1e3",
            ".5",
            "-",
            "- a",
            "a: b",
            "a #b",
            "",
            " a",
            "a ",
            "a:",
            "2001-01-01",
            "@a",
            "`a",
            "%a",
            "{a",
            "[a",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "'",
            "\"",
            "=",
            "<<",
        ] {
            assert!(to_yaml(&json!(text)).starts_with('"'), "{text:?} became {}", to_yaml(&json!(text)));
        }
        for text in ["nginx:1.27", "shop/web", "100m", "1.5Gi", "10.0.0.8", "http://a/b#c", "a b", "it's", "30s"] {
            assert_eq!(to_yaml(&json!(text)), format!("{text}\n"));
        }
    }

    #[test]
    fn text_of_several_lines_stands_as_a_block() {
        assert_eq!(to_yaml(&json!({"a": "x\n  y\n"})), "a: |\n  x\n    y\n");
        assert_eq!(to_yaml(&json!([{"a": "x\ny"}])), "- a: |-\n    x\n    y\n");
        assert_eq!(to_yaml(&json!({"a": "x\n\ny\n\n"})), "a: |+\n  x\n\n  y\n\n");
        assert_eq!(to_yaml(&json!({"a": " x\ny"})), "a: \" x\\ny\"\n");
    }

    #[test]
    fn hidden_characters_are_escapes_that_read_back() {
        assert_eq!(to_yaml(&json!("a\u{202e}\u{1b}[31m\u{e0041}")), "\"a\\u202e\\x1b[31m\\U000e0041\"\n");
    }

    #[test]
    fn nested_lists_and_maps_stand_as_kubectl_writes_them() {
        let value = json!({"a": [{"b": 1, "c": []}, [1, {"d": {}}]], "e": {"f": null}});
        assert_eq!(to_yaml(&value), "a:\n- b: 1\n  c: []\n- - 1\n  - d: {}\ne:\n  f: null\n");
    }
}
