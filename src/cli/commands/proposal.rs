//! Plans of a Source's own affairs, removal and rebuilding: saved, or shown, confirmed and applied.

use super::apply::{Apply, FORMATS, says_why};
use crate::apply::{Context, Prepared};
use crate::cli::args::{ApplyArgs, Confirming, Fetching, Global, Locking, Permissions};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;

/// What was asked for.
pub(super) struct Proposal<'a> {
    confirming: &'a Confirming,
    apply: ApplyArgs,
    global: &'a Global,
    env: &'a Env,
    output: &'a Output,
}

impl<'a> Proposal<'a> {
    /// Reads what was asked for.
    ///
    /// # Errors
    /// If it can't be confirmed in this way.
    pub(super) fn new(
        (name, confirming): (&str, &'a Confirming),
        (permissions, fetching, locking): (&Permissions, &Fetching, &Locking),
        (global, env, output): (&'a Global, &'a Env, &'a Output),
    ) -> Result<Self, Failure> {
        let apply = ApplyArgs {
            what: vec![name.to_owned()],
            yes: confirming.yes,
            expect: confirming.expect.clone(),
            allow_unmerged: false,
            while_paused: confirming.while_paused,
            permissions: permissions.clone(),
            fetching: fetching.clone(),
            locking: locking.clone(),
        };
        says_why(&apply)?;
        let proposal = Self { confirming, apply, global, env, output };
        proposal.applying()?.expected()?;
        Ok(proposal)
    }

    fn applying(&self) -> Result<Apply<'_>, Failure> {
        let format = self.output.format(FORMATS)?;
        let out = self.confirming.out.as_deref();
        Ok(Apply { args: &self.apply, env: self.env, output: self.output, format, out, back: false })
    }

    /// Whether the plan is only saved.
    pub(super) fn saves_only(&self) -> bool {
        self.confirming.out.is_some() && !self.confirming.yes && self.confirming.expect.is_none()
    }

    /// Saves the plan, or shows, confirms and applies it.
    ///
    /// # Errors
    /// If there is no plan, or it isn't applied.
    pub(super) fn decide(
        &self,
        session: &Session,
        context: &Context<'_>,
        prepared: &Prepared<'_>,
    ) -> Result<Exit, Stop> {
        let applying = self.applying()?;
        let expect = applying.expected()?;
        applying.planned(self.global, session, context, prepared, expect.as_ref())
    }

    /// Refuses as an apply does, with a line in the operation log.
    pub(super) fn refuse(&self, session: &Session, stop: Stop) -> Result<Exit, Stop> {
        self.applying()?.finish(session, None, Err(stop))
    }
}
