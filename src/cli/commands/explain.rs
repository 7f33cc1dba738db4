//! `holdfast explain RULE`.

use serde_json::{Value, json};

use crate::admission::catalogue::{self, RuleDoc};
use crate::base::columns::Columns;
use crate::cli::args::Format;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::schema::nearest;

/// Says what a rule asks, or lists all rules.
pub(crate) fn run(rule: Option<&str>, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let Some(id) = rule else {
        list(format, output)?;
        return Ok(Exit::Done);
    };
    let Some(doc) = catalogue::find(id) else {
        let hint = match nearest::of(id, catalogue::all().map(|doc| doc.id)) {
            Some(meant) => format!("did you mean {meant}? holdfast explain lists all"),
            None => "holdfast explain lists all".to_owned(),
        };
        return Err(Failure::refused(format!("there is no rule {id:?}")).hint(hint).into());
    };
    match format {
        Format::Json => output.json(&with_version(described(doc)))?,
        _ => output.data(&format!(
            "{}: {}\n\n{}\n\nExample:\n\n{}\n",
            doc.id,
            doc.summary,
            doc.explanation,
            indented(doc.example)
        ))?,
    }
    Ok(Exit::Done)
}

fn list(format: Format, output: &Output) -> Result<(), Failure> {
    let mut all: Vec<&RuleDoc> = catalogue::all().collect();
    all.sort_by_key(|doc| doc.id);
    if format == Format::Json {
        let rules: Vec<Value> = all.into_iter().map(described).collect();
        return output.json(&with_version(json!({"rules": rules})));
    }
    let mut columns = Columns::new(["RULE", "ASKS"]);
    for doc in all {
        columns.push([doc.id.to_owned(), doc.summary.to_owned()]);
    }
    output.data(&(columns.lines().join("\n") + "\n"))
}

fn described(doc: &RuleDoc) -> Value {
    json!({"rule": doc.id, "summary": doc.summary, "explanation": doc.explanation, "example": doc.example})
}

fn with_version(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.insert("formatVersion".to_owned(), json!(1));
    }
    value
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
