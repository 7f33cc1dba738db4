//! Which fields of an object are sensitive, and how they are shown instead: their length alone.

use serde_json::Value;

use super::json;
use super::pointer::Pointer;

/// Words that mark the name of an environment variable or argument as sensitive, compared without case.
const USUAL_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "private_key",
    "private-key",
    "privatekey",
    "credential",
    "access_key",
    "access-key",
    "accesskey",
    "auth_key",
    "connection_string",
    "dsn",
];

/// Whether a name is one of the usual names of sensitive values.
pub fn is_usual_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    USUAL_NAMES.iter().any(|word| lower.contains(word))
}

/// The sensitive values of an object, each by its pointer, in the object's order.
///
/// Those are the data of Secrets, literal values of environment variables and arguments with the usual names in pod
/// specifications, annotations that hold a whole earlier object, and what `extra` names (a Source's `sensitive`; a segment `*` stands for any key or index).
pub fn pointers(object: &Value, extra: &[Pointer]) -> Vec<Pointer> {
    let mut found = Vec::new();
    if is_secret(object) {
        for field in ["data", "stringData"] {
            match object.get(field) {
                Some(Value::Object(map)) => found.extend(map.keys().map(|key| Pointer::of([field, key.as_str()]))),
                // Not a map: nothing in it may be shown either.
                Some(Value::Null) | None => {}
                Some(_) => found.push(Pointer::of([field])),
            }
        }
    }
    if json::below(object, &["metadata", "annotations", LAST_APPLIED]).is_some() {
        found.push(Pointer::of(["metadata", "annotations", LAST_APPLIED]));
    }
    if has_containers(object, 0) {
        containers(object, &mut Pointer::root(), 0, &mut found);
    }
    for pattern in extra {
        let segments: Vec<String> = pattern.segments().collect();
        matching(object, &segments, &mut Pointer::root(), &mut found);
    }
    found.sort();
    found.dedup();
    found
}

/// kubectl's copy of the whole object: it repeats every value.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether the object is a Secret of the core group.
pub fn is_secret(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("Secret")
        && object.get("apiVersion").and_then(Value::as_str) == Some("v1")
}

/// Pod specifications nest at most this deep in built-in kinds (CronJob); custom resources embed them deeper at times.
const MAX_DEPTH: usize = 16;

/// What fields of a container hold.
#[derive(Clone, Copy)]
enum Holder {
    Environment,
    Arguments,
}

fn holder(key: &str) -> Option<Holder> {
    match key {
        "env" => Some(Holder::Environment),
        "args" | "command" => Some(Holder::Arguments),
        _ => None,
    }
}

/// Whether [`containers`] could find anything: most objects have nothing of the kind, and paths cost more than a look.
fn has_containers(value: &Value, depth: usize) -> bool {
    let below = |value: &Value| (value.is_object() || value.is_array()) && has_containers(value, depth + 1);
    match value {
        _ if depth > MAX_DEPTH => false,
        Value::Object(map) => map.iter().any(|(key, value)| holder(key).is_some() || below(value)),
        Value::Array(list) => list.iter().any(below),
        _ => false,
    }
}

fn containers(value: &Value, at: &mut Pointer, depth: usize, found: &mut Vec<Pointer>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, below) in map {
                match (holder(key), below) {
                    (Some(Holder::Environment), Value::Array(env)) => environment(env, at, found),
                    (Some(Holder::Arguments), Value::Array(args)) => arguments(args, key, at, found),
                    _ => {}
                }
                if below.is_object() || below.is_array() {
                    at.push_key(key);
                    containers(below, at, depth + 1, found);
                    at.pop();
                }
            }
        }
        Value::Array(list) => {
            for (index, below) in list.iter().enumerate() {
                if below.is_object() {
                    at.push_index(index);
                    containers(below, at, depth + 1, found);
                    at.pop();
                }
            }
        }
        _ => {}
    }
}

fn environment(env: &[Value], at: &Pointer, found: &mut Vec<Pointer>) {
    for (index, entry) in env.iter().enumerate() {
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(fields) = entry.as_object().filter(|_| is_usual_name(name)) else { continue };
        // A misspelt `value` holds one too.
        for field in fields.keys().filter(|field| !["name", "valueFrom"].contains(&field.as_str())) {
            found.push(at.key("env").index(index).key(field));
        }
    }
}

fn arguments(args: &[Value], field: &str, at: &Pointer, found: &mut Vec<Pointer>) {
    let mut follows = false;
    for (index, entry) in args.iter().enumerate() {
        let Some(text) = entry.as_str() else { continue };
        let flag = text.starts_with('-');
        let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v)));
        let named = is_usual_name(name) && !name.contains(char::is_whitespace);
        if (follows && !flag) || (named && value.is_some()) {
            found.push(at.key(field).index(index));
        }
        follows = flag && named && value.is_none();
    }
}

fn matching(value: &Value, segments: &[String], at: &mut Pointer, found: &mut Vec<Pointer>) {
    let Some((first, rest)) = segments.split_first() else {
        found.push(at.clone());
        return;
    };
    match value {
        Value::Object(map) => {
            for (key, below) in map.iter().filter(|(key, _)| first == "*" || *key == first) {
                at.push_key(key);
                matching(below, rest, at, found);
                at.pop();
            }
        }
        Value::Array(list) => {
            for (index, below) in list.iter().enumerate() {
                if first == "*" || *first == index.to_string() {
                    at.push_index(index);
                    matching(below, rest, at, found);
                    at.pop();
                }
            }
        }
        _ => {}
    }
}

/// What is shown instead of a sensitive value.
pub fn placeholder(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    format!("(sensitive, {text} bytes)")
}

/// A copy of the object with every sensitive value replaced by its [`placeholder`].
pub fn mask(object: &Value, extra: &[Pointer]) -> Value {
    let mut masked = object.clone();
    mask_at(&mut masked, &pointers(object, extra));
    masked
}

/// Replaces the values at these pointers by their placeholders, in place.
pub fn mask_at(object: &mut Value, at: &[Pointer]) {
    for pointer in at {
        if let Some(value) = object.pointer_mut(pointer.as_str()) {
            *value = Value::String(placeholder(value));
        }
    }
}
