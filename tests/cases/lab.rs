//! What all cases share: the binary, the bank, and which commands this build has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::command;
use crate::expected::Case;
use crate::verdict::{Done, Stop};

/// The bank and the binary.
pub(crate) struct Lab {
    binary: PathBuf,
    mkrepo: PathBuf,
    scratch: TempDir,
    known: Mutex<BTreeMap<String, bool>>,
    cluster: Option<Cluster>,
    /// The seed of all that is random.
    pub(crate) seed: u64,
    /// How often a case is performed at most.
    pub(crate) most: usize,
}

/// A folder with an `expected.json`.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The case's name.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What is expected, or why that can't be read.
    pub(crate) expected: Result<Case, String>,
}

/// All case folders of a bank, by name.
pub(crate) fn folders(bank: &Path) -> Result<Vec<Folder>, String> {
    let entries = std::fs::read_dir(bank).map_err(|error| format!("{}: {error}", bank.display()))?;
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let file = path.join("expected.json");
        if !file.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()));
        let expected = text.and_then(|text| Case::read(&name, &text));
        folders.push(Folder { name, path, expected });
    }
    folders.sort_by(|a, b| a.name.cmp(&b.name));
    if folders.is_empty() { Err(format!("{}: no folder with an expected.json", bank.display())) } else { Ok(folders) }
}

impl Lab {
    /// A laboratory for a binary; `mkrepo` turns case folders into repositories.
    pub(crate) fn new(binary: PathBuf, mkrepo: PathBuf, seed: u64, cluster: Option<Cluster>) -> std::io::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("holdfast-cases-").tempdir()?;
        Ok(Self { binary, mkrepo, scratch, known: Mutex::new(BTreeMap::new()), cluster, seed, most: usize::MAX })
    }

    /// The cluster that is the target; `None` where the embedded control plane is.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// The binary under test.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// The script that makes repositories.
    pub(crate) fn mkrepo(&self) -> &Path {
        &self.mkrepo
    }

    /// A new folder for one world or one template, removed when dropped.
    pub(crate) fn folder(&self, name: &str) -> std::io::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(self.scratch.path())?;
        std::fs::create_dir(folder.path().join("tmp"))?;
        Ok(folder)
    }

    /// Tells whether this build has a command: `COMMAND --help` exits 2 where it is unknown.
    pub(crate) fn has(&self, words: &[&str]) -> Done<bool> {
        let name = words.join(" ");
        let mut known = self.known.lock().map_err(|_| "a case panicked".to_owned())?;
        if let Some(has) = known.get(&name) {
            return Ok(*has);
        }
        let folder = self.folder("probe")?;
        let mut help = command::hermetic(&self.binary, folder.path(), folder.path());
        let output = command::run(help.args(words).arg("--help"), folder.path(), "help")?;
        let has = match output.code {
            Some(0) => true,
            Some(2) => false,
            _ => return Err(Stop::Failed(format!("{}: {}", output.line, output.brief()))),
        };
        known.insert(name, has);
        Ok(has)
    }

    /// Stops the course where this build lacks a command.
    pub(crate) fn need(&self, words: &[&str]) -> Done {
        if self.has(words)? { Ok(()) } else { Err(Stop::Missing(words.join(" "))) }
    }
}
