//! Before a Source is planned to be written: what an apply of it left half done is finished or undone, so that no plan is
//! made on the middle of one.

use std::time::Duration;

use super::Context;
use super::prepare::source_id;
use crate::base::ids::SourceName;
use crate::target::{Interrupted, TargetError};

/// Finishes or undoes what is left of interrupted applies of these Sources, by their locks; what there was.
///
/// # Errors
/// If the target fails, or another process holds one of them beyond `wait`: then it may be at work.
pub fn recovered(
    context: &Context<'_>,
    names: &[&SourceName],
    wait: Duration,
) -> Result<Vec<Interrupted>, TargetError> {
    let (found, ids) = {
        let reader = context.target.reader()?;
        let mut found = reader.interrupted()?;
        found.retain(|one| one.sources.iter().any(|name| names.iter().any(|wanted| wanted.as_str() == name)));
        if found.is_empty() {
            return Ok(found);
        }
        let (identity, known) = (reader.identity()?, reader.sources()?);
        (found, names.iter().map(|name| source_id(&identity, name, &known)).collect::<Vec<_>>())
    };
    // Whoever takes the locks finishes or undoes what it finds.
    drop(context.target.writer(&ids, wait)?);
    Ok(found)
}
