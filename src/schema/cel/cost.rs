//! An estimate of what running an expression costs.

use kube_cel::cel::Program;
use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};
use serde_json::Value;

/// Calls that make a list or a larger text out of a text.
const TAKE_APART: [&str; 8] = ["split", "findAll", "charAt", "replace", "join", "substring", "matches", "find"];
/// Calls that make lists of any length out of a number.
const UNBOUNDED: [&str; 2] = ["range", "lists.range"];

/// What an expression costs, without its input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    nodes: u64,
    levels: u32,
    /// How deep the expression nests, which is how deep its run recurses.
    depth: u32,
    takes_texts_apart: bool,
    is_unbounded: bool,
}

/// What of an input matters for costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    /// Entries of the largest list or map.
    entries: u64,
    /// Bytes of the longest text.
    text: u64,
}

impl Size {
    pub(super) fn of(value: &Value) -> Self {
        let mut size = Self::default();
        size.add(value);
        size
    }

    pub(super) fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text = self.text.max(text.len() as u64),
            Value::Array(list) => {
                self.entries = self.entries.max(list.len() as u64);
                list.iter().for_each(|v| self.add(v));
            }
            Value::Object(map) => {
                self.entries = self.entries.max(map.len() as u64);
                map.iter().for_each(|(key, v)| {
                    self.text = self.text.max(key.len() as u64);
                    self.add(v);
                });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl Cost {
    /// Whether a run recurses so deep that a thread's usual stack may be too small.
    pub(super) fn is_deep(self) -> bool {
        self.depth > 64
    }

    /// Estimated steps on an input.
    pub(super) fn steps(self, size: Size) -> u64 {
        if self.is_unbounded {
            return u64::MAX;
        }
        let texts = if self.takes_texts_apart { size.text / 16 } else { 0 };
        let round = size.entries.max(texts).max(2);
        self.nodes.saturating_mul(round.saturating_pow(self.levels)).saturating_add(texts)
    }
}

/// The cost of an expression. One that doesn't compile costs nothing: it isn't run.
pub(super) fn of(text: &str) -> Cost {
    let mut cost = Cost { nodes: 0, levels: 0, depth: 0, takes_texts_apart: false, is_unbounded: false };
    if let Ok(program) = Program::compile(text) {
        cost.walk(program.expression(), 0, 1);
    }
    cost
}

impl Cost {
    fn walk(&mut self, expression: &IdedExpr, level: u32, depth: u32) {
        self.nodes += 1;
        self.levels = self.levels.max(level);
        self.depth = self.depth.max(depth);
        match &expression.expr {
            Expr::Call(call) => {
                self.takes_texts_apart |= TAKE_APART.contains(&call.func_name.as_str());
                self.is_unbounded |= UNBOUNDED.contains(&call.func_name.as_str());
                call.target.iter().for_each(|e| self.walk(e, level, depth + 1));
                call.args.iter().for_each(|e| self.walk(e, level, depth + 1));
            }
            Expr::Comprehension(c) => {
                // A chain (`a.map(..).filter(..)`) ranges over the result of the one before it: no longer than that.
                self.walk(&c.iter_range, level, depth + 1);
                self.walk(&c.accu_init, level, depth + 1);
                self.walk(&c.loop_cond, level + 1, depth + 1);
                self.walk(&c.loop_step, level + 1, depth + 1);
                self.walk(&c.result, level, depth + 1);
            }
            Expr::List(list) => list.elements.iter().for_each(|e| self.walk(e, level, depth + 1)),
            Expr::Map(map) => map.entries.iter().for_each(|e| self.entry(&e.expr, level, depth + 1)),
            Expr::Struct(of) => of.entries.iter().for_each(|e| self.entry(&e.expr, level, depth + 1)),
            Expr::Select(select) => self.walk(&select.operand, level, depth + 1),
            Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        }
    }

    fn entry(&mut self, entry: &EntryExpr, level: u32, depth: u32) {
        match entry {
            EntryExpr::StructField(field) => self.walk(&field.value, level, depth + 1),
            EntryExpr::MapEntry(pair) => {
                self.walk(&pair.key, level, depth + 1);
                self.walk(&pair.value, level, depth + 1);
            }
        }
    }
}
