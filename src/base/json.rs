//! JSON read back to the depth that manifests may have: serde_json's own bound is lower than that of YAML files.

use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;

/// Deepest nesting that is read: what manifests may have (200), with what is around it in a plan or an inventory.
pub const MAX_DEPTH: usize = 512;

/// Reads a JSON text.
///
/// # Errors
/// As serde_json, and if the text nests deeper than [`MAX_DEPTH`]: a reader that calls itself must not be led on without end.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    // Nearly all nests less deep than serde_json's own bound, which costs nothing to keep.
    serde_json::from_slice(text).or_else(|_| read_deep(text))
}

fn read_deep<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    if depth(text) > MAX_DEPTH {
        return Err(serde_json::Error::custom(format!("it nests deeper than {MAX_DEPTH}")));
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The value below these keys of maps; unlike a pointer it needs no text to be taken apart.
pub fn below<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(*key))
}

/// The deepest nesting of brackets outside of strings.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
