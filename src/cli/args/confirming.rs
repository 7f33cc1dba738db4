//! How plans that a command makes itself are confirmed: `repair`, `source remove` and `source rebuild`.

use std::path::PathBuf;

use clap::Args;

use super::{ApplyArgs, Fetching, Locking, Permissions};

/// How a plan that was just made is saved or confirmed.
#[derive(Debug, Args)]
pub(crate) struct Confirming {
    /// Save the plan; without --yes or --expect nothing is applied
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Don't ask
    #[arg(short, long)]
    pub yes: bool,
    /// The ContentId that was reviewed
    #[arg(long, value_name = "ID")]
    pub expect: Option<String>,
    /// Apply although a Source is paused; needs --reason
    #[arg(long)]
    pub while_paused: bool,
}

impl ApplyArgs {
    /// What `apply` would be told, by a command that plans Sources in its own way.
    pub(crate) fn of(
        what: Vec<String>,
        confirming: &Confirming,
        (permissions, fetching, locking): (&Permissions, &Fetching, &Locking),
    ) -> Self {
        Self {
            what,
            yes: confirming.yes,
            expect: confirming.expect.clone(),
            allow_unmerged: false,
            while_paused: confirming.while_paused,
            permissions: permissions.clone(),
            fetching: fetching.clone(),
            locking: locking.clone(),
        }
    }
}
