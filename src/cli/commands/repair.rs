//! `holdfast repair [SOURCE...]`: a plan at the last applied commit, under today's rules.

use super::apply;
use crate::cli::args::{ApplyArgs, Global, RepairArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::planfile;

/// Plans, shows, saves, asks and applies, as `apply` does.
pub(crate) fn run(args: &RepairArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    if global.reference.is_some() && global.repository.is_none() {
        return Err(Failure::usage("repair goes back to the commit that is applied; --ref is for plan").into());
    }
    if let Some(plan) = args.sources.iter().find(|name| planfile::is_plan(name)) {
        let failure = Failure::usage(format!("repair takes SOURCES, and {plan:?} looks like a saved plan"));
        return Err(failure.hint("apply it with holdfast apply").into());
    }
    let options = (&args.permissions, &args.fetching, &args.locking);
    let apply = ApplyArgs::of(args.sources.clone(), &args.confirming, options);
    apply::back(&apply, args.confirming.out.as_deref(), global, env, output)
}
