//! Finds and reads the configuration.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::args::Global;
use super::env::Env;
use super::exit::{Failure, Stop};
use crate::base::ids::SourceName;
use crate::source::config::{Config, ConfigFile, MAX_FILE, parse_repo_path, read_config_files};
use crate::source::refs::RefSpec;
use crate::source::scope::Namespaces;
use crate::source::spec::SourceSpec;
use crate::source::url::RepositoryUrl;

/// The file's usual name.
pub(crate) const FILE_NAME: &str = "holdfast.yaml";

/// A configuration and where it came from.
#[derive(Debug)]
pub(crate) struct Found {
    /// What it says.
    pub config: Config,
    /// For messages.
    pub origin: String,
    /// The folder that its target's default path starts at.
    pub base: PathBuf,
}

/// Finds the configuration: `--repository` alone, else `-f`, else `HOLDFAST_CONFIG`, else `holdfast.yaml` here or above.
pub(crate) fn find(global: &Global, env: &Env) -> Result<Found, Stop> {
    if let Some(repository) = &global.repository {
        return Ok(from_flags(repository, global, env)?);
    }
    if let Some(asked) = &global.file {
        if let Some(rest) = asked.strip_prefix("git:") {
            return from_git(rest, env);
        }
        return read(&env.folder.join(asked));
    }
    if let Some(path) = &env.config {
        return read(&env.folder.join(path));
    }
    for folder in searched(&env.folder) {
        let path = folder.join(FILE_NAME);
        if path.exists() {
            safe(folder)?;
            return read(&path);
        }
    }
    Err(Failure::refused(format!("there is no {FILE_NAME} here or above, up to the repository's top"))
        .hint("write one with holdfast init, name one with -f, or describe a Source with --repository")
        .into())
}

/// The present folder and those above it up to the repository's top; outside a repository the present folder alone.
fn searched(here: &Path) -> Vec<&Path> {
    match here.ancestors().position(|folder| folder.join(".git").exists()) {
        Some(top) => here.ancestors().take(top + 1).collect(),
        None => vec![here],
    }
}

/// A file in a folder that others can write, or that is somebody else's, may be anybody's.
fn safe(folder: &Path) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::refused(format!("{}: {e}", folder.display()));
    let meta = fs::metadata(folder).map_err(failed)?;
    // A new file is the effective user's; there is no safer way to ask without a call to the C library.
    let me = tempfile::tempfile().and_then(|file| file.metadata()).map_err(failed)?.uid();
    let own = meta.uid() == me || meta.uid() == 0;
    // A group of one's own is named as one's user on the usual systems.
    let shared = meta.mode() & 0o002 != 0 || (meta.mode() & 0o020 != 0 && meta.gid() != meta.uid());
    if own && !shared {
        return Ok(());
    }
    let why = if own { "can be written by others" } else { "belongs to another user" };
    Err(Failure::refused(format!("{} {why}, so its {FILE_NAME} is not used unasked", folder.display()))
        .hint("name it with -f if you trust it"))
}

fn read(path: &Path) -> Result<Found, Stop> {
    let files = if path.is_dir() { folder_files(path)? } else { vec![path.to_owned()] };
    let base = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) }.to_owned();
    let mut texts = Vec::new();
    for file in &files {
        texts.push((file.display().to_string(), text(file)?));
    }
    let origin = match files.as_slice() {
        [one] => one.display().to_string(),
        _ => path.display().to_string(),
    };
    parse(&texts, &base, origin)
}

fn parse(texts: &[(String, String)], base: &Path, origin: String) -> Result<Found, Stop> {
    let files: Vec<ConfigFile<'_>> = texts.iter().map(|(name, text)| ConfigFile { name, text, base }).collect();
    match read_config_files(&files) {
        Ok(config) => Ok(Found { config, origin, base: base.to_owned() }),
        Err(faults) => Err(faults.into()),
    }
}

fn folder_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let usual = folder.join(FILE_NAME);
    if usual.exists() {
        return Ok(vec![usual]);
    }
    let failed = |e: std::io::Error| Failure::refused(format!("{}: {e}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::refused(format!("{} has no {FILE_NAME} and no other .yaml file", folder.display())));
    }
    Ok(files)
}

fn text(path: &Path) -> Result<String, Failure> {
    let failed = |e: std::io::Error| Failure::refused(format!("{} can't be read: {e}", path.display()));
    let size = fs::metadata(path).map_err(failed)?.len();
    if size > MAX_FILE as u64 {
        return Err(Failure::refused(format!("{} has {size} bytes; {MAX_FILE} are read", path.display())));
    }
    fs::read_to_string(path).map_err(failed)
}

/// `-f git:REF:PATH`: from a commit of the repository around the present folder.
fn from_git(rest: &str, env: &Env) -> Result<Found, Stop> {
    let Some((reference, path)) = rest.split_once(':') else {
        return Err(Failure::usage("-f git: needs git:REF:PATH").into());
    };
    let file = crate::source::worktree::read_file(&env.folder, reference, path, MAX_FILE)
        .map_err(|e| Failure::refused(format!("{path} at {reference} can't be read: {e}")))?;
    let name = format!("git:{reference}:{path}");
    let base = file.top.join(path).parent().map_or_else(|| file.top.clone(), Path::to_owned);
    let text = String::from_utf8(file.bytes).map_err(|_| Failure::refused(format!("{name} is not UTF-8")))?;
    parse(&[(name.clone(), text)], &base, format!("{name} ({})", file.commit))
}

/// One Source and its target, from flags alone.
fn from_flags(repository: &str, global: &Global, env: &Env) -> Result<Found, Failure> {
    let bad = |what: &str, e: &dyn std::fmt::Display| Failure::usage(format!("{what}: {e}"));
    let url = RepositoryUrl::parse(repository, &env.folder).map_err(|e| bad("--repository", &e))?;
    let name = global.source.as_deref().ok_or_else(|| Failure::usage("--repository needs --source NAME too"))?;
    let name = SourceName::parse(name).map_err(|e| bad("--source", &e))?;
    if global.namespace.is_empty() {
        return Err(Failure::usage("--repository needs --namespace too: what the Source may write"));
    }
    let namespaces = if global.namespace == ["*"] {
        Namespaces::Any
    } else {
        Namespaces::Some(global.namespace.iter().cloned().collect())
    };
    let mut spec = SourceSpec::new(name, url, namespaces);
    if let Some(text) = &global.reference {
        spec.ref_ = RefSpec::parse(text).map_err(|e| bad("--ref", &e))?;
    }
    if let Some(text) = &global.path {
        spec.path = parse_repo_path(text)
            .ok_or_else(|| Failure::usage(format!("--path: {text:?} is no path in a repository")))?;
    }
    let config = Config { sources: vec![spec], targets: Vec::new(), origin: Vec::new() };
    Ok(Found { config, origin: "the command line".to_owned(), base: env.folder.clone() })
}
