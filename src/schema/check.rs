//! Checks a value by its schema, in one walk that allocates nothing while it finds nothing.

use serde_json::{Map, Value};

use super::catalog::KindSchema;
use super::cel::Budget;
use super::fault::{SchemaFault, rule};
use super::node::{Additional, Kind, ListType, Node};
use super::path::{Out, Path, describe};

mod hint;
mod keys;
mod scalar;

/// Maps and lists inside each other that are followed. Manifests are bounded before; this bounds what else is checked.
const MOST_DEPTH: usize = 200;

/// Everything that is wrong in an object, in the order of the walk; at most some hundred faults.
///
/// Its kind is taken as known and its name isn't judged ([`super::names`] does that). `status` is checked as the rest:
/// leave out what the server owns before.
pub fn check(schema: &KindSchema, value: &Value) -> Vec<SchemaFault> {
    check_update(schema, value, None)
}

/// The same, with the object as it was: rules in CEL that read `oldSelf` are run too.
pub fn check_update(schema: &KindSchema, value: &Value, old: Option<&Value>) -> Vec<SchemaFault> {
    let mut walk = Walk { root: &schema.root, out: Out::default(), budget: Budget::new(), depth: 0 };
    walk.value(&schema.root, value, old, &Path::ROOT);
    walk.out.faults
}

/// Whether a value passes a schema, with nothing said about why not.
fn passes(node: &Node, value: &Value) -> bool {
    let mut walk = Walk { root: node, out: Out::default(), budget: Budget::new(), depth: 0 };
    walk.value(node, value, None, &Path::ROOT);
    walk.out.faults.is_empty()
}

struct Walk<'s> {
    root: &'s Node,
    out: Out,
    budget: Budget,
    depth: usize,
}

/// Whether a field is as good as not there: null where null is no value is dropped by the API server.
fn is_dropped(node: &Node, value: &Value) -> bool {
    value.is_null() && !node.nullable
}

impl<'s> Walk<'s> {
    fn value(&mut self, node: &'s Node, value: &Value, old: Option<&Value>, path: &Path<'_>) {
        if value.is_null() && node.nullable {
            return;
        }
        if self.depth == MOST_DEPTH {
            self.out.add(rule::SIZE_LIMIT, path, format!("more than {MOST_DEPTH} maps and lists inside each other"));
            return;
        }
        self.depth += 1;
        match (node.kind, value) {
            (Kind::Any, Value::Object(map)) if !node.is_open() || !node.required.is_empty() => {
                self.map(node, map, old, path);
            }
            (Kind::Any, Value::Array(list)) if node.items.is_some() => self.list(node, list, old, path),
            (Kind::Any, _) => {}
            (Kind::Object, Value::Object(map)) => self.map(node, map, old, path),
            (Kind::List, Value::Array(list)) => self.list(node, list, old, path),
            (Kind::Object, Value::Bool(_)) if node.or_bool => {}
            (Kind::Object | Kind::List, _) => self.mismatch(node, value, path),
            _ => scalar::check(node, value, path, &mut self.out),
        }
        if !node.enumeration.is_empty() && !node.enumeration.contains(value) {
            let allowed: Vec<String> = node.enumeration.iter().take(20).map(Value::to_string).collect();
            let text = format!("{} is none of the allowed values", path_name(path));
            self.out.add_hint(rule::OUT_OF_RANGE, path, text, format!("allowed: {}", allowed.join(", ")));
        }
        if let Some(limits) = &node.limits {
            scalar::limits(limits, value, path, &mut self.out);
        }
        if let Some(junctors) = &node.junctors {
            self.junctors(junctors, value, path);
        }
        if let Some(rules) = &node.cel {
            rules.run(value, old, path, &mut self.budget, &mut self.out);
        }
        self.depth -= 1;
    }

    fn mismatch(&mut self, node: &Node, value: &Value, path: &Path<'_>) {
        let wanted = if node.kind == Kind::List { "a list" } else { "a map" };
        let text = format!("{} must be {wanted} and is {}", path_name(path), describe(value));
        self.out.add(rule::TYPE_MISMATCH, path, text);
    }

    fn map(&mut self, node: &'s Node, map: &Map<String, Value>, old: Option<&Value>, path: &Path<'_>) {
        for (key, value) in map {
            let below = path.key(key);
            let before = || old.and_then(|o| o.get(key));
            if let Some(field) = node.properties.get(key.as_str()) {
                if is_dropped(field, value) {
                    continue;
                }
                self.value(&field.node, value, before(), &below);
                if let Some(leaf) = field.leaf {
                    leaf.check(value, &below, &mut self.out);
                }
                continue;
            }
            match &node.additional {
                Additional::Open => {}
                Additional::Values(shape) => self.value(shape, value, before(), &below),
                Additional::Closed => self.out.push(hint::unknown_field(self.root, node, map, key, path)),
            }
        }
        for key in &node.required {
            if map.get(&**key).is_none_or(|v| node.below(key).is_some_and(|n| is_dropped(n, v))) {
                self.missing(node, key, path);
            }
        }
        if node.embedded_resource {
            self.embedded(map, path);
        }
        if let Some(rule) = &node.rule {
            (rule.0)(map, path, &mut self.out);
        }
    }

    fn missing(&mut self, node: &Node, key: &str, path: &Path<'_>) {
        let has_default = node.properties.get(key).and_then(|f| f.default.as_ref()).is_some_and(|d| !is_zero(d));
        if !has_default {
            self.out.add(rule::MISSING_FIELD, path, format!("{key} is required"));
        }
    }

    /// A whole object inside another has the three fields that any object has (apiextensions, "embedded resource").
    fn embedded(&mut self, map: &Map<String, Value>, path: &Path<'_>) {
        for key in ["apiVersion", "kind"] {
            match map.get(key) {
                Some(Value::String(text)) if !text.is_empty() => {}
                Some(Value::Null) | None => {
                    self.out.add(rule::MISSING_FIELD, path, format!("{key} is required: this is a whole object"));
                }
                Some(_) => self.out.add(rule::TYPE_MISMATCH, &path.key(key), format!("{key} must be a text")),
            }
        }
    }

    fn list(&mut self, node: &'s Node, list: &[Value], old: Option<&Value>, path: &Path<'_>) {
        if let Some(items) = &node.items {
            for (index, value) in list.iter().enumerate() {
                // Old entries are matched by key where there is one, as the API server correlates them.
                let before = old.and_then(|o| keys::old_entry(node, o, value));
                self.value(items, value, before, &path.index(index));
            }
        }
        match &node.list {
            ListType::Atomic => {}
            ListType::Set => keys::set(list, path, &mut self.out),
            ListType::Map(keys) => keys::map(node, keys, list, path, &mut self.out),
        }
    }

    fn junctors(&mut self, junctors: &'s super::node::Junctors, value: &Value, path: &Path<'_>) {
        for node in &junctors.all_of {
            self.value(node, value, None, path);
        }
        let name = path_name(path);
        if !junctors.any_of.is_empty() && !junctors.any_of.iter().any(|n| passes(n, value)) {
            let text = format!("{name} fits none of the {} forms of its schema (anyOf)", junctors.any_of.len());
            self.out.add(rule::OUT_OF_RANGE, path, text);
        }
        if !junctors.one_of.is_empty() {
            let fits = junctors.one_of.iter().filter(|n| passes(n, value)).count();
            if fits != 1 {
                let text = format!("{name} fits {fits} of the forms of its schema and must fit exactly one (oneOf)");
                self.out.add(rule::OUT_OF_RANGE, path, text);
            }
        }
        if junctors.not.as_ref().is_some_and(|n| passes(n, value)) {
            self.out.add(rule::OUT_OF_RANGE, path, format!("{name} fits a form that its schema rules out (not)"));
        }
    }
}

/// Whether a default only says that Go has zero values: the field is needed all the same.
fn is_zero(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// The last key of a path, for the start of a sentence.
fn path_name<'a>(path: &Path<'a>) -> &'a str {
    match path.last_key() {
        "" => "the value",
        key => key,
    }
}
