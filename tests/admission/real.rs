//! Manifests that real projects publish.

use std::path::Path;

use holdfast::admission;
use holdfast::base::path::RepoPath;
use holdfast::manifest::{Limits, assemble};
use holdfast::source::scope::Namespaces;
use holdfast::target::Definitions;

use crate::support::{short, spec};

fn read(folder: &Path, into: &mut Vec<(RepoPath, Vec<u8>)>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read(&path, into);
        } else if path.extension().is_some_and(|end| end == "yaml") {
            into.push((RepoPath::from(path.to_str().unwrap()), std::fs::read(&path).unwrap()));
        }
    }
}

fn is_admitted(name: &str, at_least: usize) {
    let mut files = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name), &mut files);
    let mut spec = spec();
    spec.namespaces = Namespaces::Any;
    spec.default_namespace = Some("default".to_owned());
    match admission::check(&spec, assemble(files, &Limits::default()), &Definitions::default(), &[]) {
        Ok(set) => {
            assert!(set.manifests().len() >= at_least, "only {} manifests", set.manifests().len());
            let warnings: Vec<&str> = set.warnings().iter().map(|w| w.text.as_str()).collect();
            assert!(warnings.is_empty(), "{warnings:#?}");
        }
        Err(rejection) => {
            let all: Vec<String> = rejection.faults().map(|f| format!("{:?} {}: {}", f.id, short(f), f.text)).collect();
            panic!("{} faults: {all:#?}", all.len());
        }
    }
}

#[test]
fn kube_prometheus_is_admitted_without_a_word() {
    is_admitted("kube-prometheus", 90);
}

#[test]
fn microservices_demo_is_admitted_without_a_word() {
    is_admitted("microservices-demo", 30);
}
