//! The report for machines.

use serde_json::{Value, json};

use crate::admission::Rejection;
use crate::base::fault::{At, Fault, Warning};
use crate::base::resource::ResourceId;

/// The version of the report's format.
const FORMAT_VERSION: u32 = 1;

/// The refusal as one document: `refusals[]`, `warnings[]`, and the ids that were meant to exist. Every key is always there.
pub(crate) fn json(rejection: &Rejection) -> Value {
    json!({
        "formatVersion": FORMAT_VERSION,
        "outcome": "refused",
        "refusals": rejection.faults().map(fault).collect::<Vec<_>>(),
        "warnings": rejection.warnings().iter().map(warning).collect::<Vec<_>>(),
        "written": false,
    })
}

fn fault(fault: &Fault) -> Value {
    let Place { file, line, column, document } = Place::of(fault.at.as_ref());
    json!({
        "rule": fault.rule.as_str(),
        "file": file,
        "line": line,
        "column": column,
        "document": document,
        "path": fault.path,
        "id": fault.id,
        "also": fault.also.iter().map(also).collect::<Vec<_>>(),
        "text": fault.text,
        "hint": fault.hint,
        "class": fault.class.as_str(),
        "owner": fault.owner,
        "holds": fault.holds.iter().collect::<Vec<&ResourceId>>(),
    })
}

fn also(at: &At) -> Value {
    let Place { file, line, column, document } = Place::of(Some(at));
    json!({"file": file, "line": line, "column": column, "document": document})
}

fn warning(warning: &Warning) -> Value {
    let Place { file, line, column, document } = Place::of(warning.at.as_ref());
    json!({
        "rule": warning.rule.as_str(),
        "file": file,
        "line": line,
        "column": column,
        "document": document,
        "path": warning.path,
        "id": warning.id,
        "raw": warning.raw,
        "text": warning.text,
    })
}

/// A place; what isn't known is null, never 0.
struct Place {
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    document: Option<usize>,
}

impl Place {
    fn of(at: Option<&At>) -> Self {
        let known = |n: u32| (n > 0).then_some(n);
        Self {
            file: at.map(|at| at.file.to_string()),
            line: at.and_then(|at| known(at.line)),
            column: at.and_then(|at| known(at.column)),
            document: at.map(|at| at.document),
        }
    }
}
