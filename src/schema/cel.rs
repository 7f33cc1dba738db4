//! Rules in CEL: `x-kubernetes-validations` of CRDs, and expressions of user policies. Always fails closed.
//!
//! The language is that of `kube-cel`, a documented subset of what an API server runs. What is outside it, or fails, or
//! costs too much, is a fault that says so, never a rule that passed.
//!
//! **Bounds.** The interpreter counts nothing, so the cost is estimated before each run: the nodes of the expression,
//! times the largest list or map in the input (or longest text, where texts are taken apart) for each level of nested
//! comprehensions. An expression has at most [`MOST_CHARACTERS`] characters; one run costs at most [`MOST_STEPS`]; all
//! runs on one object cost at most [`MOST_STEPS_PER_OBJECT`] and are at most [`MOST_RUNS`].

use std::sync::OnceLock;

use kube_cel::{CompiledSchema, ErrorKind, RootContext, Validator, compile_schema};
use serde_json::Value;

use super::fault::rule;
use super::path::{Out, Path};
use crate::base::text::{escape, shorten};

mod cost;
mod expression;

pub use expression::{BadExpression, Expression, evaluate, text};

/// Characters of one expression.
pub const MOST_CHARACTERS: usize = 8_192;
/// Estimated steps of one run.
pub const MOST_STEPS: u64 = 10_000_000;
/// Estimated steps of all runs on one object.
pub const MOST_STEPS_PER_OBJECT: u64 = 50_000_000;
/// Runs on one object.
pub const MOST_RUNS: u32 = 20_000;

thread_local! {
    static VALIDATOR: Validator = Validator::new();
}

/// What is left of the bounds for one object.
#[derive(Debug)]
pub(super) struct Budget {
    steps: u64,
    runs: u32,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { steps: MOST_STEPS_PER_OBJECT, runs: MOST_RUNS }
    }

    /// Takes the cost of a run out, if there is enough left.
    fn spend(&mut self, steps: u64) -> bool {
        if steps > MOST_STEPS || steps > self.steps || self.runs == 0 {
            return false;
        }
        self.steps -= steps;
        self.runs -= 1;
        true
    }
}

/// One rule of a schema, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The expression.
    pub rule: String,
    /// What it says where it doesn't hold.
    pub message: Option<String>,
    /// Where the fault is, below the value, as the rule says it (`.spec.size`).
    pub field_path: Option<String>,
}

/// The rules of one node, compiled when first used.
#[derive(Debug)]
pub struct NodeRules {
    rules: Vec<Rule>,
    /// The schema of this node, without the rules of the nodes below it.
    schema: Value,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    schema: CompiledSchema,
    /// The cost of each rule: its nodes, its levels of comprehensions, whether texts are taken apart.
    costs: Vec<cost::Cost>,
}

impl NodeRules {
    /// Reads the rules of a schema, if it has any.
    pub(super) fn read(schema: &Value, path: &Path<'_>, out: &mut Out) -> Option<std::sync::Arc<Self>> {
        let list = schema.get("x-kubernetes-validations")?.as_array().filter(|list| !list.is_empty())?;
        let at = path.key("x-kubernetes-validations");
        let mut rules = Vec::with_capacity(list.len());
        for (index, entry) in list.iter().enumerate() {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
            // That it is missing is said by the check of the CRD's shape.
            let Some(rule) = text("rule") else { continue };
            if rule.chars().count() > MOST_CHARACTERS {
                let said = format!("a rule in CEL has at most {MOST_CHARACTERS} characters");
                out.add(rule::SIZE_LIMIT, &at.index(index).key("rule"), said);
                return None;
            }
            rules.push(Rule { rule, message: text("message"), field_path: text("fieldPath") });
        }
        let mut schema = schema.clone();
        strip_below(&mut schema, true);
        Some(std::sync::Arc::new(Self { rules, schema, compiled: OnceLock::new() }))
    }

    /// The rules, as written.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let compile = || Compiled {
                schema: compile_schema(&self.schema),
                costs: self.rules.iter().map(|rule| cost::of(&rule.rule)).collect(),
            };
            let is_long = self.rules.iter().any(|r| r.rule.len() > expression::SHORT);
            expression::with_room(is_long, compile)
                .unwrap_or_else(|| Compiled { schema: compile_schema(&Value::Null), costs: Vec::new() })
        })
    }

    /// Runs the rules on a value. Rules that read `oldSelf` run only where there is an old value.
    pub(super) fn run(&self, value: &Value, old: Option<&Value>, path: &Path<'_>, budget: &mut Budget, out: &mut Out) {
        let compiled = self.compiled();
        if compiled.costs.len() != self.rules.len() {
            return out.add(rule::CEL_UNSUPPORTED, path, "the rules in CEL of this value can't be compiled here");
        }
        let size = cost::Size::of(value);
        for (rule, cost) in self.rules.iter().zip(&compiled.costs) {
            if !budget.spend(cost.steps(size)) {
                let said = format!("a rule in CEL costs too much for a value of this size: {}", shown(&rule.rule));
                return out.add(rule::CEL_UNSUPPORTED, path, said);
            }
        }
        let is_deep = compiled.costs.iter().any(|cost| cost.is_deep());
        let context = root_context(value);
        let result = expression::with_room(is_deep, || {
            VALIDATOR.with(|v| v.validate_compiled_with_context(&compiled.schema, value, old, Some(&context)))
        });
        let errors = match result {
            Some(Ok(())) => return,
            Some(Err(errors)) => errors.into_vec(),
            None => return out.add(rule::CEL_UNSUPPORTED, path, "a rule in CEL can't be run here"),
        };
        for error in errors {
            let named = shown(&error.rule);
            match error.kind {
                ErrorKind::ValidationFailure => {
                    // `message` is a text of the CRD, or of its messageExpression.
                    let said = shorten(&escape(&error.message), 500).into_owned();
                    out.add_hint(rule::CEL_RULE, path, said, format!("the rule: {named}"));
                }
                kind => {
                    // The interpreter's own text may hold values, so it isn't shown.
                    let said = format!("a rule in CEL {}: {named}", why(&kind));
                    out.add(rule::CEL_UNSUPPORTED, path, said);
                }
            }
        }
    }
}

fn why(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::CompilationFailure | ErrorKind::InvalidRule => "can't be compiled",
        ErrorKind::UnsupportedReference => "uses what can't be run here",
        ErrorKind::InvalidResult => "is neither true nor false",
        ErrorKind::SchemaTooDeep => "belongs to a schema that is too deep",
        _ => "fails on this value",
    }
}

fn shown(rule: &str) -> String {
    shorten(&escape(rule), 300).into_owned()
}

fn root_context(value: &Value) -> RootContext {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let api_version = text("apiVersion");
    let api_group = api_version.rsplit_once('/').map_or_else(String::new, |(group, _)| group.to_owned());
    RootContext { api_version, api_group, kind: text("kind") }
}

/// Takes the rules of all nodes below out of a schema: those nodes run them.
fn strip_below(schema: &mut Value, is_top: bool) {
    let Value::Object(map) = schema else { return };
    if !is_top {
        map.remove("x-kubernetes-validations");
    }
    map.remove("description");
    for (key, below) in map.iter_mut() {
        match (key.as_str(), below) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(|s| strip_below(s, false)),
            ("items" | "additionalProperties" | "not", below) => strip_below(below, false),
            ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => list.iter_mut().for_each(|s| strip_below(s, false)),
            _ => {}
        }
    }
}
