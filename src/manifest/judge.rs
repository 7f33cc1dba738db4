//! Whether a document is a Kubernetes object, or a list of them, or what else it seems to be.

use serde_json::{Map, Value};

use super::rules;
use crate::base::fault::RuleId;
use crate::base::pointer::Pointer;
use crate::base::text::{escape, shorten};

/// An object, and the item of a list that it was.
pub(super) struct Object {
    pub(super) item: Option<Pointer>,
    pub(super) value: Map<String, Value>,
}

/// What is wrong with a document's shape.
pub(super) struct Misfit {
    pub(super) rule: RuleId,
    /// The field; the root for the document as a whole.
    pub(super) path: Pointer,
    pub(super) text: String,
    pub(super) hint: Option<String>,
}

impl Misfit {
    fn new(path: &Pointer, text: impl Into<String>) -> Self {
        Self { rule: rules::NOT_A_MANIFEST, path: path.clone(), text: text.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

const IGNORE: &str = "if the file is meant for something else, list it under `ignore` or in .holdfastignore";

/// Sorts a document into objects and faults. `limit` bounds both together.
pub(super) fn judge(value: Value, encrypted: Option<Pointer>, limit: usize) -> (Vec<Object>, Vec<Misfit>) {
    let mut out = (Vec::new(), Vec::new());
    let sops = value.get("sops").is_some_and(is_sops).then(|| Pointer::root().key("sops"));
    if let Some(path) = sops.or(encrypted) {
        let mut misfit =
            Misfit::new(&path, "the document is encrypted: its values would be applied as they stand here");
        misfit.rule = rules::ENCRYPTED;
        out.1.push(
            misfit
                .hint("Holdfast has no keys: commit what an operator decrypts inside the cluster, or ignore the file"),
        );
        return out;
    }
    sort(value, &Pointer::root(), None, limit, &mut out);
    out
}

fn is_sops(value: &Value) -> bool {
    ["mac", "lastmodified", "version", "encrypted_regex", "unencrypted_suffix"]
        .iter()
        .any(|key| value.get(key).is_some())
}

fn sort(
    value: Value,
    path: &Pointer,
    inherited: Option<(&str, &str)>,
    limit: usize,
    out: &mut (Vec<Object>, Vec<Misfit>),
) {
    if out.0.len() + out.1.len() >= limit {
        if out.1.last().is_none_or(|m| m.rule != rules::SIZE_LIMIT) {
            let mut misfit = Misfit::new(path, format!("the file has more than {limit} objects"));
            misfit.rule = rules::SIZE_LIMIT;
            out.1.push(misfit);
        }
        return;
    }
    let mut object = match value {
        Value::Object(object) => object,
        other => {
            let what = match other {
                Value::Array(_) => "a list",
                Value::Null => "nothing",
                _ => "a single value",
            };
            let text = format!("{what} is no Kubernetes object: apiVersion, kind and metadata are needed");
            out.1.push(Misfit::new(path, text).hint(IGNORE));
            return;
        }
    };
    // As kubectl: an item takes both from its list, or none.
    if let Some((api_version, kind)) = inherited
        && ["apiVersion", "kind"].iter().all(|key| object.get(*key).is_none_or(|v| v.is_null() || *v == ""))
    {
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
    }
    let named = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (Some(api_version), Some(kind)) = (named("apiVersion"), named("kind")) else {
        out.1.push(nameless(&object, path));
        return;
    };
    if api_version.matches('/').count() > 1 {
        out.1.push(Misfit::new(&path.key("apiVersion"), "apiVersion is group/version, or a version alone"));
        return;
    }
    if api_version.starts_with("kustomize.config.k8s.io/") {
        let text = "a build file of kustomize is no Kubernetes object";
        out.1.push(
            Misfit::new(path, text)
                .hint("render it first (kustomize build), commit what it gives, and ignore this file"),
        );
        return;
    }
    let is_list = match object.get("items") {
        None => false,
        Some(Value::Array(_) | Value::Null) => true,
        Some(_) => {
            out.1.push(Misfit::new(&path.key("items"), "kubectl takes anything with `items` for a list of objects"));
            return;
        }
    };
    match kind.strip_suffix("List") {
        Some(_) if is_list => flatten(object, path, limit, out),
        Some("") => out.1.push(Misfit::new(path, "the List has no items")),
        None if is_list => {
            let text = format!("kubectl takes anything with `items` for a list, and {} is none", shown(kind));
            out.1.push(Misfit::new(&path.key("items"), text));
        }
        _ => {
            let item = (!path.is_root()).then(|| path.clone());
            out.0.push(Object { item, value: object });
        }
    }
}

fn flatten(mut list: Map<String, Value>, path: &Pointer, limit: usize, out: &mut (Vec<Object>, Vec<Misfit>)) {
    for key in list.keys() {
        if !["apiVersion", "kind", "metadata", "items"].contains(&key.as_str()) {
            let mut misfit =
                Misfit::new(&path.key(key), format!("a list has no field {}: kubectl would drop it", shown(key)));
            misfit.rule = rules::UNKNOWN_FIELD;
            out.1.push(misfit);
        }
    }
    let text = |key: &str| list.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let item_kind = kind.strip_suffix("List").unwrap_or_default();
    let inherited = (!item_kind.is_empty()).then_some((api_version.as_str(), item_kind));
    let Some(Value::Array(items)) = list.remove("items") else { return };
    let items_path = path.key("items");
    for (index, item) in items.into_iter().enumerate() {
        sort(item, &items_path.index(index), inherited, limit, out);
    }
}

/// An object without a kind or an API version, and what it may be instead.
fn nameless(object: &Map<String, Value>, path: &Pointer) -> Misfit {
    let absent = |key: &str| object.get(key).and_then(Value::as_str).is_none_or(str::is_empty);
    let missing = match (absent("apiVersion"), absent("kind")) {
        (true, true) => "apiVersion and kind are",
        (true, false) => "apiVersion is",
        _ => "kind is",
    };
    let misfit = Misfit::new(path, format!("no Kubernetes object: {missing} missing"));
    let near = |wanted: &str| object.keys().find(|key| *key != wanted && alike(key, wanted));
    for wanted in ["kind", "apiVersion"] {
        if absent(wanted)
            && let Some(key) = near(wanted)
        {
            return misfit.hint(format!("is {} meant to be {wanted}?", shown(key)));
        }
    }
    let has = |key: &str| object.contains_key(key);
    if absent("kind") && has("name") && has("version") {
        return misfit.hint("it looks like the Chart.yaml of a Helm chart: render the chart, and ignore this file");
    }
    if has("services") && !has("metadata") {
        return misfit.hint("it looks like a compose file: list it under `ignore` or in .holdfastignore");
    }
    misfit.hint(IGNORE)
}

/// Whether two keys have the same letters, or differ in one.
fn alike(key: &str, wanted: &str) -> bool {
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().map(|c| c.to_ascii_lowercase()).collect();
        letters.sort_unstable();
        letters
    };
    if key.len() > 20 {
        return false;
    }
    if letters(key) == letters(wanted) {
        return true;
    }
    let (key, wanted) = (key.to_ascii_lowercase(), wanted.to_ascii_lowercase());
    let common = key.chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
    let tail = key.chars().rev().zip(wanted.chars().rev()).take_while(|(a, b)| a == b).count();
    common + tail + 1 >= key.chars().count().max(wanted.chars().count())
}

fn shown(text: &str) -> String {
    escape(&shorten(text, 60)).into_owned()
}
