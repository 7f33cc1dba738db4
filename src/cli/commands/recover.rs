//! `holdfast recover`: finishes or undoes interrupted applies.

use serde_json::json;

use crate::cli::args::{Fetching, Format, Global, Locking};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::target::sqlite::Access;
use crate::target::{Atomicity, Recovered};

/// Recovers, and says what was done. What is left of an apply ends with exit code 5.
pub(crate) fn run(locking: &Locking, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let session = Session::open(global, &Fetching::default(), Access::Read, env, output)?;
    let target = session.target();
    if target.atomicity() == Atomicity::Atomic {
        // Reading it brings the file itself to where its log says it is.
        let revision = target.reader()?.revision()?;
        match format {
            Format::Json => output.json(&json!({"formatVersion": 1, "halfDone": [], "revision": revision}))?,
            _ => output.data(&format!(
                "Nothing is half done on {}: an apply is one transaction there, all of it or nothing. Nothing was written.\n",
                target.describe()
            ))?,
        }
        return Ok(Exit::Done);
    }
    let done = target.recover(locking.lock_timeout)?;
    match format {
        Format::Json => {
            output.json(&json!({"formatVersion": 1, "recovered": done.iter().map(told).collect::<Vec<_>>()}))?
        }
        _ => output.data(&text(&done))?,
    }
    Ok(if done.iter().all(|one| one.left.is_empty()) { Exit::Done } else { Exit::Partial })
}

fn told(one: &Recovered) -> serde_json::Value {
    let left: Vec<_> = one.left.iter().map(|(id, why)| json!({"id": id, "reason": why})).collect();
    json!({"applyId": one.apply, "sources": one.sources, "result": word(one), "leftOver": left})
}

fn word(one: &Recovered) -> &'static str {
    if one.finished { "finished" } else { "undone" }
}

fn text(done: &[Recovered]) -> String {
    if done.is_empty() {
        return "Nothing to recover.\n".to_owned();
    }
    let mut text = String::new();
    for one in done {
        text.push_str(&format!("Apply {} of {}: {}.\n", one.apply, one.sources.join(", "), word(one)));
        for (id, why) in &one.left {
            text.push_str(&format!("  left: {id}: {why}\n"));
        }
    }
    text
}
