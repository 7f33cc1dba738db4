//! Which kinds are known, and what was probably meant by one that isn't.

use holdfast::base::resource::{GroupKind, GroupVersionKind};
use holdfast::schema::{Catalog, Origin, SchemaFault};

fn unknown(api_version: &str, kind: &str) -> (String, Option<String>) {
    let error = Catalog::builtin().resolve(&GroupVersionKind::new(api_version, kind)).unwrap_err();
    let fault = SchemaFault::from(error);
    assert_eq!(fault.rule.as_str(), "unknown-kind");
    (fault.path.to_string(), fault.hint)
}

fn hint(part: &str, text: &str) -> (String, Option<String>) {
    (part.to_owned(), Some(text.to_owned()))
}

#[test]
fn a_kind_in_the_wrong_case_or_number_is_named_rightly() {
    assert_eq!(unknown("v1", "service"), hint("/kind", "Service"));
    assert_eq!(unknown("v1", "Services"), hint("/kind", "Service"));
    assert_eq!(unknown("v1", "svc"), hint("/kind", "Service"));
    assert_eq!(unknown("apps/v1", "deployment"), hint("/kind", "Deployment"));
    assert_eq!(unknown("apps/v1", "Deploymnet"), hint("/kind", "Deployment"));
}

#[test]
fn an_api_version_in_the_wrong_case_version_or_group_is_named_rightly() {
    assert_eq!(unknown("V1", "Service"), hint("/apiVersion", "v1"));
    assert_eq!(unknown("apps/V1", "Deployment"), hint("/apiVersion", "apps/v1"));
    assert_eq!(unknown("Apps/v1", "Deployment"), hint("/apiVersion", "apps/v1"));
    assert_eq!(unknown("extensions/v1beta1", "Ingress"), hint("/apiVersion", "networking.k8s.io/v1"));
    assert_eq!(unknown("v1", "Deployment"), hint("/apiVersion", "apps/v1"));
}

#[test]
fn a_custom_resource_without_its_definition_is_refused() {
    let (part, hint) = unknown("example.com/v1", "Whatsit");
    assert_eq!(part, "/kind");
    assert!(hint.unwrap().contains("CustomResourceDefinition"));
}

#[test]
fn all_versions_of_a_kind_are_found_without_the_version() {
    let versions = Catalog::builtin().by_group_kind(&GroupKind::new("autoscaling", "HorizontalPodAutoscaler"));
    assert_eq!(versions.iter().map(|k| k.gvk.version.as_str()).collect::<Vec<_>>(), ["v2", "v1"]);
    assert!(Catalog::builtin().by_group_kind(&GroupKind::new("", "Deployment")).is_empty());
}

#[test]
fn scope_plural_and_origin_are_known() {
    let resolve = |v: &str, k: &str| Catalog::builtin().resolve(&GroupVersionKind::new(v, k)).unwrap();
    let role = resolve("rbac.authorization.k8s.io/v1", "ClusterRole");
    assert!(!role.namespaced && role.is_stored() && !role.has_status);
    let deployment = resolve("apps/v1", "Deployment");
    assert!(deployment.namespaced && deployment.has_status);
    assert_eq!((deployment.plural.as_str(), deployment.origin), ("deployments", Origin::Builtin));
    assert!(!resolve("authentication.k8s.io/v1", "TokenReview").is_stored());
}
