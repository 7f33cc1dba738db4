//! One fresh target with fresh repositories, and the command line over both.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{self, Output, Running};
use crate::expected::{Case, SourceSpec};
use crate::ids::Id;
use crate::lab::Lab;
use crate::never::Never;
use crate::repository::{Repository, Templates};
use crate::verdict::{Done, Stop};

/// A plan file, and how it was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    /// The file.
    pub(crate) file: PathBuf,
    /// The permissions, to be given again at the apply.
    pub(crate) permissions: Vec<String>,
    /// The target that it was planned for, where the case has several.
    pub(crate) target: Option<String>,
    /// The Sources that were planned.
    pub(crate) sources: Vec<String>,
}

/// What a step asks of holdfast.yaml.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config<'a> {
    /// The target, where the case has several.
    pub(crate) target: Option<&'a str>,
    /// The Sources that are configured; all by default.
    pub(crate) sources: Option<&'a [String]>,
    /// Fields in place of those of the planned Sources.
    pub(crate) with: Option<(&'a [String], &'a SourceSpec)>,
}

/// A fresh target with fresh repositories.
pub(crate) struct World<'a> {
    /// The laboratory.
    pub(crate) lab: &'a Lab,
    /// The case.
    pub(crate) case: &'a Case,
    /// Its folder.
    pub(crate) case_path: &'a Path,
    folder: TempDir,
    never: Never,
    repositories: BTreeMap<String, Repository>,
    /// Plans by the name that a step gave them.
    pub(crate) plans: BTreeMap<String, Saved>,
    /// The plan made last.
    pub(crate) latest: Option<Saved>,
    /// The objects as last seen; none after a write.
    pub(crate) seen: RefCell<Option<Value>>,
    serial: Cell<usize>,
    target: RefCell<String>,
}

impl<'a> World<'a> {
    /// Makes a world with the repositories and Namespaces of the case.
    pub(crate) fn fresh(lab: &'a Lab, case: &'a Case, case_path: &'a Path, templates: &Templates) -> Done<Self> {
        let mut world = Self::empty(lab, case, case_path)?;
        world.repositories = templates.copy(world.folder.path())?;
        world.make_namespaces()?;
        Ok(world)
    }

    /// Makes a world with the Namespaces of the case and an empty repository.
    pub(crate) fn with_empty_repository(lab: &'a Lab, case: &'a Case, case_path: &'a Path) -> Done<Self> {
        let mut world = Self::empty(lab, case, case_path)?;
        let repository = Repository::init(world.folder.path())?;
        world.repositories.insert(String::new(), repository);
        world.make_namespaces()?;
        Ok(world)
    }

    fn empty(lab: &'a Lab, case: &'a Case, case_path: &'a Path) -> Done<Self> {
        let folder = lab.folder(&case.case)?;
        for name in ["work", "plans", "files"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        Ok(Self {
            lab,
            case,
            case_path,
            folder,
            never: Never::of(case),
            repositories: BTreeMap::new(),
            plans: BTreeMap::new(),
            latest: None,
            seen: RefCell::new(None),
            serial: Cell::new(0),
            target: RefCell::new(String::new()),
        })
    }

    fn make_namespaces(&self) -> Done {
        if let Some(cluster) = self.lab.cluster() {
            cluster.empty();
        }
        let mut targets = self.case.targets();
        if targets.is_empty() {
            targets.push(String::new());
        }
        for target in targets.iter().filter(|_| !self.case.namespaces.is_empty()) {
            self.configure(Config { target: Some(target.as_str()).filter(|t| !t.is_empty()), ..Config::default() })?;
            let namespace = |name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let documents: Vec<Value> = self.case.namespaces.iter().map(namespace).collect();
            let file = self.file("namespaces.yaml", &yaml(&documents)?)?;
            self.put(&[file], "cases")?;
        }
        Ok(())
    }

    /// The repository of a Source.
    pub(crate) fn repository_of(&self, source: &str) -> Done<&Repository> {
        let folder = self.case.sources.get(source).and_then(|spec| spec.repository.clone()).unwrap_or_default();
        self.repository(&folder)
    }

    /// The repository made of a folder of the case; "" is the case itself.
    pub(crate) fn repository(&self, folder: &str) -> Done<&Repository> {
        self.repositories.get(folder).ok_or_else(|| Stop::Failed(format!("no repository {folder:?}")))
    }

    fn next(&self) -> usize {
        self.serial.set(self.serial.get() + 1);
        self.serial.get()
    }

    /// A new path for a plan file.
    pub(crate) fn plan_file(&self) -> PathBuf {
        self.folder.path().join("plans").join(format!("{}.plan.json", self.next()))
    }

    /// Writes a file for the target or for an apply.
    pub(crate) fn file(&self, name: &str, text: &str) -> Done<PathBuf> {
        let path = self.folder.path().join("files").join(format!("{}-{name}", self.next()));
        std::fs::write(&path, text)?;
        Ok(path)
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn store(&self) -> PathBuf {
        let target = self.target.borrow();
        let name = if target.is_empty() { "control-plane" } else { target.as_str() };
        PathBuf::from(".holdfast").join(format!("{name}.db"))
    }

    /// Tells whether the target's store is there yet.
    pub(crate) fn has_store(&self) -> bool {
        self.lab.cluster().is_some() || self.work().join(self.store()).exists()
    }

    /// The files of the store with their sizes and times, to notice a write.
    pub(crate) fn store_state(&self) -> Vec<(std::ffi::OsString, u64, Option<std::time::SystemTime>)> {
        let folder = self.work().join(".holdfast");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((entry.file_name(), metadata.len(), metadata.modified().ok()))
            })
            .collect();
        files.sort();
        files
    }

    /// Writes holdfast.yaml.
    pub(crate) fn configure(&self, config: Config<'_>) -> Done {
        let target = config.target.unwrap_or_default().to_lowercase();
        if *self.target.borrow() != target {
            *self.seen.borrow_mut() = None;
        }
        *self.target.borrow_mut() = target.clone();
        let name = if target.is_empty() { "local" } else { &target };
        let mut documents = vec![json!({
            "apiVersion": "holdfast.dev/v1", "kind": "Target", "metadata": {"name": name},
            "spec": match self.lab.cluster() {
                None => json!({"embedded": {"path": self.store()}}),
                Some(cluster) => json!({"kubernetes": {
                    "kubeconfig": cluster.kubeconfig(), "stateNamespace": format!("holdfast-{name}"),
                }}),
            },
        })];
        for (source, spec) in &self.case.sources {
            if config.sources.is_some_and(|named| !named.contains(source)) {
                continue;
            }
            let spec = match config.with {
                Some((planned, with)) if planned.contains(source) => spec.replaced(with),
                _ => spec.clone(),
            };
            let mut body = serde_json::to_value(&spec).map_err(|error| error.to_string())?;
            body["repository"] = json!(self.repository_of(source)?.path());
            body["ref"] = json!("main");
            if self.lab.cluster().is_some() {
                // Nothing runs the Pods, so that no workload becomes healthy.
                body["healthTimeout"] = json!("0s");
            }
            documents.push(json!({
                "apiVersion": "holdfast.dev/v1", "kind": "Source", "metadata": {"name": source}, "spec": body,
            }));
        }
        let text = yaml(&documents)?;
        std::fs::write(self.work().join("holdfast.yaml"), text)?;
        Ok(())
    }

    /// A command line of the tool, ready to be started.
    pub(crate) fn prepared(&self, args: &[String], env: &[(&str, &str)]) -> Prepared {
        let mut holdfast = command::hermetic(self.lab.binary(), self.folder.path(), &self.work());
        holdfast.args(args).envs(env.iter().copied());
        if self.lab.cluster().is_some() {
            // Nobody waits half a minute for each holder that a case kills.
            holdfast.env("HOLDFAST_LEASE", "6");
        }
        if !self.never.is_empty() && args.first().is_some_and(|first| first != "object") {
            holdfast.arg("-v");
        }
        Prepared { command: holdfast, outputs: self.folder.path().to_owned(), name: format!("out-{}", self.next()) }
    }

    /// Runs the tool, and searches what it says for what it may never say.
    pub(crate) fn holdfast(&self, args: &[String]) -> Done<Output> {
        let output = self.prepared(args, &[]).start()?.finish()?;
        if args.first().is_some_and(|first| first != "object") {
            self.heard(&output)?;
        }
        Ok(output)
    }

    /// Searches an output for what it may never have.
    pub(crate) fn heard(&self, output: &Output) -> Done {
        self.searched(&format!("stdout of {}", output.line), &output.stdout)?;
        self.searched(&format!("stderr of {}", output.line), &output.stderr)
    }

    /// Searches a text for what it may never have.
    pub(crate) fn searched(&self, what: &str, text: &str) -> Done {
        match self.never.found_in(text) {
            Some(found) => Err(Stop::Failed(format!("{what} has {found}"))),
            None => Ok(()),
        }
    }

    /// Tells whether the case forbids texts.
    pub(crate) fn has_secrets(&self) -> bool {
        !self.never.is_empty()
    }

    /// The commit applied of a Source, as the tool tells.
    pub(crate) fn last_applied(&self, source: &str) -> Done<Option<String>> {
        let words: &[&str] = if self.lab.has(&["status"])? { &["status"] } else { &["source", "list"] };
        let document = self.json_of(words)?;
        Ok(crate::reading::applied_commit(&document, source))
    }

    /// Runs a reading command with `-o json`; it must exit 0.
    pub(crate) fn json_of(&self, words: &[&str]) -> Done<Value> {
        let mut args = strings(words);
        args.extend(strings(&["-o", "json"]));
        let output = self.holdfast(&args)?;
        if output.code != Some(0) {
            return Err(Stop::Failed(format!("{}: {}", output.line, output.brief())));
        }
        Ok(output.json()?)
    }

    /// Puts files on the target by hand.
    pub(crate) fn put(&self, files: &[PathBuf], actor: &str) -> Done {
        if let Some(cluster) = self.lab.cluster() {
            *self.seen.borrow_mut() = None;
            return cluster.put(files, actor);
        }
        let mut args = strings(&["object", "put"]);
        args.extend(files.iter().map(|file| file.to_string_lossy().into_owned()));
        self.by_hand(args, actor)
    }

    /// Deletes objects by hand.
    pub(crate) fn delete(&self, ids: &[Id], actor: &str) -> Done {
        if let Some(cluster) = self.lab.cluster() {
            *self.seen.borrow_mut() = None;
            return cluster.delete(ids);
        }
        let mut args = strings(&["object", "delete"]);
        args.extend(ids.iter().map(Id::on_command_line));
        self.by_hand(args, actor)
    }

    fn by_hand(&self, mut args: Vec<String>, actor: &str) -> Done {
        *self.seen.borrow_mut() = None;
        args.extend(strings(&["--as", actor]));
        let output = self.holdfast(&args)?;
        if output.code == Some(0) { Ok(()) } else { Err(Stop::Failed(format!("{}: {}", output.line, output.brief()))) }
    }

    /// Every object, the built-in ones too where that is asked for.
    pub(crate) fn objects(&self, system: bool) -> Done<Value> {
        match self.lab.cluster() {
            Some(cluster) => Ok(cluster.all()),
            None if system => self.json_of(&["object", "list", "--system"]),
            None => self.json_of(&["object", "list"]),
        }
    }

    /// A live object; `None` if there is no such object.
    pub(crate) fn get(&self, id: &Id) -> Done<Option<Value>> {
        if let Some(cluster) = self.lab.cluster() {
            return cluster.get(id);
        }
        let output = self.holdfast(&strings(&["object", "get", &id.on_command_line(), "-o", "json"]))?;
        match output.code {
            Some(0) => Ok(Some(output.json()?)),
            Some(1) => Ok(None),
            _ => Err(Stop::Failed(format!("{}: {}", output.line, output.brief()))),
        }
    }
}

/// A command that can be started from any thread.
pub(crate) struct Prepared {
    command: Command,
    outputs: PathBuf,
    name: String,
}

impl Prepared {
    /// Starts it.
    pub(crate) fn start(&mut self) -> std::io::Result<Running> {
        command::start(&mut self.command, &self.outputs, &self.name)
    }
}

/// Documents as one YAML text.
pub(crate) fn yaml(documents: &[Value]) -> Result<String, String> {
    let texts: Result<Vec<String>, _> = documents.iter().map(serde_yaml::to_string).collect();
    texts.map(|texts| texts.join("---\n")).map_err(|error| error.to_string())
}

/// Owned arguments.
pub(crate) fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
