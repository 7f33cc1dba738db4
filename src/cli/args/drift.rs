//! Options of the commands about drift.

use std::time::Duration;

use clap::Args;

use super::{Confirming, Fetching, Locking, Permissions, duration};

/// Options of `repair`.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// The Sources; none is all of the configuration that were applied, planned together
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,
    #[command(flatten)]
    pub confirming: Confirming,
    #[command(flatten)]
    pub permissions: Permissions,
    #[command(flatten)]
    pub fetching: Fetching,
    #[command(flatten)]
    pub locking: Locking,
}

/// Options of `status` and `drift`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Sources and resources; none is all
    #[arg(value_name = "SOURCE|ID")]
    pub what: Vec<String>,
    /// Exit with 3 when there is drift, or a Source is not Synced
    #[arg(long)]
    pub exit_code: bool,
    /// Look again whenever something changed, until a signal; of JSON one document a line
    #[arg(long)]
    pub watch: bool,
    /// How often --watch looks
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub interval: Duration,
    #[command(flatten)]
    pub fetching: Fetching,
}

impl InspectArgs {
    /// How often it looks, if more than once.
    pub(crate) fn every(&self) -> Option<Duration> {
        self.watch.then_some(self.interval)
    }
}

/// Options of `export-drift`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The Source
    pub source: String,
    /// Only these resources
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Also what others added beside what is declared, in pod templates, security contexts and access rights
    #[arg(long)]
    pub added: bool,
    #[command(flatten)]
    pub fetching: Fetching,
}
