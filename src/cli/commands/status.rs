//! `holdfast status [SOURCE|ID...]`.

use crate::cli::args::{Format, Global, InspectArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::look::{Look, Watcher};
use crate::cli::output::Output;
use crate::cli::report::status as report;

/// Shows Synced and Healthy of Sources and objects. Reads only.
pub(crate) fn run(args: &InspectArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json, Format::Yaml])?;
    let watcher = Watcher::open(args, global, env, output)?;
    let shown = |id: &_| watcher.is_shown(id);
    let all = output.is_verbose() || watcher.has_ids();
    let pending = watcher.run(|look: &Look<'_>| {
        let statuses = report::statuses(look, &shown);
        match format {
            Format::Json if args.watch => output.json_line(&report::json(look, &statuses))?,
            Format::Json => output.json(&report::json(look, &statuses))?,
            Format::Yaml => output.yaml(&report::json(look, &statuses))?,
            _ => output.data(&report::text(look, &statuses, all))?,
        }
        Ok(report::is_pending(&statuses, watcher.has_ids()))
    })?;
    Ok(if args.exit_code && pending { Exit::Pending } else { Exit::Done })
}
