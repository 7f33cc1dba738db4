//! `holdfast plan [SOURCE...]`.

use std::mem::ManuallyDrop;

use super::{PLAN_FORMATS, plan_text};
use crate::apply::prepare;
use crate::cli::args::{Global, PlanArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::cli::{invocation, planfile};
use crate::plan::document::PlanDocument;
use crate::target::sqlite::Access;

/// Fetches, admits, diffs, and shows or saves the plan.
pub(crate) fn run(args: &PlanArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(PLAN_FORMATS)?;
    // Who only reads makes no control plane either.
    let access = if args.read_only { Access::Read } else { Access::Create };
    let session = Session::open(global, &args.fetching, access, env, output)?;
    let session = if args.read_only { session.reading() } else { session };
    let context = session.context();
    let request = session.request(&args.sources, &args.permissions, Vec::new())?;
    let prepared = prepare(&context, request);
    session.quiet();
    session.go_on()?;
    // The process ends with this command: taking tens of thousands of objects apart first would only delay it.
    let prepared = ManuallyDrop::new(prepared.inspect_err(|_| session.note_uncommitted(&args.sources, output))?);
    let sealed = ManuallyDrop::new({
        let reader = session.target().reader()?;
        for hold in prepared.holds(reader.as_ref(), context.clock.now())? {
            hold.texts().for_each(|text| output.note(&format!("{text}; an apply of this plan is refused")));
        }
        prepared.plan(&context, reader.as_ref())?
    });
    let plan = sealed.document();
    let next = next(args, global, plan);
    let (saved, text) = rayon::join(
        || args.out.as_ref().map(|path| planfile::write(path, plan)).transpose(),
        || plan_text(plan, format, output.color(), next.as_deref()),
    );
    saved?;
    if let Some(path) = &args.out {
        output.note(&format!("saved: {}", path.display()));
    }
    if args.sources.is_empty() {
        session.note_unconfigured(output)?;
    }
    output.data(&text?)?;
    Ok(if args.exit_code && is_pending(plan) { Exit::Pending } else { Exit::Done })
}

/// Whether something would change on the target.
fn is_pending(plan: &PlanDocument) -> bool {
    plan.changes.iter().any(|change| change.action.is_pending())
}

/// The command that would apply it; none where nothing is left to apply.
fn next(args: &PlanArgs, global: &Global, plan: &PlanDocument) -> Option<String> {
    let applied = plan.sources.iter().all(|source| source.applied.as_ref() == Some(&source.commit));
    if applied && plan.changes.iter().all(|change| change.action == crate::plan::document::Action::Keep) {
        return None;
    }
    Some(match &args.out {
        Some(path) => invocation::apply(global, plan, &[planfile::argument(path)], None),
        None => invocation::apply(global, plan, &args.sources, Some(plan.content_id.as_str())),
    })
}
