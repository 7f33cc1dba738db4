//! `holdfast drift [SOURCE|ID...]`.

use crate::cli::args::{Format, Global, InspectArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::look::{Look, Watcher};
use crate::cli::output::Output;
use crate::cli::report::drift as report;

/// Shows what differs from what was last applied. Reads only.
pub(crate) fn run(args: &InspectArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json, Format::Yaml])?;
    let watcher = Watcher::open((&args.what, args.every()), &args.fetching, (global, env, output))?;
    let shown = |id: &_| watcher.is_shown(id);
    let pending = watcher.run(|look: &Look<'_>| {
        watcher.print(format, || report::json(look, &shown), || report::text(look, &shown))?;
        Ok(report::is_drifted(look, &shown))
    })?;
    Ok(if args.exit_code && pending { Exit::Pending } else { Exit::Done })
}
