//! Expressions of user policies.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Program, Value as Cel};
use serde_json::Value;

use super::{MOST_CHARACTERS, MOST_STEPS, cost};

/// Bytes of an expression up to which the thread's own stack is surely enough to compile it.
pub(super) const SHORT: usize = 256;
/// Stack of the thread that compiles longer ones and runs deep ones.
const STACK: usize = 256 << 20;

/// Why an expression has no result. No text of it holds a value of the input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadExpression {
    /// It doesn't compile.
    #[error("it can't be compiled: {0}")]
    Syntax(String),
    /// It has too many characters.
    #[error("it has more than {MOST_CHARACTERS} characters")]
    TooLong,
    /// It would take too many steps on this input.
    #[error("it would cost too much on an input of this size")]
    TooCostly,
    /// It reads a variable, a function or a field that isn't there.
    #[error("there is no {0}")]
    Missing(String),
    /// It failed otherwise.
    #[error("it failed on this input")]
    Failed,
    /// The result isn't of the type that was asked for.
    #[error("its result is not {0}")]
    WrongType(&'static str),
}

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    program: Program,
    cost: cost::Cost,
    text: Box<str>,
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// If it is no CEL, or too long.
    pub fn compile(text: &str) -> Result<Self, BadExpression> {
        if text.chars().count() > MOST_CHARACTERS {
            return Err(BadExpression::TooLong);
        }
        let compiled = with_room(text.len() > SHORT, || {
            let program = Program::compile(text).map_err(|e| BadExpression::Syntax(e.to_string()))?;
            Ok(Self { program, cost: cost::of(text), text: text.into() })
        });
        compiled.unwrap_or_else(|| Err(BadExpression::Syntax("it is no CEL that can be read here".to_owned())))
    }

    /// The variables that it reads, sorted.
    pub fn variables(&self) -> Vec<String> {
        let mut names: Vec<String> = self.program.references().variables().into_iter().map(str::to_owned).collect();
        names.sort();
        names
    }
}

/// Runs expressions with the same variables; one result each. A variable without a value is null.
///
/// A field is read by its name as it stands in the manifest (`object.metadata.labels['app']`).
pub fn evaluate(expressions: &[&Expression], variables: &[(&str, &Value)]) -> Vec<Result<bool, BadExpression>> {
    run(expressions, variables, |result| match result {
        Cel::Bool(result) => Ok(result),
        _ => Err(BadExpression::WrongType("true or false")),
    })
}

/// Runs one expression whose result is a text, such as a message.
///
/// # Errors
/// If it has no such result.
pub fn text(expression: &Expression, variables: &[(&str, &Value)]) -> Result<String, BadExpression> {
    let mut results = run(&[expression], variables, |result| match result {
        Cel::String(text) => Ok(text.to_string()),
        _ => Err(BadExpression::WrongType("a text")),
    });
    results.pop().unwrap_or(Err(BadExpression::Failed))
}

fn run<T: Send>(
    expressions: &[&Expression],
    variables: &[(&str, &Value)],
    read: impl Fn(Cel) -> Result<T, BadExpression> + Sync,
) -> Vec<Result<T, BadExpression>> {
    let is_deep = expressions.iter().any(|e| e.cost.is_deep());
    let results = with_room(is_deep, || run_here(expressions, variables, &read));
    results.unwrap_or_else(|| expressions.iter().map(|_| Err(BadExpression::Failed)).collect())
}

fn run_here<T>(
    expressions: &[&Expression],
    variables: &[(&str, &Value)],
    read: &impl Fn(Cel) -> Result<T, BadExpression>,
) -> Vec<Result<T, BadExpression>> {
    let mut size = cost::Size::default();
    variables.iter().for_each(|(_, value)| size.add(value));
    with_context(|context| {
        let mut scope = context.new_inner_scope();
        for (name, value) in variables {
            scope.add_variable_from_value(*name, to_cel(value));
        }
        let one = |expression: &Expression| {
            if expression.cost.steps(size) > MOST_STEPS {
                return Err(BadExpression::TooCostly);
            }
            let result = catch_unwind(AssertUnwindSafe(|| expression.program.execute(&scope)));
            match result {
                Ok(Ok(value)) => read(value),
                Ok(Err(error)) => Err(explain(error, &expression.text)),
                Err(_) => Err(BadExpression::Failed),
            }
        };
        expressions.iter().map(|expression| one(expression)).collect()
    })
}

/// Says what is wrong without the values that the interpreter's own text would show: a name is shown only if the
/// expression itself says it.
fn explain(error: ExecutionError, expression: &str) -> BadExpression {
    match error {
        ExecutionError::NoSuchKey(key) if expression.contains(key.as_str()) => {
            BadExpression::Missing(format!("field {key}"))
        }
        ExecutionError::NoSuchKey(_) => BadExpression::Missing("such key".to_owned()),
        ExecutionError::UndeclaredReference(name) if expression.contains(name.as_str()) => {
            BadExpression::Missing(format!("variable or function {name}"))
        }
        _ => BadExpression::Failed,
    }
}

fn with_context<T>(work: impl FnOnce(&Context<'static>) -> T) -> T {
    thread_local! {
        static CONTEXT: Context<'static> = Context::default().with_all();
    }
    CONTEXT.with(work)
}

/// Does work that recurses as deep as an expression; where that may be deep, on a thread with a large stack.
/// `None` if it panicked, or there is no such thread.
pub(super) fn with_room<T: Send>(is_deep: bool, work: impl FnOnce() -> T + Send) -> Option<T> {
    if !is_deep {
        return catch_unwind(AssertUnwindSafe(work)).ok();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok()?;
        thread.join().ok()
    })
}

fn to_cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(b) => Cel::Bool(*b),
        Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(n), _) => Cel::Int(n),
            (None, Some(n)) => Cel::UInt(n),
            (None, None) => Cel::Float(n.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(list) => Cel::List(Arc::new(list.iter().map(to_cel).collect())),
        Value::Object(map) => {
            let entries: HashMap<Key, Cel> =
                map.iter().map(|(key, v)| (Key::String(Arc::new(key.clone())), to_cel(v))).collect();
            Cel::Map(Map { map: Arc::new(entries) })
        }
    }
}
