//! `holdfast source remove NAME`.

use super::proposal::Proposal;
use crate::apply::prepare;
use crate::base::ids::SourceName;
use crate::cli::args::{Global, RemoveArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::plan::document::Purpose;
use crate::target::sqlite::Access;

/// Removes a Source through a plan; its repository isn't read.
pub(crate) fn run(args: &RemoveArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let name = SourceName::parse(&args.name).map_err(|e| Failure::usage(e.to_string()))?;
    let purpose = if args.prune { Purpose::Prune } else { Purpose::Orphan };
    let options = (&args.permissions, &args.fetching, &args.locking);
    let proposal = Proposal::new((&args.name, &args.confirming), options, (global, env, output))?;
    let session = Session::open(global, &args.fetching, Access::Write, env, output)?;
    proposal.recover(&session, &name)?;
    let context = session.context();
    let prepared = prepare(&context, session.removal(&name, purpose, &args.permissions)?);
    session.quiet();
    session.go_on()?;
    let mut prepared = match prepared {
        Ok(prepared) => prepared,
        Err(rejection) => return proposal.refuse(&session, rejection.into()),
    };
    if purpose == Purpose::Prune && args.permissions.allow_deletes.is_none() {
        // Within the budget the command itself is the permission; the plan records it, and `apply PLAN` wants it again.
        let sealed = {
            let reader = session.target().reader()?;
            prepared.plan(&context, reader.as_ref())
        };
        match sealed.map(|sealed| sealed.document().summary.delete) {
            Ok(deletes) => prepared.allow_deletes(deletes),
            Err(rejection) => return proposal.refuse(&session, rejection.into()),
        }
    }
    let exit = proposal.decide(&session, &context, &prepared)?;
    if !proposal.saves_only() && session.has_source(&name) {
        output.note(&format!(
            "next: take Source {name} out of {}, else the next plan takes it for a new Source",
            session.origin()
        ));
    }
    Ok(exit)
}
