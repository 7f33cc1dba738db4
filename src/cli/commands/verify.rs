//! `holdfast verify PLAN`: would it still apply?

use serde_json::json;

use crate::admission::Rejection;
use crate::apply::{SOURCE_MOVED, prepare};
use crate::base::fault::Fault;
use crate::cli::args::{Format, Global, VerifyArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;
use crate::cli::planfile;
use crate::cli::session::Session;
use crate::plan::binding::{self, STALE_PLAN};
use crate::plan::document::PlanDocument;
use crate::target::sqlite::Access;

/// Plans anew and names each thing that moved. Writes nothing.
pub(crate) fn run(args: &VerifyArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json, Format::Markdown])?;
    let reviewed = planfile::read(&args.plan)?;
    let session = Session::open(global, &args.fetching, Access::Read, env, output)?;
    let context = session.context();
    session.is_for(&reviewed)?;
    let prepared = prepare(&context, session.request_of(&reviewed, &args.permissions)?);
    session.quiet();
    session.go_on()?;
    let prepared = prepared?;
    let reader = session.target().reader()?;
    let fresh = prepared.plan(&context, reader.as_ref())?;
    let mut faults = binding::moved(&reviewed, fresh.document());
    if reader.was_applied(&reviewed.plan_id)? {
        // What it did itself is no news.
        faults.clear();
        faults.push(
            Fault::new(STALE_PLAN, "this plan was applied before; a plan is applied once").hint("make a new plan"),
        );
    }
    faults.extend(prepared.held(reader.as_ref(), context.clock.now(), false)?);
    faults.extend(unmerged(&reviewed, fresh.document()));
    if !faults.is_empty() {
        let stale = faults.iter().any(|fault| fault.rule == STALE_PLAN);
        let mut rejection = Rejection::new();
        faults.into_iter().for_each(|fault| rejection.push(fault));
        let exit = if stale { Exit::Stale } else { Exit::Refused };
        return Err(Stop::Refused { rejection: Box::new(rejection), exit });
    }
    match format {
        Format::Json => output.json(&json!({"formatVersion": 1, "planId": reviewed.plan_id, "applies": true}))?,
        _ => output.data(&format!("The plan {} would still apply.\n", reviewed.plan_id))?,
    }
    Ok(Exit::Done)
}

/// A commit that was on its ref when it was reviewed, and isn't any more.
fn unmerged(reviewed: &PlanDocument, fresh: &PlanDocument) -> Vec<Fault> {
    let was = |name: &crate::base::ids::SourceName| reviewed.sources.iter().any(|s| s.name == *name && s.preview);
    let gone = fresh.sources.iter().filter(|s| s.preview && !was(&s.name));
    gone.map(|s| {
        let text = format!("commit {} of Source {} is not on its ref any more", s.commit, s.name);
        Fault::new(SOURCE_MOVED, text).hint("apply it as it is with --allow-unmerged, or make the plan again")
    })
    .collect()
}
