//! The operation log of one resource, read as a story: others wrote a field, an apply wrote it back.

use super::blame::Who;
use crate::base::clock::Moment;
use crate::base::pointer::Pointer;
use crate::target::LogLine;

/// A time in which somebody outside had written a field, up to the apply that wrote it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode {
    /// Who wrote it last.
    pub by: Who,
    /// When it was first written.
    pub since: Moment,
    /// When it was last written.
    pub at: Moment,
    /// When an apply wrote it again; `None` while it stands.
    pub repaired: Option<Moment>,
}

/// What one line of the log did to a field.
enum Deed {
    Wrote,
    /// The object was made anew by an apply: whatever was before is over.
    Ended,
    Nothing,
}

/// Every episode of a field, oldest first; the root pointer stands for the object as a whole. `log` is newest first.
pub fn episodes(log: &[LogLine], path: &Pointer) -> Vec<Episode> {
    let mut all: Vec<Episode> = Vec::new();
    for line in log.iter().rev() {
        let open = all.last_mut().filter(|episode| episode.repaired.is_none());
        match (deed(line, path), line.applied, open) {
            (Deed::Wrote | Deed::Ended, true, Some(open)) => open.repaired = Some(line.at),
            (Deed::Wrote, false, Some(open)) => (open.by, open.at) = (Who::of(line), line.at),
            (Deed::Wrote, false, None) => {
                all.push(Episode { by: Who::of(line), since: line.at, at: line.at, repaired: None });
            }
            _ => {}
        }
    }
    all
}

fn deed(line: &LogLine, path: &Pointer) -> Deed {
    let whole = matches!(line.operation.as_str(), "created" | "replaced" | "deleted");
    match (whole, path.is_root()) {
        (true, true) => Deed::Wrote,
        (true, false) if line.applied => Deed::Ended,
        // Who made the object by hand wrote all of its fields.
        (true, false) if line.operation != "deleted" => Deed::Wrote,
        (false, false) if line.fields.iter().any(|field| field.overlaps(path)) => Deed::Wrote,
        _ => Deed::Nothing,
    }
}
