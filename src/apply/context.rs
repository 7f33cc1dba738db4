//! What every command of the engine is given: nothing here reads the environment.

use std::path::Path;

use crate::base::clock::Clock;
use crate::base::interrupt::Interrupt;
use crate::base::progress::Progress;
use crate::manifest;
use crate::source::limits;
use crate::source::mirror::{Credentials, Mirror, MirrorError, Ssh};
use crate::source::spec::SourceSpec;
use crate::target::Target;

/// The surroundings of a command.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The target.
    pub target: &'a dyn Target,
    /// Where mirrors are kept.
    pub cache: &'a Path,
    /// Where ssh hosts and keys are looked up.
    pub ssh: &'a Ssh,
    /// The time.
    pub clock: &'a dyn Clock,
    /// Bounds of a fetch.
    pub fetch: &'a limits::Limits,
    /// Bounds of what is read of a commit.
    pub manifests: &'a manifest::Limits,
    /// Told how far the parts of a command have come.
    pub progress: &'a dyn Progress,
    /// Whether to fetch; without, the mirror counts as it is.
    pub offline: bool,
    /// Whether the target may be asked nothing but reads: its own admission then isn't, and every Change says so.
    pub read_only: bool,
    /// Whether somebody asked to stop.
    pub interrupt: &'a Interrupt,
}

impl Context<'_> {
    /// The mirror of a Source's repository.
    pub(crate) fn mirror(&self, spec: &SourceSpec) -> Result<Mirror, MirrorError> {
        Ok(Mirror::open(self.cache, &spec.repository, Credentials::default())?.with_ssh(self.ssh))
    }
}
