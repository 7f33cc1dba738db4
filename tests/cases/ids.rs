//! Object IDs: `GROUP/KIND/NAMESPACE/NAME` in the bank, `Kind.group/namespace/name` on the command line.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

/// What the bank and the tool both call an object; the core group is `core`, no namespace is `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Id {
    /// The API group, or `core`.
    pub(crate) group: String,
    /// The kind.
    pub(crate) kind: String,
    /// The namespace, or `-`.
    pub(crate) namespace: String,
    /// The name.
    pub(crate) name: String,
}

fn dns(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c))
}

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let &[group, kind, namespace, name] = parts.as_slice() else {
            return Err(format!("{text:?} is no GROUP/KIND/NAMESPACE/NAME"));
        };
        let kind_is_sound = !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphabetic());
        if !(dns(group) && kind_is_sound && dns(namespace) && dns(name)) {
            return Err(format!("{text:?} is no GROUP/KIND/NAMESPACE/NAME"));
        }
        Ok(Self::new(group, kind, namespace, name))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.group, self.kind, self.namespace, self.name)
    }
}

impl Id {
    fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
        Self { group: or(group, "core"), kind: kind.to_owned(), namespace: or(namespace, "-"), name: name.to_owned() }
    }

    /// As it is written on the command line.
    pub(crate) fn on_command_line(&self) -> String {
        let mut text = self.kind.clone();
        if self.group != "core" {
            text = format!("{text}.{}", self.group);
        }
        if self.namespace != "-" {
            text = format!("{text}/{}", self.namespace);
        }
        format!("{text}/{}", self.name)
    }

    /// Reads the tool's `{group, kind, namespace, name}`, or its text form.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        if let Some(text) = value.as_str() {
            return Self::from_command_line(text);
        }
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (kind, name) = (text("kind"), text("name"));
        (!kind.is_empty() && !name.is_empty()).then(|| Self::new(text("group"), kind, text("namespace"), name))
    }

    fn from_command_line(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, "", *name),
            [kind, namespace, name] => (*kind, *namespace, *name),
            _ => return None,
        };
        let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
        Some(Self::new(group, kind, namespace, name))
    }

    /// Reads what a manifest or a live object is.
    pub(crate) fn of_object(object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        (!kind.is_empty() && !name.is_empty()).then(|| Self::new(group, kind, text("/metadata/namespace"), name))
    }

    /// Tells whether a JSON value names this object: its kind, namespace and name stand somewhere in it as words.
    pub(crate) fn is_named_in(&self, value: &Value) -> bool {
        let words: &[&str] =
            if self.namespace == "-" { &[&self.kind, &self.name] } else { &[&self.kind, &self.namespace, &self.name] };
        words.iter().all(|word| super::text::any_string(value, &|text| super::text::has_word(text, word)))
    }
}

/// A permission by ID, for a Namespace or CRD with the number of unowned objects that go along.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Permission {
    /// What it is for.
    pub(crate) id: Id,
    /// How many objects of nobody's go along.
    pub(crate) count: Option<u64>,
}

impl TryFrom<String> for Permission {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (id, count) = match text.split_once('=') {
            Some((id, count)) => (id, Some(count.parse().map_err(|_| format!("{text:?} is no ID=N"))?)),
            None => (text.as_str(), None),
        };
        Ok(Self { id: Id::try_from(id.to_owned())?, count })
    }
}

impl Permission {
    /// As it is written on the command line.
    pub(crate) fn on_command_line(&self) -> String {
        let id = self.id.on_command_line();
        self.count.map_or(id.clone(), |count| format!("{id}={count}"))
    }
}
