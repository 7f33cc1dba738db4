//! `holdfast apply PLAN` and `holdfast apply [SOURCE...]`.

use std::mem::ManuallyDrop;
use std::path::Path;

use dialoguer::Confirm;

use super::plan_text;
use crate::admission::Rejection;
use crate::apply::{
    ApplyError, ApplyOptions, Context, LOCKED, Prepared, Receipt, Transaction, prepare, recovered, tell_refused,
};
use crate::base::fault::Fault;
use crate::base::ids::{ContentId, PlanId, SourceName};
use crate::cli::args::{ApplyArgs, Format, Global};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::report;
use crate::cli::session::Session;
use crate::cli::{invocation, planfile};
use crate::plan::binding::{PLAN_DIGEST, STALE_PLAN};
use crate::plan::document::PlanDocument;
use crate::target::sqlite::Access;
use crate::target::{HistoryEntry, Interrupted};

/// What an apply prints: the plan in the form asked for, then the receipt; of JSON the receipt alone.
pub(super) const FORMATS: &[Format] = &[Format::Table, Format::Diff, Format::Json];

/// Applies a saved plan, or plans, shows, asks and applies.
pub(crate) fn run(args: &ApplyArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(FORMATS)?;
    says_why(args)?;
    let command = Apply { args, env, output, format, out: None, back: false };
    match args.what.as_slice() {
        [plan] if planfile::is_plan(plan) => command.saved(Path::new(plan), global),
        names if names.iter().any(|name| planfile::is_plan(name)) => {
            Err(Failure::usage("apply takes one PLAN, or SOURCES; a PLAN has a . or / in its name, a SOURCE neither")
                .into())
        }
        names => command.sources(names, global),
    }
}

/// Goes back to the last applied commit: plans, shows, saves, asks and applies.
pub(crate) fn back(
    args: &ApplyArgs,
    out: Option<&Path>,
    global: &Global,
    env: &Env,
    output: &Output,
) -> Result<Exit, Stop> {
    let format = output.format(FORMATS)?;
    says_why(args)?;
    Apply { args, env, output, format, out, back: true }.sources(&args.what, global)
}

/// An apply while a Source is paused says why.
pub(super) fn says_why(args: &ApplyArgs) -> Result<(), Failure> {
    let says_why = args.permissions.reason.as_deref().is_some_and(|reason| !reason.trim().is_empty());
    if args.while_paused && !says_why {
        return Err(Failure::usage("--while-paused needs --reason"));
    }
    Ok(())
}

/// An apply as it was asked for.
pub(super) struct Apply<'a> {
    pub(super) args: &'a ApplyArgs,
    pub(super) env: &'a Env,
    pub(super) output: &'a Output,
    pub(super) format: Format,
    /// Where the plan is saved.
    pub(super) out: Option<&'a Path>,
    /// Whether it is the way back to the last applied commit.
    pub(super) back: bool,
}

/// What was done about an apply that was cut off.
fn recovery(one: &Interrupted) -> String {
    let done = if one.committed { "finished" } else { "undone" };
    format!("apply {} of {}, begun at {}, had been cut off: it was {done}", one.apply, one.sources.join(", "), one.at)
}

/// What the operation log says of a plan that is refused.
pub(super) struct Named {
    sources: Vec<String>,
    commits: Vec<String>,
    plan: PlanId,
}

impl Named {
    fn of(plan: &PlanDocument) -> Self {
        let (sources, commits) = plan.sources.iter().map(|s| (s.name.to_string(), s.commit.to_string())).unzip();
        Self { sources, commits, plan: plan.plan_id.clone() }
    }
}

impl Apply<'_> {
    /// Exactly that plan, or a refusal.
    fn saved(&self, path: &Path, global: &Global) -> Result<Exit, Stop> {
        let plan = planfile::read(path)?;
        if let Some(expect) = &self.args.expect {
            let expect = PlanId::parse(expect).map_err(|e| Failure::usage(format!("--expect: {e}")))?;
            if expect != plan.plan_id {
                let text = format!("the plan file holds plan {}, not the expected {expect}", plan.plan_id);
                return Err(
                    Rejection::of(Fault::new(PLAN_DIGEST, text).hint("review it, or find the right file")).into()
                );
            }
        }
        let session = Session::open(global, &self.args.fetching, Access::Create, self.env, self.output)?;
        session.is_for(&plan)?;
        self.recover(&session, &plan.sources.iter().map(|source| &source.name).collect::<Vec<_>>())?;
        let request = session.request_of(&plan, &self.args.permissions)?;
        let context = session.context();
        let prepared = prepare(&context, request);
        session.quiet();
        session.go_on()?;
        let applied = match prepared {
            Ok(prepared) => {
                let begun = Transaction::begin(&context, &prepared, &plan, self.options(&session, true));
                self.commit(&context, &prepared, begun)
            }
            Err(rejection) => Err(rejection.into()),
        };
        self.finish(&session, Some(Named::of(&plan)), applied)
    }

    /// Plans, shows, asks, applies.
    fn sources(&self, names: &[String], global: &Global) -> Result<Exit, Stop> {
        let expect = self.expected()?;
        let session = Session::open(global, &self.args.fetching, Access::Create, self.env, self.output)?;
        let context = session.context();
        self.recover(&session, &session.chosen(names)?.iter().map(|spec| &spec.name).collect::<Vec<_>>())?;
        let (names, commits) = if self.back {
            let commits = session.applied(names)?;
            (commits.iter().map(|(name, _)| name.to_string()).collect(), commits)
        } else {
            (names.to_vec(), Vec::new())
        };
        let names = names.as_slice();
        let request = session.request(names, &self.args.permissions, commits)?;
        let prepared = prepare(&context, request);
        session.quiet();
        session.go_on()?;
        let prepared = match prepared {
            // The process ends with this command: taking it apart first would only delay that.
            Ok(prepared) => ManuallyDrop::new(prepared),
            Err(rejection) => {
                session.note_uncommitted(names, self.output);
                return self.finish(&session, None, Err(rejection.into()));
            }
        };
        self.planned(global, &session, &context, &prepared, expect.as_ref())
    }

    /// Finishes or undoes what an earlier apply of these Sources left half done, and says so; not for a plan that is only
    /// saved.
    pub(super) fn recover(&self, session: &Session, names: &[&SourceName]) -> Result<(), Stop> {
        if self.out.is_some() && !self.decides() {
            return Ok(());
        }
        for one in recovered(&session.context(), names, self.args.locking.lock_timeout)? {
            self.output.note(&recovery(&one));
        }
        Ok(())
    }

    /// The ContentId that is expected, if one is; without one there must be a way to say yes, or a file for the plan.
    ///
    /// # Errors
    /// If there is nobody to ask, or it is no ContentId.
    pub(super) fn expected(&self) -> Result<Option<ContentId>, Failure> {
        if self.asks() && !(self.env.stdin_is_terminal && self.env.stderr_is_terminal) {
            return Err(Failure::refused("there is no terminal to ask on, so nothing is applied")
                .hint("review a plan and give its ContentId with --expect, or say --yes"));
        }
        let parsed = self.args.expect.as_deref().map(ContentId::parse).transpose();
        parsed.map_err(|e| Failure::usage(format!("--expect: {e}")))
    }

    /// Whether it is decided already.
    pub(super) fn decides(&self) -> bool {
        self.args.yes || self.args.expect.is_some()
    }

    fn asks(&self) -> bool {
        !self.decides() && self.out.is_none()
    }

    /// Plans what was prepared, shows it, saves it, asks, applies.
    pub(super) fn planned(
        &self,
        global: &Global,
        session: &Session,
        context: &Context<'_>,
        prepared: &Prepared<'_>,
        expect: Option<&ContentId>,
    ) -> Result<Exit, Stop> {
        let sealed = {
            let reader = session.target().reader()?;
            prepared.plan(context, reader.as_ref())
        };
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(rejection) => return self.finish(session, None, Err(rejection.into())),
        };
        let plan = sealed.document();
        if let Some(expect) = expect.filter(|expect| **expect != plan.content_id) {
            let stop = self.unexpected(plan, expect)?;
            return self.finish(session, Some(Named::of(plan)), Err(stop));
        }
        if let Some(path) = self.out {
            planfile::write(path, plan)?;
            self.output.note(&format!("saved: {}", path.display()));
            if !self.decides() {
                let next = invocation::apply(global, plan, &[planfile::argument(path)], None);
                self.output.data(&plan_text(plan, self.format, self.output.color(), Some(&next))?)?;
                return Ok(Exit::Done);
            }
        }
        if self.format != Format::Json {
            // An empty line parts the plan from the question or the receipt.
            self.output.data(&(plan_text(plan, self.format, self.output.color(), None)? + "\n"))?;
        }
        if self.asks() && !self.confirmed(plan)? {
            return Err(Failure::refused("not confirmed; nothing was written").into());
        }
        let named = Named::of(plan);
        let begun = Transaction::begin_at_once(context, prepared, sealed, self.options(session, false));
        let applied = self.commit(context, prepared, begun);
        self.finish(session, Some(named), applied)
    }

    /// What would be done is not what was reviewed: show it, and refuse.
    fn unexpected(&self, plan: &PlanDocument, expect: &ContentId) -> Result<Stop, Stop> {
        if self.format != Format::Json {
            self.output.data(&plan_text(plan, self.format, self.output.color(), None)?)?;
        }
        let text = format!(
            "the plan's ContentId is {}, not the expected {expect}: it would do something else",
            plan.content_id
        );
        let fault =
            Fault::new(STALE_PLAN, text).hint("review the plan again; what it would do now is shown by holdfast plan");
        Ok(Stop::Refused { rejection: Box::new(Rejection::of(fault)), exit: Exit::Stale })
    }

    fn confirmed(&self, plan: &PlanDocument) -> Result<bool, Failure> {
        if self.format == Format::Json {
            let text = plan_text(plan, Format::Table, self.output.color_for_people(), None);
            self.output.show(&text.unwrap_or_default());
        }
        Confirm::new()
            .with_prompt("Apply this plan?")
            .default(false)
            .interact()
            .map_err(|e| Failure::refused(format!("there was no answer ({e}); nothing was written")))
    }

    fn options(&self, session: &Session, single_use: bool) -> ApplyOptions {
        ApplyOptions {
            actor: self.env.user.clone(),
            apply: session.new_apply(),
            lock_timeout: self.args.locking.lock_timeout,
            allow_unmerged: self.args.allow_unmerged,
            while_paused: self.args.while_paused,
            reason: self.args.permissions.reason.clone(),
            single_use,
        }
    }

    fn commit(
        &self,
        context: &Context<'_>,
        prepared: &Prepared<'_>,
        begun: Result<Transaction<'_>, ApplyError>,
    ) -> Result<Receipt, Stop> {
        let receipt = begun?.commit(context)?;
        for read in prepared.reads() {
            // The apply is done; the mirror only keeps its commit from being collected.
            if let Err(error) = read.keep() {
                self.output.note(&format!("warning: commit {} may not be kept in the mirror: {error}", read.commit));
            }
        }
        Ok(receipt)
    }

    /// Prints the receipt, or notes the refusal in the operation log.
    pub(super) fn finish(
        &self,
        session: &Session,
        plan: Option<Named>,
        applied: Result<Receipt, Stop>,
    ) -> Result<Exit, Stop> {
        session.quiet();
        match applied {
            Ok(receipt) => {
                self.output.detail(&format!("the write lock was held for {} us", receipt.held().as_micros()));
                match self.format {
                    Format::Json => self.output.json(receipt.as_json())?,
                    _ => self.output.data(&report::receipt(receipt.as_json()))?,
                }
                let pending = receipt.as_json().get("pending").and_then(serde_json::Value::as_array);
                Ok(if pending.is_none_or(Vec::is_empty) { Exit::Done } else { Exit::Partial })
            }
            Err(stop) => {
                if let Stop::Refused { rejection, .. } = &stop {
                    self.note(session, plan, rejection);
                }
                Err(stop)
            }
        }
    }

    fn note(&self, session: &Session, plan: Option<Named>, rejection: &Rejection) {
        // A store that was locked beyond the time-out is not waited for once more.
        if rejection.faults().any(|fault| fault.rule == LOCKED) {
            return;
        }
        let (sources, commits, plan) = match plan {
            Some(Named { sources, commits, plan }) => (sources, commits, Some(plan)),
            None => {
                let (sources, commits) = session.meant(&self.args.what, self.back);
                (sources, commits, None)
            }
        };
        let entry = HistoryEntry {
            id: session.new_apply().to_string(),
            at: session.context().clock.now(),
            actor: self.env.user.clone(),
            claimed: false,
            operation: "refused".to_owned(),
            sources,
            commits,
            plan,
            result: rejection.faults().next().map_or("refused", |fault| fault.rule.as_str()).to_owned(),
            objects: Vec::new(),
        };
        tell_refused(&session.context(), &entry, rejection);
        if let Err(error) = session.target().note(entry, report::json(rejection)) {
            self.output.detail(&format!("the refusal is not in the operation log: {error}"));
        }
    }
}
