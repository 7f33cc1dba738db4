//! `holdfast export-drift SOURCE [ID...]`.

use serde_json::{Value, json};

use crate::base::text::{escape, escape_lines};
use crate::cli::args::{ExportArgs, Format, Global};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::look::{Look, Watcher};
use crate::cli::output::Output;
use crate::drift::{Export, export};
use crate::manifest::Limits;

/// Prints live changes as a patch to the manifests that they belong to. Writes nothing.
pub(crate) fn run(args: &ExportArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Diff, Format::Json])?;
    let mut what = vec![args.source.clone()];
    what.extend(args.ids.iter().cloned());
    if args.source.contains('/') || args.ids.iter().any(|id| !id.contains('/')) {
        return Err(Failure::usage("export-drift takes one SOURCE, and after it the IDs of resources").into());
    }
    let watcher = Watcher::open((&what, None), &args.fetching, (global, env, output))?;
    let left = watcher.run(|look: &Look<'_>| {
        let Some(found) = look.sources.first().and_then(|source| source.found.as_ref()) else {
            let text = format!("Source {} was never applied here, so nothing of it can have drifted", args.source);
            return Err(Failure::refused(text).into());
        };
        if let Err(why) = &found.declared {
            let text = format!("commit {} can't be read: {}", found.record.commit, why.text);
            return Err(Failure::refused(text).hint("nothing can be compared with it").into());
        }
        let exported = export(found, &|id| watcher.is_shown(id), args.added, &Limits::default());
        let commit = found.record.commit.as_str();
        match format {
            Format::Json => output.json(&document(&exported, commit))?,
            // What a terminal shows must not move its cursor; git gets every byte.
            _ if env.stdout_is_terminal => output.data(&escape_lines(&exported.patch))?,
            _ => output.data(&exported.patch)?,
        }
        for left in &exported.left {
            let (id, path) = (left.id.to_string(), left.path.as_str());
            output.note(&format!("not exported: {}{}: {}", escape(&id), escape(path), left.reason));
        }
        let n = exported.exported.len();
        match n {
            0 => output.note("nothing to export"),
            _ => output.note(&format!("{n} exported, as a patch to commit {commit}; apply it with git apply")),
        }
        Ok(!exported.left.is_empty())
    })?;
    Ok(if left { Exit::Refused } else { Exit::Done })
}

fn document(exported: &Export, commit: &str) -> Value {
    let done = exported.exported.iter().map(|(id, path, file)| json!({"id": id, "path": path, "file": file}));
    let left = exported.left.iter().map(|left| json!({"id": left.id, "path": left.path, "reason": left.reason}));
    json!({
        "formatVersion": 1,
        "commit": commit,
        "patch": exported.patch,
        "exported": done.collect::<Vec<_>>(),
        "notExported": left.collect::<Vec<_>>(),
    })
}
