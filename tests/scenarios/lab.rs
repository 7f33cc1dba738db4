//! A hermetic place to try the built program in: repositories, a configuration and a target of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// One configuration folder with its own home and cache; repositories may be shared.
pub struct Lab {
    folder: tempfile::TempDir,
}

/// A git repository that commits what it is given.
pub struct Repo {
    pub folder: PathBuf,
}

/// What one command said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        self.exits(0)
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("no JSON ({e}):\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }

    pub fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

pub fn hermetic(command: &mut Command, home: &Path) {
    command.env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("XDG_CACHE_HOME", home.join("cache")).env("TMPDIR", std::env::temp_dir());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_AUTHOR_NAME", "lab").env("GIT_AUTHOR_EMAIL", "lab@example.com");
    command.env("GIT_COMMITTER_NAME", "lab").env("GIT_COMMITTER_EMAIL", "lab@example.com");
    command.env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z").env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
    command.env("TZ", "UTC").env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").env("USER", "lab").env("LOGNAME", "lab");
}

impl Lab {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn repo(&self, name: &str) -> Repo {
        let folder = self.path().join(name);
        fs::create_dir(&folder).unwrap();
        let repo = Repo { folder };
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// Writes holdfast.yaml: these Source documents, and an embedded target in this folder.
    pub fn configure(&self, sources: &[String]) {
        let mut text = sources.join("---\n");
        text.push_str("---\napiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: local\nspec:\n");
        text.push_str("  embedded: {path: .holdfast/control-plane.db}\n");
        fs::write(self.path().join("holdfast.yaml"), text).unwrap();
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
        hermetic(&mut command, self.path());
        command.current_dir(self.path()).args(args).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    /// A plan as JSON; it must succeed.
    #[track_caller]
    pub fn plan(&self, args: &[&str]) -> Value {
        let mut all = vec!["plan", "-o", "json"];
        all.extend(args);
        self.run(&all).ok().json()
    }

    /// Plans and applies; it must succeed. Gives the receipt.
    #[track_caller]
    pub fn apply(&self, args: &[&str]) -> Value {
        let mut all = vec!["apply", "--yes", "-o", "json"];
        all.extend(args);
        self.run(&all).ok().json()
    }

    /// A live object; `None` if there is none.
    #[track_caller]
    pub fn live(&self, id: &str) -> Option<Value> {
        let said = self.run(&["object", "get", id, "-o", "json"]);
        match said.code {
            0 => Some(said.json()),
            1 => None,
            _ => panic!("{said:?}"),
        }
    }

    /// Every live object, as somebody outside would list them.
    pub fn dump(&self) -> Value {
        self.run(&["object", "list", "-o", "json"]).ok().json()
    }

    /// Writes an object by hand.
    #[track_caller]
    pub fn put(&self, actor: &str, object: &str) {
        let file = self.path().join("by-hand.yaml");
        fs::write(&file, object).unwrap();
        self.run(&["object", "put", file.to_str().unwrap(), "--as", actor]).ok();
    }

    /// Changes a live object by hand, whatever others write meanwhile.
    #[track_caller]
    pub fn by_hand(&self, actor: &str, id: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.live(id).unwrap();
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        change(&mut object);
        self.put(actor, &object.to_string());
    }

    pub fn database(&self) -> PathBuf {
        self.path().join(".holdfast/control-plane.db")
    }
}

impl Repo {
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        hermetic(&mut command, &self.folder);
        let output = command.args(args).current_dir(&self.folder).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Copies the manifests of a real project in.
    pub fn copy_real(&self, set: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(set);
        let mut folders: Vec<PathBuf> = vec![from.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let inside = path.strip_prefix(&from).unwrap().to_str().unwrap();
                    self.write(inside, fs::read(&path).unwrap());
                }
            }
        }
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.folder.join(path)).unwrap();
    }

    /// Commits everything; gives the commit ID.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A Source document for this repository; `spec` are further lines, indented by two blanks.
    pub fn source(&self, name: &str, spec: &str) -> String {
        source(&self.folder.display().to_string(), name, spec)
    }
}

/// A Source document for a repository; `spec` are further lines, indented by two blanks.
pub fn source(url: &str, name: &str, spec: &str) -> String {
    format!(
        "apiVersion: holdfast.dev/v1\nkind: Source\nmetadata:\n  name: {name}\nspec:\n  repository: {url}\n  ref: main\n{spec}\n"
    )
}

/// So many ConfigMaps of some 2000 bytes each.
pub fn many(name: &str, count: usize) -> String {
    let text = "v".repeat(2000);
    let object =
        |n| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-{n}}}\ndata: {{v: {text}}}\n---\n");
    (0..count).map(object).collect()
}

/// The Changes of a plan with this action, as `Kind/namespace/name`.
pub fn changes(plan: &Value, action: &str) -> Vec<String> {
    let all = plan["changes"].as_array().unwrap();
    all.iter().filter(|c| c["action"] == action).map(|c| id(&c["id"])).collect()
}

pub fn id(id: &Value) -> String {
    let mut text = id["kind"].as_str().unwrap().to_owned();
    if let Some(group) = id["group"].as_str().filter(|g| !g.is_empty()) {
        text.push('.');
        text.push_str(group);
    }
    if let Some(namespace) = id["namespace"].as_str() {
        text.push('/');
        text.push_str(namespace);
    }
    text.push('/');
    text.push_str(id["name"].as_str().unwrap());
    text
}

/// The one Change of a resource.
pub fn change<'p>(plan: &'p Value, resource: &str) -> &'p Value {
    let all = plan["changes"].as_array().unwrap();
    let mut found = all.iter().filter(|c| id(&c["id"]) == resource);
    let one = found.next().unwrap_or_else(|| panic!("no change of {resource} in {plan:#}"));
    assert!(found.next().is_none());
    one
}
