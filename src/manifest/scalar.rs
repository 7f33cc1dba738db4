//! What a scalar means, as kubectl's reader resolves it: YAML 1.1 words, Go's number syntax, then JSON as Go writes it.

use serde_json::{Number, Value};

use super::rules;
use crate::base::base64;
use crate::base::fault::RuleId;

const PREFIX: &str = "tag:yaml.org,2002:";

/// The meaning of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Null,
    Bool(bool),
    Int(i64),
    /// Over `i64::MAX`: the API server's JSON decoder turns it into a double.
    Unsigned(u64),
    Float(f64),
    Text,
}

/// A scalar that has no meaning which JSON could carry; the text says why, without the scalar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) RuleId, pub(super) &'static str);

/// A plain scalar that reads as something else than its text looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Odd {
    /// The text.
    pub(super) raw: String,
    /// Whether digits were lost.
    pub(super) precision_lost: bool,
}

/// Resolves a plain scalar without a tag.
pub(super) fn plain(text: String) -> Result<(Value, Option<Odd>), Unreadable> {
    match meaning(&text) {
        Meaning::Text => Ok((Value::String(text), None)),
        Meaning::Null => Ok((Value::Null, None)),
        // `True` reads as anybody expects.
        Meaning::Bool(b) => {
            let same = text.eq_ignore_ascii_case(if b { "true" } else { "false" });
            Ok((Value::Bool(b), (!same).then_some(Odd { raw: text, precision_lost: false })))
        }
        number => {
            let value = json_number(number)?;
            let same = text == go_text(&value);
            let precision_lost = loses_digits(&text, number);
            Ok((value, (!same).then_some(Odd { raw: text, precision_lost })))
        }
    }
}

/// Resolves a scalar with an explicit tag.
pub(super) fn tagged(tag: &str, text: String) -> Result<Value, Unreadable> {
    let wrong = Err(Unreadable(rules::YAML_SYNTAX, "the value is not of the type that its tag says"));
    match tag.strip_prefix(PREFIX) {
        Some("binary") => match base64::decode(&text) {
            None => Err(Unreadable(rules::YAML_SYNTAX, "the value of !!binary is not base64")),
            Some(bytes) => String::from_utf8(bytes).map(Value::String).map_err(|_| {
                Unreadable(rules::ENCODING, "the value of !!binary is not UTF-8 text, which JSON could not carry")
            }),
        },
        Some("bool") => match meaning(&text) {
            Meaning::Bool(b) => Ok(Value::Bool(b)),
            _ => wrong,
        },
        Some("null") => match meaning(&text) {
            Meaning::Null => Ok(Value::Null),
            _ => wrong,
        },
        Some("int") => match meaning(&text) {
            number @ (Meaning::Int(_) | Meaning::Unsigned(_)) => json_number(number),
            _ => wrong,
        },
        Some("float") => match meaning(&text) {
            #[allow(clippy::cast_precision_loss, reason = "what the tag asks for")]
            Meaning::Int(i) => json_number(Meaning::Float(i as f64)),
            number @ Meaning::Float(_) => json_number(number),
            _ => wrong,
        },
        Some("timestamp") if !is_date(&text) => wrong,
        _ => Ok(Value::String(text)),
    }
}

/// Reads a JSON number.
pub(super) fn json(text: String) -> Result<(Value, Option<Odd>), Unreadable> {
    let number = match text.parse::<i64>() {
        Ok(i) => Meaning::Int(i),
        Err(_) => Meaning::Float(text.parse().map_err(|_| Unreadable(rules::YAML_SYNTAX, "no number"))?),
    };
    let value = json_number(number)?;
    let odd = loses_digits(&text, number) && text != go_text(&value);
    Ok((value, odd.then_some(Odd { raw: text, precision_lost: true })))
}

/// The text of a plain key if it is the same before and after kubectl's conversion.
pub(super) fn plain_key(text: &str) -> bool {
    match meaning(text) {
        Meaning::Text => true,
        Meaning::Null | Meaning::Unsigned(_) => false,
        Meaning::Bool(b) => text == if b { "true" } else { "false" },
        Meaning::Int(i) => text == i.to_string(),
        // Keys pass through a 32-bit float in kubectl's reader.
        #[allow(clippy::cast_possible_truncation, reason = "that is the conversion")]
        Meaning::Float(f) => (1e-4..1e6).contains(&f.abs()) && text == (f as f32).to_string(),
    }
}

/// Whether an integer has more digits than a double holds and is none of 64 bits.
fn loses_digits(text: &str, number: Meaning) -> bool {
    match number {
        Meaning::Unsigned(_) => true,
        Meaning::Float(_) => text.len() > 15 && !text.contains(['.', 'e', 'E']),
        _ => false,
    }
}

fn json_number(number: Meaning) -> Result<Value, Unreadable> {
    #[allow(clippy::cast_precision_loss, reason = "the API server's JSON decoder does the same")]
    let float = match number {
        Meaning::Int(i) => return Ok(Value::from(i)),
        Meaning::Unsigned(u) => u as f64,
        Meaning::Float(f) => f,
        _ => return Err(Unreadable(rules::YAML_SYNTAX, "no number")),
    };
    // Go writes a whole double below 1e21 with digits alone, and what reads that takes it for an integer if it fits.
    if float.fract() == 0.0
        && float.abs() < 1e21
        && let Ok(whole) = float.to_string().parse::<i64>()
    {
        return Ok(Value::from(whole));
    }
    Number::from_f64(float).map(Value::Number).ok_or(Unreadable(rules::YAML_SYNTAX, "JSON has no such number"))
}

/// A number as Go's JSON encoder writes it.
fn go_text(value: &Value) -> String {
    match value.as_f64() {
        Some(float) if !value.is_i64() && (float.abs() >= 1e21 || float.abs() < 1e-6) => {
            let text = format!("{float:e}");
            if float.abs() >= 1e21 { text.replacen('e', "e+", 1) } else { text }
        }
        Some(float) if !value.is_i64() => float.to_string(),
        _ => value.to_string(),
    }
}

fn meaning(text: &str) -> Meaning {
    let Some(&first) = text.as_bytes().first() else { return Meaning::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => match text {
            ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" => Meaning::Float(f64::INFINITY),
            _ if text.contains('_') => underscored(text),
            _ => finite(text),
        },
        b'+' | b'-' | b'0'..=b'9' => match text {
            "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
            _ if text.contains('_') => number(&text.replace('_', "")),
            _ => number(text),
        },
        _ => Meaning::Text,
    }
}

fn word(text: &str) -> Meaning {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Meaning::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Meaning::Bool(false),
        "~" | "null" | "Null" | "NULL" => Meaning::Null,
        _ => Meaning::Text,
    }
}

/// A text that begins with a digit or a sign, underscores taken out.
fn number(text: &str) -> Meaning {
    // Most such texts are no numbers at all: `10.0.0.1`, `5Gi`, `8080:80`, `-c`.
    let numeric = |b: u8| b.is_ascii_hexdigit() || matches!(b, b'+' | b'-' | b'.' | b'x' | b'X' | b'o' | b'O');
    if !text.bytes().all(numeric) {
        return Meaning::Text;
    }
    if let Some(int) = go_int(text) {
        return int;
    }
    if is_float(text) {
        return finite(text);
    }
    // The reader also strips `0b` and parses the rest, a sign included.
    let binary = match text.strip_prefix("0b") {
        Some(rest) => i64::from_str_radix(rest, 2).ok(),
        None => None,
    };
    binary.map_or(Meaning::Text, Meaning::Int)
}

/// Go's `ParseInt(text, 0, 64)`, then `ParseUint`.
fn go_int(text: &str) -> Option<Meaning> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (Some(true), &text[1..]),
        b'+' => (Some(false), &text[1..]),
        _ => (None, text),
    };
    let bytes = digits.as_bytes();
    let (radix, digits) = match (bytes.first()?, bytes.get(1)) {
        (b'0', Some(b'x' | b'X')) => (16, &digits[2..]),
        (b'0', Some(b'o' | b'O')) => (8, &digits[2..]),
        (b'0', Some(b'b' | b'B')) => (2, &digits[2..]),
        (b'0', Some(_)) => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    match (sign, i64::try_from(magnitude)) {
        (Some(true), _) => 0i64.checked_sub_unsigned(magnitude).map(Meaning::Int),
        (_, Ok(int)) => Some(Meaning::Int(int)),
        (None, Err(_)) => Some(Meaning::Unsigned(magnitude)),
        (Some(false), Err(_)) => None,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_ok = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        !e.is_empty() && digits(e)
    });
    mantissa_ok && exponent_ok
}

/// A double, or text where it would be infinite.
fn finite(text: &str) -> Meaning {
    if !is_float(text) {
        return Meaning::Text;
    }
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() => Meaning::Float(float),
        _ => Meaning::Text,
    }
}

/// A text that begins with a dot: the underscores stand as Go's `ParseFloat` wants them, between digits.
fn underscored(text: &str) -> Meaning {
    let parts = text.split('_');
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let last = parts.clone().count() - 1;
    let fits = |(i, part): (usize, &str)| {
        (i == 0 || digit(part.as_bytes().first())) && (i == last || digit(part.as_bytes().last()))
    };
    if parts.enumerate().all(fits) { finite(&text.replace('_', "")) } else { Meaning::Text }
}

/// A date as `!!timestamp` takes it. Times of day are refused: they are rare under a tag, and the reader's own rules for
/// them are loose.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |s: &str, max: usize| {
        (1..=max).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit()) && s.bytes().any(|b| b != b'0')
    };
    matches!(parts.as_slice(), [y, m, d]
        if y.len() == 4 && number(y, 4) && number(m, 2) && number(d, 2)
            && m.parse::<u8>().is_ok_and(|m| m <= 12) && d.parse::<u8>().is_ok_and(|d| d <= 28))
}
