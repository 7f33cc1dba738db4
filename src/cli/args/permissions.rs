//! What people give a plan and an apply leave to do.

use clap::Args;

/// Permissions, all by name and count; recorded in the plan, and given again at `apply PLAN`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Permissions")]
pub(crate) struct Permissions {
    /// Allow at most so many deletes
    #[arg(long, value_name = "N")]
    pub allow_deletes: Option<usize>,
    /// Allow a replace or a protected delete; ID=N takes N objects of nobody's along; source/NAME binds a Source anew
    #[arg(long, value_name = "ID[=N]")]
    pub allow: Vec<String>,
    /// Take on an object of nobody's; Kind/namespace/* with --allow-adoptions
    #[arg(long, value_name = "ID")]
    pub adopt: Vec<String>,
    /// How many objects patterns of --adopt may take on
    #[arg(long, value_name = "N")]
    pub allow_adoptions: Option<usize>,
    /// Take over objects that this Source gives up
    #[arg(long, value_name = "SOURCE")]
    pub adopt_from: Vec<String>,
    /// Adopt so many objects that another tool still claims: helm/NAMESPACE/RELEASE=N, argocd/APPLICATION=N, flux/KIND/NAMESPACE/NAME=N
    #[arg(long, value_name = "CLAIM=N")]
    pub take_over: Vec<String>,
    /// Let an object go: its owner mark is taken off, everything else stays
    #[arg(long, value_name = "ID")]
    pub release: Vec<String>,
    /// Waive a user policy; needs --reason
    #[arg(long, value_name = "RULE")]
    pub waive: Vec<String>,
    /// Pass objects unasked whose dry run this admission webhook prevents
    #[arg(long, value_name = "WEBHOOK")]
    pub waive_dry_run: Vec<String>,
    /// Why
    #[arg(long, value_name = "REASON")]
    pub reason: Option<String>,
}
