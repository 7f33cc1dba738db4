use std::collections::BTreeMap;

use holdfast::admission::on_draft::{Considered, Facts, NamespaceState, namespace};
use holdfast::plan::document::Action;

use crate::support::{admitted, creates, id, short};

const CONF: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: shop\n";

fn judge(text: &str, state: Option<NamespaceState>, deletes: bool) -> Vec<String> {
    let set = admitted(text);
    let namespaces: BTreeMap<String, NamespaceState> = state.map(|s| ("shop".to_owned(), s)).into_iter().collect();
    let facts = Facts { namespaces: &namespaces, contents: &[], catalog: set.catalog() };
    let shop = id("Namespace/shop");
    let mut considered = creates(&set);
    if deletes {
        considered.push(Considered { id: &shop, action: Action::Delete, checked: None, live: None, after: None });
    }
    namespace::judge(&considered, &facts).iter().map(short).collect()
}

#[test]
fn a_namespace_that_neither_exists_nor_is_planned_is_missing_once_per_object() {
    let two = format!("{CONF}---\n{}", CONF.replace("name: c", "name: d"));
    assert_eq!(
        judge(&two, None, false),
        ["5 missing-namespace /metadata/namespace", "11 missing-namespace /metadata/namespace"]
    );
    assert!(judge(CONF, Some(NamespaceState::Active), false).is_empty());
    let planned = format!("{CONF}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: shop}}\n");
    assert!(judge(&planned, None, false).is_empty());
}

#[test]
fn a_namespace_that_the_plan_deletes_or_that_is_going_takes_nothing() {
    assert_eq!(judge(CONF, Some(NamespaceState::Active), true), ["5 missing-namespace /metadata/namespace"]);
    assert_eq!(judge(CONF, Some(NamespaceState::Terminating), false), ["5 terminating /metadata/namespace"]);
}

#[test]
fn an_object_that_takes_the_default_namespace_is_named_too() {
    assert_eq!(
        judge("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n", None, false),
        ["3 missing-namespace /metadata"]
    );
}
