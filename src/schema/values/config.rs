//! ConfigMaps, Secrets, claims and selectors.

use serde_json::{Map, Value};

use super::{given, text};
use crate::schema::fault::rule;
use crate::schema::path::{Out, Path};

/// Bytes that all values of a ConfigMap or Secret may have together (core, `MaxSecretSize`). Keys don't count.
const MOST_DATA_BYTES: usize = 1024 * 1024;

fn entries<'v>(map: &'v Map<String, Value>, key: &str) -> impl Iterator<Item = (&'v String, &'v str)> {
    map.get(key).and_then(Value::as_object).into_iter().flatten().filter_map(|(k, v)| Some((k, v.as_str()?)))
}

/// How many bytes base64 stands for.
fn decoded(text: &str) -> usize {
    let letters = text.bytes().filter(|b| !matches!(b, b'=' | b'\r' | b'\n')).count();
    letters * 3 / 4
}

fn size(bytes: usize, path: &Path<'_>, out: &mut Out) {
    if bytes > MOST_DATA_BYTES {
        out.add(rule::SIZE_LIMIT, path, format!("the data has {bytes} bytes and may have {MOST_DATA_BYTES}"));
    }
}

/// ValidateConfigMap.
pub(super) fn config_map(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let bytes: usize = entries(map, "data").map(|(_, v)| v.len()).sum();
    let binary: usize = entries(map, "binaryData").map(|(_, v)| decoded(v)).sum();
    size(bytes + binary, path, out);
    for (key, _) in entries(map, "binaryData") {
        if map.get("data").is_some_and(|data| data.get(key).is_some()) {
            let text = format!("{key} stands in data and in binaryData");
            out.add(rule::CONFLICTING_FIELDS, &path.key("binaryData").key(key), text);
        }
    }
}

/// ValidateSecret. Types that need keys: those of the core group.
pub(super) fn secret(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let replaced = |key: &str| map.get("stringData").is_some_and(|s| s.get(key).is_some());
    let binary: usize = entries(map, "data").filter(|(k, _)| !replaced(k)).map(|(_, v)| decoded(v)).sum();
    let plain: usize = entries(map, "stringData").map(|(_, v)| v.len()).sum();
    size(binary + plain, path, out);
    let needed: &[&str] = match text(map, "type") {
        Some("kubernetes.io/tls") => &["tls.crt", "tls.key"],
        Some("kubernetes.io/dockerconfigjson") => &[".dockerconfigjson"],
        Some("kubernetes.io/dockercfg") => &[".dockercfg"],
        Some("kubernetes.io/ssh-auth") => &["ssh-privatekey"],
        _ => &[],
    };
    for key in needed {
        let is_there = replaced(key) || map.get("data").is_some_and(|d| d.get(key).is_some());
        if !is_there {
            out.add(rule::MISSING_FIELD, path, format!("a Secret of this type needs {key} in its data"));
        }
    }
}

/// ValidatePersistentVolumeClaimSpec.
pub(super) fn claim(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    if given(map, "accessModes").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        out.add(rule::MISSING_FIELD, path, "accessModes needs at least one entry");
    }
    let storage = map.get("resources").and_then(|r| r.pointer("/requests/storage"));
    if storage.is_none_or(Value::is_null) {
        out.add(rule::MISSING_FIELD, path, "resources.requests.storage is required");
    }
}

/// ValidateLabelSelectorRequirement.
pub(super) fn selector_requirement(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let has_values = given(map, "values").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    match text(map, "operator") {
        Some("In" | "NotIn") if !has_values => {
            out.add(rule::MISSING_FIELD, path, "values needs at least one entry with the operators In and NotIn");
        }
        Some("Exists" | "DoesNotExist") if has_values => {
            let text = "values has no meaning with the operators Exists and DoesNotExist";
            out.add(rule::CONFLICTING_FIELDS, &path.key("values"), text);
        }
        Some("In" | "NotIn" | "Exists" | "DoesNotExist") | None => {}
        Some(_) => {
            let text = "operator must be In, NotIn, Exists or DoesNotExist";
            out.add(rule::OUT_OF_RANGE, &path.key("operator"), text);
        }
    }
}
