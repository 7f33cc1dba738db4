//! Plan files on disk.

use std::error::Error as _;
use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::Path;

use super::exit::{Failure, Stop};
use crate::plan::document::PlanDocument;
use crate::plan::stored;

/// Bytes that are written at a time.
const BUFFER: usize = 256 << 10;

/// Reads a plan file, of which no more than its largest size is ever read.
///
/// # Errors
/// If it can't be read, or isn't what was saved.
pub(crate) fn read(path: &Path) -> Result<PlanDocument, Stop> {
    let failed = |e: std::io::Error| {
        Failure::refused(format!("the plan {} can't be read: {e}", path.display()))
            .hint("name a file that holdfast plan --out FILE has saved")
    };
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(Failure::refused(format!("the plan {} is no file", path.display())).into());
    }
    let mut bytes = Vec::new();
    let limit = stored::MAX_BYTES as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    Ok(stored::read(&bytes)?)
}

/// Saves a plan: whole or not at all, readable by its owner alone.
///
/// # Errors
/// If it can't be written; whatever was there stays.
pub(crate) fn write(path: &Path, plan: &PlanDocument) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The system's word without the name that the file has until it is whole.
    let failed = |e: std::io::Error| {
        let why = e.source().map_or_else(|| e.to_string(), ToString::to_string);
        Failure::refused(format!("the plan can't be saved as {}: {why}", path.display())).hint("nothing was saved")
    };
    if !folder.is_dir() {
        let text = format!("the plan can't be saved as {}: there is no folder {}", path.display(), folder.display());
        return Err(Failure::refused(text).hint("make the folder first; nothing was saved"));
    }
    let file = tempfile::Builder::new().prefix(".holdfast-plan-").tempfile_in(folder).map_err(failed)?;
    let mut buffer = BufWriter::with_capacity(BUFFER, file);
    stored::write_to(plan, &mut buffer).map_err(failed)?;
    let file = buffer.into_inner().map_err(|e| failed(e.into_error()))?;
    // Not synced: that takes longer than the plan. One that a power cut left short is refused, and soon made anew.
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Whether an argument names a plan file and no Source: a PLAN has a `.` or `/` in its name, a SOURCE neither.
pub(crate) fn is_plan(argument: &str) -> bool {
    argument.contains(['.', '/'])
}

/// A path as an argument that names a plan, whatever the file is called.
pub(crate) fn argument(path: &Path) -> String {
    let text = path.display().to_string();
    if is_plan(&text) { text } else { format!("./{text}") }
}
