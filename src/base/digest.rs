//! SHA-256 and the canonical JSON that it is taken over.

use std::io::Write;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::ids::Digest;

/// The SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> Digest {
    hex(Sha256::digest(bytes).as_slice())
}

/// A SHA-256 that is taken piece by piece.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes.
    pub fn finish(self) -> Digest {
        hex(self.0.finalize().as_slice())
    }
}

/// The SHA-256 of a value in canonical form.
pub fn of_value(value: &Value) -> Digest {
    let mut out = Vec::with_capacity(512);
    canonical(value, &mut out);
    sha256(&out)
}

fn hex(bytes: &[u8]) -> Digest {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    Digest::from_hex(text)
}

/// Appends the canonical form: keys sorted by bytes, no white space, integers exact, other numbers in the shortest form
/// that reads back as the same double.
///
/// The published canonicalisations (RFC 8785) turn integers over 2^53 into others, so this is our own.
pub fn canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(n) => {
            // Writing to a Vec can't fail.
            let _ = write!(out, "{n}");
        }
        Value::String(s) => string(s, out),
        Value::Array(list) => {
            out.push(b'[');
            for (i, entry) in list.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                canonical(entry, out);
            }
            out.push(b']');
        }
        // serde_json's map is sorted by key (its `preserve_order` feature is off; a test holds that).
        Value::Object(map) => {
            out.push(b'{');
            for (i, (key, entry)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                string(key, out);
                out.push(b':');
                canonical(entry, out);
            }
            out.push(b'}');
        }
    }
}

/// Appends a text in its canonical form.
pub fn string(text: &str, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    out.push(b'"');
    // Over all bytes without a way out: that is done many at a time.
    if bytes.iter().fold(true, |plain, &byte| plain & is_plain(byte)) {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    let mut start = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if is_plain(byte) {
            continue;
        }
        out.extend_from_slice(&bytes[start..at]);
        start = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
        }
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}
