//! Small worlds: a Source, some files, a check; live objects.

use std::collections::BTreeSet;

use serde_json::Value;

use holdfast::admission::on_draft::Considered;
use holdfast::admission::{self, CheckedSet, Rejection};
use holdfast::base::fault::Fault;
use holdfast::base::ids::{ObjectUid, SourceName};
use holdfast::base::path::RepoPath;
use holdfast::base::resource::{GroupVersionKind, ResourceId};
use holdfast::manifest::{Limits, ManifestSet, assemble};
use holdfast::plan::document::{Action, Waiver};
use holdfast::source::scope::{ClusterKinds, Namespaces};
use holdfast::source::spec::SourceSpec;
use holdfast::source::url::RepositoryUrl;
use holdfast::target::Definitions;
use holdfast::target::{Head, Live};

/// A Source that may write namespace `shop` and every cluster-scoped kind.
pub(crate) fn spec() -> SourceSpec {
    let url = RepositoryUrl::parse("https://git.example/shop.git", std::path::Path::new("/")).unwrap();
    let namespaces = Namespaces::Some(BTreeSet::from(["shop".to_owned()]));
    let spec = SourceSpec::new(SourceName::parse("shop").unwrap(), url, namespaces);
    SourceSpec { cluster_kinds: ClusterKinds::Any, ..spec }
}

pub(crate) fn set(files: &[(&str, &str)]) -> ManifestSet {
    let files: Vec<(RepoPath, Vec<u8>)> =
        files.iter().map(|(path, text)| (RepoPath::from(*path), text.as_bytes().to_vec())).collect();
    assemble(files, &Limits::default())
}

pub(crate) fn check(spec: &SourceSpec, files: &[(&str, &str)]) -> Result<CheckedSet, Rejection> {
    admission::check(spec, set(files), &Definitions::default(), &[])
}

pub(crate) fn check_waived(spec: &SourceSpec, text: &str, rule: &str) -> Result<CheckedSet, Rejection> {
    let waiver = Waiver { rule: rule.to_owned(), reason: "a test".to_owned() };
    admission::check(spec, set(&[("a.yaml", text)]), &Definitions::default(), &[waiver])
}

/// What is wrong with one file under the ordinary Source, each as `LINE RULE PATH`.
pub(crate) fn refusals(text: &str) -> Vec<String> {
    refusals_under(&spec(), text)
}

pub(crate) fn refusals_under(spec: &SourceSpec, text: &str) -> Vec<String> {
    match check(spec, &[("a.yaml", text)]) {
        Ok(_) => Vec::new(),
        Err(rejection) => rejection.faults().map(short).collect(),
    }
}

pub(crate) fn short(fault: &Fault) -> String {
    let line = fault.at.as_ref().map_or(0, |at| at.line);
    let path = fault.path.as_ref().map_or("-", |path| path.as_str());
    format!("{line} {} {path}", fault.rule)
}

/// The checked manifests of one file.
pub(crate) fn admitted(text: &str) -> CheckedSet {
    admitted_under(&spec(), text)
}

pub(crate) fn admitted_under(spec: &SourceSpec, text: &str) -> CheckedSet {
    check(spec, &[("a.yaml", text)]).unwrap_or_else(|rejection| {
        panic!("{:#?}", rejection.faults().map(|f| format!("{}: {}", short(f), f.text)).collect::<Vec<_>>())
    })
}

/// Warnings as `RULE PATH`.
pub(crate) fn warnings(set: &CheckedSet) -> Vec<String> {
    let path = |w: &holdfast::base::fault::Warning| w.path.as_ref().map_or("-".to_owned(), ToString::to_string);
    set.warnings().iter().map(|w| format!("{} {}", w.rule, path(w))).collect()
}

pub(crate) fn id(text: &str) -> ResourceId {
    ResourceId::parse(text).unwrap()
}

/// A live object, named by what stands in it.
pub(crate) fn live(object: Value) -> Live {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let gvk = GroupVersionKind::new(&text("/apiVersion").unwrap(), &text("/kind").unwrap());
    let id = ResourceId {
        group: gvk.group,
        kind: gvk.kind,
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name").unwrap(),
    };
    let uid = text("/metadata/uid").unwrap_or_else(|| format!("uid-of-{id}"));
    let head = Head {
        uid: ObjectUid::parse(&uid).unwrap(),
        version: "1".to_owned(),
        mark: Ok(None),
        owners: Vec::new(),
        controlled: false,
        id,
    };
    Live { head, object }
}

/// Every manifest of a set as a create.
pub(crate) fn creates(set: &CheckedSet) -> Vec<Considered<'_>> {
    set.manifests()
        .iter()
        .map(|checked| Considered {
            id: checked.id(),
            action: Action::Create,
            checked: Some(checked),
            live: None,
            after: Some(checked.declared()),
        })
        .collect()
}
