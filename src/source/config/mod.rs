//! `holdfast.yaml`: Sources, Targets and what Sources share, read with a place for every fault.

mod cursor;
mod durations;
mod entries;
mod partial;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::base::fault::{At, Fault};
use crate::base::path::RepoPath;

use super::rules;
use super::spec::SourceSpec;
use super::target::TargetSpec;
use cursor::{Cursor, Report};
use partial::PartialSource;
pub use partial::parse_repo_path;
use yaml::Node;

/// The one version of Holdfast's own kinds.
pub const API_VERSION: &str = "holdfast.dev/v1";

/// Largest configuration file, in bytes.
pub const MAX_FILE: usize = 4 << 20;

/// A configuration: what one file, or the files of one folder, say together.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The Sources, in the order written.
    pub sources: Vec<SourceSpec>,
    /// The Targets, in the order written; none means the embedded one beside the file.
    pub targets: Vec<TargetSpec>,
    /// The files it was read from.
    pub origin: Vec<PathBuf>,
}

/// One file of a configuration.
#[derive(Debug, Clone, Copy)]
pub struct ConfigFile<'a> {
    /// What the file is called in reports.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The folder that its relative paths start at.
    pub base: &'a Path,
}

/// Reads one file.
///
/// # Errors
/// All faults of the file, each with line and column.
pub fn read_config(text: &str, file_name: &str, base: &Path) -> Result<Config, Vec<Fault>> {
    read_config_files(&[ConfigFile { name: file_name, text, base }])
}

/// Reads the files of one configuration together: names are unique over all of them, and `SourceDefaults` hold in all.
///
/// # Errors
/// All faults of all files, each with line and column.
pub fn read_config_files(files: &[ConfigFile<'_>]) -> Result<Config, Vec<Fault>> {
    let mut found = Found::default();
    for file in files {
        found.read(file);
    }
    let config = found.finish(files);
    if found.report.faults.is_empty() { Ok(config) } else { Err(found.report.faults) }
}

#[derive(Default)]
struct Found {
    report: Report,
    sources: Vec<(At, String, PartialSource)>,
    targets: Vec<(At, TargetSpec)>,
    defaults: Option<(At, PartialSource)>,
}

impl Found {
    fn read(&mut self, file: &ConfigFile<'_>) {
        self.report.file = RepoPath::from(file.name);
        if file.text.len() > MAX_FILE {
            let text = format!("the file has {} bytes; {MAX_FILE} are read", file.text.len());
            self.report.faults.push(Fault::new(rules::SIZE_LIMIT, text).at(At::file(&self.report.file)));
            return;
        }
        let documents = yaml::read(file.text, &mut self.report);
        for (index, document) in documents.iter().enumerate() {
            self.report.document = index;
            if !document.is_null() {
                self.document(document, file.base);
            }
        }
    }

    fn document(&mut self, node: &Node, base: &Path) {
        let report = &mut self.report;
        let Some(mut top) = Cursor::open(node, report) else { return };
        let version = top.text("apiVersion", report);
        let kind = top.text("kind", report);
        for (key, value) in [("apiVersion", &version), ("kind", &kind)] {
            if value.is_none() && !top.has(key) {
                top.missing(key, report);
            }
        }
        if let Some(other) = version.filter(|v| v != API_VERSION) {
            let text = format!("{other:?} is not known; Holdfast's own kinds are {API_VERSION}");
            report.add(rules::UNKNOWN_KIND, top.place("apiVersion"), "/apiVersion", text);
        }
        let at = report.at(node);
        match kind.as_deref() {
            Some("Source") => {
                let name = top.object_name(report);
                let spec = top.required("spec", report).map(|spec| PartialSource::read(spec, base, report));
                top.close(report);
                if let (Some(name), Some(spec)) = (name, spec) {
                    self.sources.push((at, name, spec));
                }
            }
            Some("SourceDefaults") => {
                let _ = top.optional_name(report);
                let spec = top.required("spec", report).map(|spec| PartialSource::read(spec, base, report));
                top.close(report);
                match &self.defaults {
                    Some((first, _)) => {
                        let fault = Fault::new(rules::DUPLICATE_OBJECT, "SourceDefaults are given twice");
                        report.faults.push(fault.at(at).also(first.clone()));
                    }
                    None => self.defaults = spec.map(|spec| (at, spec)),
                }
            }
            Some("Target") => {
                let name = top.object_name(report);
                let spec = top.required("spec", report).and_then(|spec| entries::target(spec, base, report));
                top.close(report);
                if let (Some(name), Some(kind)) = (name, spec) {
                    self.targets.push((at, TargetSpec { name, kind }));
                }
            }
            Some(other) => {
                let text = format!("{other:?} is none of the kinds Source, SourceDefaults and Target");
                report.add(rules::UNKNOWN_KIND, top.place("kind"), "/kind", text);
            }
            None => {}
        }
    }

    fn finish(&mut self, files: &[ConfigFile<'_>]) -> Config {
        let mut targets: BTreeMap<&str, &At> = BTreeMap::new();
        let mut twice = Vec::new();
        for (at, target) in &self.targets {
            if let Some(first) = targets.insert(&target.name, at) {
                twice.push(duplicate("Target", &target.name, at, first));
            }
        }
        let mut names: BTreeMap<&str, &At> = BTreeMap::new();
        for (at, name, _) in &self.sources {
            if let Some(first) = names.insert(name, at) {
                twice.push(duplicate("Source", name, at, first));
            }
        }
        let known: Vec<&str> = self.targets.iter().map(|(_, target)| target.name.as_str()).collect();
        let defaults = self.defaults.as_ref().map(|(_, spec)| spec);
        let mut sources = Vec::new();
        for (at, name, spec) in &self.sources {
            sources.extend(spec.finish(name, at, defaults, &known, &mut self.report));
        }
        self.report.faults.extend(twice);
        let mut seen = std::collections::HashSet::new();
        // A fault of the shared defaults is the same for every Source that takes it from there.
        self.report.faults.retain(|fault| seen.insert((fault.at.clone(), fault.rule, fault.text.clone())));
        Config {
            sources,
            targets: self.targets.iter().map(|(_, target)| target.clone()).collect(),
            origin: files.iter().map(|file| PathBuf::from(file.name)).collect(),
        }
    }
}

fn duplicate(kind: &str, name: &str, at: &At, first: &At) -> Fault {
    Fault::new(rules::DUPLICATE_OBJECT, format!("there are two {kind}s of the name {name:?}"))
        .at(at.clone())
        .also(first.clone())
}
