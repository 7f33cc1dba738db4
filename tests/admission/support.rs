//! Small worlds: a Source, some files, a check.

use std::collections::BTreeSet;

use holdfast::admission::{self, CheckedSet, Rejection};
use holdfast::base::fault::Fault;
use holdfast::base::ids::SourceName;
use holdfast::base::path::RepoPath;
use holdfast::manifest::{Limits, ManifestSet, assemble};
use holdfast::source::scope::{ClusterKinds, Namespaces};
use holdfast::source::spec::SourceSpec;
use holdfast::source::url::RepositoryUrl;

/// A Source that may write namespace `shop` and every cluster-scoped kind.
pub fn spec() -> SourceSpec {
    let url = RepositoryUrl::parse("https://git.example/shop.git", std::path::Path::new("/")).unwrap();
    let namespaces = Namespaces::Some(BTreeSet::from(["shop".to_owned()]));
    SourceSpec {
        cluster_kinds: ClusterKinds::Any,
        ..SourceSpec::new(SourceName::parse("shop").unwrap(), url, namespaces)
    }
}

pub fn set(files: &[(&str, &str)]) -> ManifestSet {
    let files: Vec<(RepoPath, Vec<u8>)> =
        files.iter().map(|(path, text)| (RepoPath::from(*path), text.as_bytes().to_vec())).collect();
    assemble(files, &Limits::default())
}

pub fn check(spec: &SourceSpec, files: &[(&str, &str)]) -> Result<CheckedSet, Rejection> {
    admission::check(spec, set(files), &[], &[])
}

/// What is wrong with one file under the ordinary Source, each as `LINE RULE PATH`.
pub fn refusals(text: &str) -> Vec<String> {
    refusals_under(&spec(), text)
}

pub fn refusals_under(spec: &SourceSpec, text: &str) -> Vec<String> {
    match check(spec, &[("a.yaml", text)]) {
        Ok(_) => Vec::new(),
        Err(rejection) => rejection.faults().map(short).collect(),
    }
}

pub fn short(fault: &Fault) -> String {
    let line = fault.at.as_ref().map_or(0, |at| at.line);
    let path = fault.path.as_ref().map_or("-", |path| path.as_str());
    format!("{line} {} {path}", fault.rule)
}

/// The checked manifests of one file.
pub fn admitted(spec: &SourceSpec, text: &str) -> CheckedSet {
    check(spec, &[("a.yaml", text)]).unwrap_or_else(|rejection| {
        panic!("{:#?}", rejection.faults().map(|f| format!("{}: {}", short(f), f.text)).collect::<Vec<_>>())
    })
}
