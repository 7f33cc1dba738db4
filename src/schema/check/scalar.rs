//! Texts, numbers and booleans: type, format, range, length, pattern.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::path_name;
use crate::base::text::{escape, shorten};
use crate::schema::fault::rule;
use crate::schema::limits::Limits;
use crate::schema::node::{Format, Kind, Node, TextFormat};
use crate::schema::path::{Out, Path, describe};
use crate::schema::{formats, quantity};

pub(super) fn check(node: &Node, value: &Value, path: &Path<'_>, out: &mut Out) {
    match (node.kind, value) {
        (Kind::String, Value::String(text)) => format(node.format, text, path, out),
        (Kind::String, Value::Number(_) | Value::Bool(_)) => {
            let text = format!("{} must be a text and is {}", path_name(path), describe(value));
            out.add_hint(rule::TYPE_MISMATCH, path, text, "write it in quotes");
        }
        (Kind::Boolean, Value::Bool(_)) => {}
        (Kind::Number, Value::Number(_)) => {}
        (Kind::Integer, Value::Number(n)) => integer(node.format, n, path, out),
        (Kind::IntOrString, Value::String(_)) if !node.quantity_text => {}
        (Kind::IntOrString, Value::Number(n)) => integer(node.format, n, path, out),
        (Kind::Quantity | Kind::IntOrString, Value::String(text)) => {
            if let Err(bad) = quantity::Quantity::parse(text) {
                let text = format!("{:?} is no quantity: {bad}", shorten(&escape(text), 40));
                match bad.hint() {
                    Some(hint) => out.add_hint(rule::TYPE_MISMATCH, path, text, hint),
                    None => out.add(rule::TYPE_MISMATCH, path, text),
                }
            }
        }
        (Kind::Quantity, Value::Number(_)) => {}
        _ => {
            let wanted = match node.kind {
                Kind::String => "a text",
                Kind::Boolean => "true or false",
                Kind::Number => "a number",
                Kind::Integer => "a whole number",
                Kind::IntOrString => "a whole number or a text",
                Kind::Quantity => "a quantity",
                Kind::Any | Kind::Object | Kind::List => return,
            };
            let text = format!("{} must be {wanted} and is {}", path_name(path), describe(value));
            if is_quoted(node.kind, value) {
                out.add_hint(rule::TYPE_MISMATCH, path, text, "write it without quotes");
            } else {
                out.add(rule::TYPE_MISMATCH, path, text);
            }
        }
    }
}

/// Whether a text would be right without its quotes.
fn is_quoted(kind: Kind, value: &Value) -> bool {
    let Value::String(text) = value else { return false };
    match kind {
        Kind::Boolean => matches!(text.as_str(), "true" | "false"),
        Kind::Integer => text.parse::<i64>().is_ok(),
        Kind::Number => text.parse::<f64>().is_ok_and(f64::is_finite),
        _ => false,
    }
}

/// A whole number of a size. 1.0 is whole (the API server reads JSON numbers so); 2^53 and more with a fraction isn't.
fn integer(format: Format, number: &Number, path: &Path<'_>, out: &mut Out) {
    let whole = match (number.as_i64(), number.as_f64()) {
        (Some(n), _) => Some(i128::from(n)),
        (None, _) if number.is_u64() => number.as_u64().map(i128::from),
        #[expect(clippy::cast_possible_truncation, reason = "a whole double within bounds")]
        (None, Some(f)) if f.fract() == 0.0 && f.abs() < 9.3e18 => Some(f as i128),
        _ => None,
    };
    let Some(whole) = whole else {
        let text = format!("{} must be a whole number and is {number}", path_name(path));
        return out.add(rule::TYPE_MISMATCH, path, text);
    };
    let fits = match format {
        Format::Int32 => i32::try_from(whole).is_ok(),
        _ => i64::try_from(whole).is_ok(),
    };
    if !fits {
        let bits = if format == Format::Int32 { 32 } else { 64 };
        out.add(rule::OUT_OF_RANGE, path, format!("{number} doesn't fit into {bits} bits"));
    }
}

fn format(format: Format, text: &str, path: &Path<'_>, out: &mut Out) {
    let (good, wanted) = match format {
        Format::None | Format::Int32 | Format::Int64 => return,
        // The value may be a secret: it is never shown.
        Format::Byte => (formats::is_base64(text), "base64"),
        Format::DateTime => (formats::is_date_time(text), "a time as RFC 3339 writes it (2026-01-02T03:04:05Z)"),
        Format::Date => (formats::is_date(text), "a date (2026-01-02)"),
        Format::Duration => (formats::is_duration(text), "a duration (1h30m)"),
        Format::Text(TextFormat::Ipv4) => (text.parse::<std::net::Ipv4Addr>().is_ok(), "an IPv4 address"),
        Format::Text(TextFormat::Ipv6) => (text.parse::<std::net::Ipv6Addr>().is_ok(), "an IPv6 address"),
        Format::Text(TextFormat::Cidr) => (formats::is_cidr(text), "a CIDR block (10.0.0.0/24)"),
        Format::Text(TextFormat::Uri) => (formats::is_uri(text), "a URI"),
        Format::Text(TextFormat::Uuid) => (uuid::Uuid::try_parse(text).is_ok(), "a UUID"),
        Format::Text(TextFormat::Email) => (formats::is_email(text), "an e-mail address"),
        Format::Text(TextFormat::Hostname) => (formats::is_hostname(text), "a host name"),
    };
    if !good {
        out.add(rule::TYPE_MISMATCH, path, format!("{} is not {wanted}", path_name(path)));
    }
}

/// Ranges, lengths and patterns. A text is never shown: what has a pattern may be a password.
pub(super) fn limits(limits: &Limits, value: &Value, path: &Path<'_>, out: &mut Out) {
    match value {
        Value::Number(number) => number_limits(limits, number, path, out),
        Value::String(text) => text_limits(limits, text, path, out),
        Value::Array(list) => {
            count(limits.min_items, limits.max_items, list.len() as u64, "entries", path, out);
            if limits.unique_items {
                super::keys::set(list, path, out);
            }
        }
        Value::Object(map) => {
            count(limits.min_properties, limits.max_properties, map.len() as u64, "fields", path, out);
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn count(min: Option<u64>, max: Option<u64>, count: u64, what: &str, path: &Path<'_>, out: &mut Out) {
    let name = path_name(path);
    if let Some(min) = min.filter(|min| count < *min) {
        out.add(rule::OUT_OF_RANGE, path, format!("{name} has {count} {what} and needs at least {min}"));
    }
    if let Some(max) = max.filter(|max| count > *max) {
        out.add(rule::OUT_OF_RANGE, path, format!("{name} has {count} {what} and may have at most {max}"));
    }
}

fn text_limits(limits: &Limits, text: &str, path: &Path<'_>, out: &mut Out) {
    if limits.min_length.is_some() || limits.max_length.is_some() {
        let length = text.chars().count() as u64;
        count(limits.min_length, limits.max_length, length, "characters", path, out);
    }
    if let Some(pattern) = &limits.pattern {
        let name = path_name(path);
        let shown = shorten(&escape(pattern.as_str()), 200).into_owned();
        match pattern.is_match(text) {
            Some(true) => {}
            Some(false) => out.add(rule::OUT_OF_RANGE, path, format!("{name} doesn't match its pattern {shown}")),
            None => out.add(rule::OUT_OF_RANGE, path, format!("{name} has a pattern that can't be checked: {shown}")),
        }
    }
}

fn number_limits(limits: &Limits, number: &Number, path: &Path<'_>, out: &mut Out) {
    if let Some(min) = &limits.minimum {
        let order = compare(number, min);
        if order == Ordering::Less || (limits.exclusive_minimum && order == Ordering::Equal) {
            let than = if limits.exclusive_minimum { "more than" } else { "at least" };
            out.add(rule::OUT_OF_RANGE, path, format!("{number} is too small: {than} {min} is needed"));
        }
    }
    if let Some(max) = &limits.maximum {
        let order = compare(number, max);
        if order == Ordering::Greater || (limits.exclusive_maximum && order == Ordering::Equal) {
            let than = if limits.exclusive_maximum { "less than" } else { "at most" };
            out.add(rule::OUT_OF_RANGE, path, format!("{number} is too large: {than} {max} is allowed"));
        }
    }
    if let Some(of) = &limits.multiple_of {
        let is_multiple = match (number.as_i64(), of.as_i64()) {
            (Some(n), Some(of)) => of != 0 && n % of == 0,
            _ => number.as_f64().zip(of.as_f64()).is_some_and(|(n, of)| ((n / of) - (n / of).round()).abs() < 1e-9),
        };
        if !is_multiple {
            out.add(rule::OUT_OF_RANGE, path, format!("{number} is no multiple of {of}"));
        }
    }
}

/// Compares exactly where both are whole, else as doubles.
fn compare(a: &Number, b: &Number) -> Ordering {
    let whole = |n: &Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}
