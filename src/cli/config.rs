//! Finds and reads the configuration.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::args::Global;
use super::env::Env;
use super::exit::Failure;
use crate::admission::Rejection;
use crate::base::ids::SourceName;
use crate::source::config::{Config, ConfigFile, MAX_FILE, parse_repo_path, read_config_files};
use crate::source::refs::RefSpec;
use crate::source::scope::Namespaces;
use crate::source::spec::SourceSpec;
use crate::source::url::RepositoryUrl;

/// The file's usual name.
pub const FILE_NAME: &str = "holdfast.yaml";

/// A configuration and where it came from.
#[derive(Debug)]
pub struct Found {
    /// What it says.
    pub config: Config,
    /// For messages.
    pub origin: String,
    /// The folder that its target's default path starts at.
    pub base: PathBuf,
}

/// Why there is no configuration.
pub enum NoConfig {
    /// It can't be found or read.
    Failure(Failure),
    /// It has faults.
    Rejected(Box<Rejection>),
}

impl From<Failure> for NoConfig {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Finds the configuration: `--repository` alone, else `-f`, else `HOLDFAST_CONFIG`, else `holdfast.yaml` here or above.
pub fn find(global: &Global, env: &Env) -> Result<Found, NoConfig> {
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
    for folder in env.folder.ancestors() {
        let path = folder.join(FILE_NAME);
        if path.exists() {
            safe(folder)?;
            return read(&path);
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    Err(Failure::refused(format!("there is no {FILE_NAME} here or above, up to the repository's top"))
        .hint("write one with holdfast init, name one with -f, or describe a Source with --repository")
        .into())
}

/// A file in a folder that others can write may be anybody's.
fn safe(folder: &Path) -> Result<(), Failure> {
    let meta = fs::metadata(folder).map_err(|e| Failure::refused(format!("{}: {e}", folder.display())))?;
    if meta.mode() & 0o022 == 0 || meta.mode() & 0o022 == 0o020 && meta.gid() == meta.uid() {
        return Ok(());
    }
    Err(Failure::refused(format!("{} can be written by others, so its {FILE_NAME} is not read", folder.display()))
        .hint("name it with -f if you trust it, or take the write permission away"))
}

fn read(path: &Path) -> Result<Found, NoConfig> {
    let files = if path.is_dir() { folder_files(path)? } else { vec![path.to_owned()] };
    let base = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) }.to_owned();
    let mut texts = Vec::new();
    for file in &files {
        texts.push((file.display().to_string(), text(file)?));
    }
    parse(&texts, &base, path.display().to_string())
}

fn parse(texts: &[(String, String)], base: &Path, origin: String) -> Result<Found, NoConfig> {
    let files: Vec<ConfigFile<'_>> = texts.iter().map(|(name, text)| ConfigFile { name, text, base }).collect();
    match read_config_files(&files) {
        Ok(config) => Ok(Found { config, origin, base: base.to_owned() }),
        Err(faults) => {
            let mut rejection = Rejection::new();
            for fault in faults {
                rejection.push(fault);
            }
            Err(NoConfig::Rejected(Box::new(rejection)))
        }
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
fn from_git(rest: &str, env: &Env) -> Result<Found, NoConfig> {
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
        spec.path = parse_repo_path(text).ok_or_else(|| Failure::usage(format!("--path: {text:?} is no path in a repository")))?;
    }
    let config = Config { sources: vec![spec], targets: Vec::new(), origin: Vec::new() };
    Ok(Found { config, origin: "the command line".to_owned(), base: env.folder.clone() })
}
