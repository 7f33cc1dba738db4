use std::collections::BTreeSet;

use holdfast::base::resource::GroupKind;
use holdfast::source::scope::{ClusterKind, ClusterKinds, Namespaces};

use crate::support::{admitted, id, refusals, refusals_under, spec, warnings};

const NAMESPACED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\n";

#[test]
fn a_namespace_outside_the_scope_is_refused_where_it_is_written() {
    assert_eq!(refusals(&NAMESPACED.replace("NS", "kube-system")), ["3 scope-violation /metadata/namespace"]);
    assert!(refusals(&NAMESPACED.replace("NS", "shop")).is_empty());
    let mut anywhere = spec();
    anywhere.namespaces = Namespaces::Any;
    assert!(refusals_under(&anywhere, &NAMESPACED.replace("NS", "lab")).is_empty());
    assert_eq!(refusals_under(&anywhere, &NAMESPACED.replace("NS", "L_ab")), ["3 bad-name /metadata/namespace"]);
}

#[test]
fn no_namespace_an_empty_one_and_null_mean_the_default() {
    for namespace in ["\"\"", "null", "shop"] {
        let set = admitted(&NAMESPACED.replace("NS", namespace));
        assert_eq!(set.manifests()[0].id(), &id("ConfigMap/shop/a"));
        assert_eq!(set.manifests()[0].declared().pointer("/metadata/namespace").unwrap(), "shop");
    }
    let mut two = spec();
    two.default_namespace = None;
    assert_eq!(
        refusals_under(&two, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
        ["3 scope-violation /metadata"]
    );
}

#[test]
fn a_namespace_on_a_cluster_scoped_object_is_dropped_with_a_warning() {
    let text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: r\n  namespace: lab\n";
    let set = admitted(text);
    assert_eq!(warnings(&set), ["cluster-scoped /metadata/namespace"]);
    assert_eq!(set.warnings()[0].id.as_ref(), Some(&id("ClusterRole.rbac.authorization.k8s.io/r")));
    assert!(set.manifests()[0].declared().pointer("/metadata/namespace").is_none());
}

#[test]
fn cluster_scoped_kinds_are_refused_unless_listed_by_kind_and_name() {
    let role = |name: &str| {
        format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {name}}}\n")
    };
    let mut narrow = spec();
    narrow.cluster_kinds = ClusterKinds::Some(vec![ClusterKind {
        kind: GroupKind::parse("ClusterRole.rbac.authorization.k8s.io"),
        names: Some(vec!["shop-*".to_owned()]),
    }]);
    assert!(refusals_under(&narrow, &role("shop-viewer")).is_empty());
    assert_eq!(refusals_under(&narrow, &role("viewer")), ["2 scope-violation /kind"]);
    assert_eq!(
        refusals_under(&narrow, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"),
        ["2 scope-violation /kind"]
    );
}

#[test]
fn kinds_can_be_allowed_and_denied() {
    let text = NAMESPACED.replace("NS", "shop");
    let mut denied = spec();
    denied.kinds.deny = BTreeSet::from([GroupKind::parse("ConfigMap")]);
    assert_eq!(refusals_under(&denied, &text), ["2 scope-violation /kind"]);
    let mut allowed = spec();
    allowed.kinds.allow = BTreeSet::from([GroupKind::parse("Deployment.apps")]);
    assert_eq!(refusals_under(&allowed, &text), ["2 scope-violation /kind"]);
}

#[test]
fn holdfasts_own_kinds_are_in_no_scope() {
    let text = "apiVersion: holdfast.dev/v1\nkind: Source\nmetadata: {name: a}\nspec: {}\n";
    assert_eq!(refusals(text), ["2 scope-violation /kind"]);
}
