//! A database in a folder of its own, and children of this test binary.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use holdfast::target::TargetError;
use holdfast::target::sqlite::{Access, Embedded, Options, Put};
use serde_json::Value;

use crate::conformance::build::{at, namespace};

pub(crate) struct Store {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) target: Embedded,
}

pub(crate) fn options(access: Access) -> Options {
    Options { access, wait: Duration::from_secs(20), now: at(0) }
}

impl Store {
    /// A new database with the Namespace `shop`.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let target = Embedded::open(&folder.path().join("db/cp.db"), options(Access::Create)).unwrap();
        let store = Self { folder, target };
        store.put("admin", &namespace("shop")).unwrap();
        store
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("db/cp.db")
    }

    pub(crate) fn reopen(&self, access: Access) -> Result<Embedded, TargetError> {
        Embedded::open(&self.path(), options(access))
    }

    pub(crate) fn put(&self, actor: &str, object: &Value) -> Result<Vec<Put>, TargetError> {
        self.target.hand(actor).put(std::slice::from_ref(object), at(0))
    }
}

/// The command that runs one ignored test of this binary in a folder; that test reads its task there.
pub(crate) fn child(test: &str, folder: &std::path::Path, task: &Value) -> Command {
    std::fs::write(folder.join("task.json"), task.to_string()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The task of this child; `None` if nobody gave one.
pub(crate) fn task() -> Option<Value> {
    let text = std::fs::read_to_string("task.json").ok()?;
    serde_json::from_str(&text).ok()
}

/// Waits until a child has printed a line that contains a text.
pub(crate) fn wait_for(child: &mut Child, text: &str) {
    use std::io::BufRead as _;
    let lines = std::io::BufReader::new(child.stdout.as_mut().unwrap()).lines();
    for line in lines {
        if line.unwrap().contains(text) {
            return;
        }
    }
    panic!("the child ended without {text}");
}
