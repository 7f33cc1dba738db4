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
    let watcher = Watcher::open((&args.what, args.every()), &args.fetching, (global, env, output))?;
    let shown = |id: &_| watcher.is_shown(id);
    let all = output.is_verbose() || watcher.has_ids();
    let pending = watcher.run(|look: &Look<'_>| {
        let statuses = report::statuses(look, &shown);
        watcher.print(format, || report::json(look, &statuses), || report::text(look, &statuses, all))?;
        Ok(report::is_pending(&statuses, watcher.has_ids()))
    })?;
    Ok(if args.exit_code && pending { Exit::Pending } else { Exit::Done })
}
