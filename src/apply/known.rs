//! Whether a commit is known, without the git host where that is possible.

use super::context::Context;
use crate::admission::Rejection;
use crate::base::ids::CommitId;
use crate::source::refs::RefSpec;
use crate::source::spec::SourceSpec;

/// Makes sure that a Source's repository has a commit that a branch or tag reaches: by the mirror as it is, and only
/// where that doesn't know it by a fetch.
///
/// # Errors
/// If neither has it, or the fetch fails.
pub fn known_commit(context: &Context<'_>, spec: &SourceSpec, commit: &CommitId) -> Result<(), Rejection> {
    let unreadable = |error: crate::source::mirror::MirrorError| Rejection::of(error.fault());
    let mirror = context.mirror(spec).map_err(unreadable)?;
    let asked = RefSpec::Commit(commit.clone());
    if mirror.resolve(&asked).is_ok() {
        return Ok(());
    }
    if !context.offline {
        mirror.fetch(&asked, context.fetch, context.progress, context.clock.now()).map_err(unreadable)?;
    }
    mirror.resolve(&asked).map(drop).map_err(unreadable)
}
