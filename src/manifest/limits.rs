//! How much a commit may ask of the reader. Each limit refuses with its own text, under `size-limit`.

/// Bounds of what is read. What goes over one is refused, never cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file. The largest released bundles of CRDs have about 5 MiB.
    pub file_bytes: usize,
    /// Mappings and lists inside each other, the document's own counted.
    pub depth: usize,
    /// Nodes that aliases may add to one file.
    pub alias_nodes: usize,
    /// Bytes of text that aliases may add to one file.
    pub alias_bytes: usize,
    /// Objects in one file, the items of lists counted.
    pub documents_per_file: usize,
    /// Faults that are listed for one file; the rest is counted in a last one.
    pub faults_per_file: usize,
    /// Manifest files of one commit.
    pub files: usize,
    /// Objects of one commit.
    pub documents: usize,
    /// Bytes of all manifest files together.
    pub total_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 16 << 20,
            depth: 200,
            alias_nodes: 200_000,
            alias_bytes: 16 << 20,
            documents_per_file: 20_000,
            faults_per_file: 200,
            files: 200_000,
            documents: 500_000,
            total_bytes: 1 << 30,
        }
    }
}
