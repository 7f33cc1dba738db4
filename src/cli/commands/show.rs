//! `holdfast show PLAN`: needs no target and no repository.

use std::path::Path;

use super::{PLAN_FORMATS, plan_text};
use crate::cli::args::Global;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;
use crate::cli::{invocation, planfile};

/// Shows a saved plan again.
pub(crate) fn run(path: &Path, global: &Global, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(PLAN_FORMATS)?;
    let plan = planfile::read(path)?;
    let next = invocation::apply(global, &plan, &[planfile::argument(path)], None);
    output.data(&plan_text(&plan, format, output.color(), Some(&next))?)?;
    Ok(Exit::Done)
}
