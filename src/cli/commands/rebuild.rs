//! `holdfast source rebuild NAME`.

use super::proposal::Proposal;
use crate::apply::prepare;
use crate::base::ids::SourceName;
use crate::cli::args::{Global, Permissions, RebuildArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::inventory::present;
use crate::target::sqlite::Access;

/// Takes back what bears the Source's mark, by a plan at the applied commit that writes inventory rows alone.
pub(crate) fn run(args: &RebuildArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let name = SourceName::parse(&args.name).map_err(|e| Failure::usage(e.to_string()))?;
    let permissions = Permissions { reason: args.reason.clone(), ..Permissions::default() };
    let options = (&permissions, &args.fetching, &args.locking);
    let proposal = Proposal::new((&args.name, &args.confirming), options, (global, env, output))?;
    let session = Session::open(global, &args.fetching, Access::Write, env, output)?;
    proposal.recover(&session, &name)?;
    let context = session.context();
    let known = session.target().reader()?.sources()?;
    let commits = present(&known, &name).map(|record| (name.clone(), record.commit.clone())).into_iter().collect();
    let prepared = prepare(&context, session.rebuild(&name, commits)?);
    session.quiet();
    session.go_on()?;
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(rejection) => return proposal.refuse(&session, rejection.into()),
    };
    proposal.decide(&session, &context, &prepared)
}
