//! Plans of a Source's own affairs, removal and rebuilding: saved, or shown, confirmed and applied.

use std::path::Path;

use super::apply::{Apply, FORMATS, says_why};
use crate::apply::{Context, Prepared};
use crate::base::ids::{ContentId, SourceName};
use crate::cli::args::{ApplyArgs, Confirming, Fetching, Format, Global, Locking, Permissions};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;

/// What was asked for.
pub(super) struct Proposal<'a> {
    apply: ApplyArgs,
    format: Format,
    out: Option<&'a Path>,
    expect: Option<ContentId>,
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
        options: (&Permissions, &Fetching, &Locking),
        (global, env, output): (&'a Global, &'a Env, &'a Output),
    ) -> Result<Self, Failure> {
        let apply = ApplyArgs::of(vec![name.to_owned()], confirming, options);
        says_why(&apply)?;
        let (format, out) = (output.format(FORMATS)?, confirming.out.as_deref());
        let mut proposal = Self { apply, format, out, expect: None, global, env, output };
        proposal.expect = proposal.applying().expected()?;
        Ok(proposal)
    }

    fn applying(&self) -> Apply<'_> {
        let Self { apply, format, out, env, output, .. } = self;
        Apply { args: apply, env, output, format: *format, out: *out, back: false }
    }

    /// Whether the plan is only saved.
    pub(super) fn saves_only(&self) -> bool {
        self.out.is_some() && !self.applying().decides()
    }

    /// Finishes or undoes what an earlier apply of the Source left half done.
    ///
    /// # Errors
    /// If that fails, or another process is at work on it.
    pub(super) fn recover(&self, session: &Session, name: &SourceName) -> Result<(), Stop> {
        self.applying().recover(session, &[name])
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
        self.applying().planned(self.global, session, context, prepared, self.expect.as_ref())
    }

    /// Refuses as an apply does, with a line in the operation log.
    pub(super) fn refuse(&self, session: &Session, stop: Stop) -> Result<Exit, Stop> {
        self.applying().finish(session, None, Err(stop))
    }
}
