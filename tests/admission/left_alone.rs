use holdfast::admission::left_alone;
use holdfast::base::ids::Manager;
use holdfast::base::pointer::Pointer;
use holdfast::base::resource::GroupKind;
use holdfast::source::spec::IgnoreDrift;
use holdfast::target::Live;
use serde_json::{Value, json};

use crate::support::{admitted, live};

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}\n";
const HPA: &str = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  maxReplicas: 10\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n";

fn paths(text: &str, kind: &str, object: &Value, ignore: &[IgnoreDrift], autoscalers: &[Live]) -> Vec<String> {
    let set = admitted(text);
    let checked = set.manifests().iter().find(|c| c.id().kind == kind).unwrap();
    left_alone(checked, object, ignore, &set, autoscalers).into_iter().map(|(path, _)| path.to_string()).collect()
}

#[test]
fn replicas_are_left_to_an_autoscaler_of_the_commit_or_the_target() {
    let object = json!({"spec": {"replicas": 4}});
    assert_eq!(paths(&format!("{WEB}{HPA}"), "Deployment", &object, &[], &[]), ["/spec/replicas"]);
    let autoscaler = |name: &str| {
        live(json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}}))
    };
    assert_eq!(paths(WEB, "Deployment", &object, &[], &[autoscaler("web")]), ["/spec/replicas"]);
    assert!(paths(WEB, "Deployment", &object, &[], &[autoscaler("other")]).is_empty());
    // The commit's autoscaler targets something else now: the live one no longer counts.
    let moved = format!("{WEB}{}", HPA.replace("kind: Deployment, name: web", "kind: Deployment, name: api"));
    assert!(paths(&moved, "Deployment", &object, &[], &[autoscaler("web")]).is_empty());
    let without = WEB.replace("  replicas: 2\n", "");
    assert!(paths(&format!("{without}{HPA}"), "Deployment", &object, &[], &[]).is_empty());
}

#[test]
fn the_warning_names_the_field_and_its_place() {
    let set = admitted(&format!("{WEB}{HPA}"));
    let checked = set.manifests().iter().find(|c| c.id().kind == "Deployment").unwrap();
    let (path, warning) = left_alone(checked, &json!({}), &[], &set, &[]).remove(0);
    assert_eq!(path.as_str(), "/spec/replicas");
    assert_eq!(warning.at.unwrap().line, 5);
    assert_eq!(warning.id.as_ref(), Some(checked.id()));
    assert_eq!(warning.path.unwrap().as_str(), "/spec/replicas");
}

#[test]
fn rules_of_an_aggregated_role_are_left_alone() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nAGG\nrules: []\n";
    let aggregated = role.replace("AGG", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}");
    assert_eq!(paths(&aggregated, "ClusterRole", &json!({}), &[], &[]), ["/rules"]);
    assert!(paths(&role.replace("AGG\n", ""), "ClusterRole", &json!({}), &[], &[]).is_empty());
}

#[test]
fn an_empty_or_placeholder_bundle_leaves_the_live_one() {
    let hook = |bundle: &str| {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {{name: gate}}\nwebhooks:\n- name: gate.lab.example.com\n  \
             admissionReviewVersions: [v1]\n  sideEffects: None\n  clientConfig: {{caBundle: {bundle}, service: {{name: gate, namespace: shop}}}}\n"
        )
    };
    let real = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJJakFOQmdrcWhraUc5dzBCQVFFRkFBT0NBUThB";
    let filled =
        json!({"webhooks": [{"name": "x"}, {"name": "gate.lab.example.com", "clientConfig": {"caBundle": real}}]});
    let empty = json!({"webhooks": [{"name": "gate.lab.example.com", "clientConfig": {}}]});
    let kind = "ValidatingWebhookConfiguration";
    for placeholder in ["\"\"", "Cg=="] {
        assert_eq!(paths(&hook(placeholder), kind, &filled, &[], &[]), ["/webhooks/0/clientConfig/caBundle"]);
        assert!(paths(&hook(placeholder), kind, &empty, &[], &[]).is_empty());
    }
    assert!(paths(&hook(real), kind, &filled, &[], &[]).is_empty());
}

#[test]
fn ignored_drift_is_left_alone_by_kind_name_and_holder() {
    let rule = |name: Option<&str>, manager: Option<&str>| IgnoreDrift {
        kind: GroupKind::parse("Deployment.apps"),
        name: name.map(str::to_owned),
        namespace: None,
        pointers: vec![Pointer::of(["spec", "replicas"])],
        manager: manager.map(Manager::new),
    };
    let object = json!({"metadata": {"managedFields": [{"manager": "scaler", "operation": "Update", "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}, "spec": {"replicas": 4}});
    assert_eq!(paths(WEB, "Deployment", &object, &[rule(Some("w*"), None)], &[]), ["/spec/replicas"]);
    assert!(paths(WEB, "Deployment", &object, &[rule(Some("api"), None)], &[]).is_empty());
    assert_eq!(paths(WEB, "Deployment", &object, &[rule(None, Some("scaler"))], &[]), ["/spec/replicas"]);
    assert!(paths(WEB, "Deployment", &object, &[rule(None, Some("kubectl"))], &[]).is_empty());
}
