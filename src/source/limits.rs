//! Bounds on what a repository may be: whatever is outside is hostile.

use std::time::Duration;

/// How much of a repository is taken in before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a fetch may take.
    pub deadline: Duration,
    /// Most bytes of one fetch.
    pub bytes: u64,
    /// Most objects of one fetch.
    pub objects: u64,
    /// Most entries of the trees under a Source's path.
    pub tree_entries: usize,
    /// Deepest folder under a Source's path.
    pub path_depth: usize,
    /// Most bytes of one file that is read.
    pub file_bytes: u64,
    /// Most bytes of all files that are read together.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(120),
            bytes: 4 << 30,
            objects: 50_000_000,
            tree_entries: 1_000_000,
            path_depth: 64,
            file_bytes: 16 << 20,
            total_bytes: 1 << 30,
        }
    }
}
