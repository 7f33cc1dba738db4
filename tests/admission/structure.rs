use crate::support::{admitted, check, refusals, spec, warnings};

#[test]
fn an_object_without_metadata_is_no_manifest_and_nothing_else() {
    assert_eq!(refusals("\napiVersion: v1\nkind: ConfigMap\nspecc: {}\n"), ["2 not-a-manifest -"]);
    assert_eq!(refusals("apiVersion: v1\nkind: ConfigMap\nmetadata: [a]\n"), ["3 type-mismatch /metadata"]);
}

#[test]
fn an_unknown_kind_is_the_only_fault_of_its_document() {
    let text = "apiVersion: apps/V1\nkind: Deployment\nmetadata: {name: W_W, namespace: kube-system}\nspecc: {}\n";
    assert_eq!(refusals(text), ["1 unknown-kind /apiVersion"]);
    let text = "apiVersion: v1\nkind: Services\nmetadata: {name: w}\n";
    assert_eq!(refusals(text), ["2 unknown-kind /kind"]);
}

#[test]
fn names_are_judged_by_kind() {
    let named =
        |kind: &str, api: &str, name: &str| format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}}}\n");
    assert_eq!(refusals(&named("ConfigMap", "v1", "My_Conf")), ["3 bad-name /metadata/name"]);
    assert!(refusals(&named("ConfigMap", "v1", "my.conf")).is_empty());
    assert_eq!(refusals(&named("Namespace", "v1", "my.ns")), ["3 bad-name /metadata/name"]);
    assert!(refusals(&named("ClusterRole", "rbac.authorization.k8s.io/v1", "\"system:my:role\"")).is_empty());
}

#[test]
fn an_unrendered_template_in_a_name_says_so() {
    let rejection = check(&spec(), &[("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"${APP}\"}\n")]);
    let rejection = rejection.unwrap_err();
    let fault = rejection.faults().next().unwrap();
    assert!(fault.hint.as_ref().unwrap().contains("template"), "{fault:?}");
}

#[test]
fn an_object_that_the_server_would_name_is_refused_and_a_name_beside_warns() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: conf-\n";
    assert_eq!(refusals(text), ["4 generate-name /metadata/generateName"]);
    assert_eq!(refusals("apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n"), ["3 bad-name /metadata/name"]);
    let set = admitted("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: conf-\n  name: conf\n");
    assert_eq!(warnings(&set), ["generate-name /metadata/generateName"]);
    assert!(set.manifests()[0].declared().pointer("/metadata/generateName").is_none());
}

#[test]
fn a_request_that_is_answered_and_not_stored_is_refused() {
    let text = "apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nmetadata: {name: x}\nspec: {token: x}\n";
    assert_eq!(refusals(text), ["2 not-stored /kind"]);
}

#[test]
fn an_object_with_a_controller_is_refused_and_one_with_an_owner_warns() {
    let pod = |owner: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web-0\n  ownerReferences:\n  - {{apiVersion: apps/v1, kind: \
             StatefulSet, name: web, uid: 22222222-2222-2222-2222-222222222222{owner}}}\nspec: {{containers: [{{name: \
             web, image: \"web:1\"}}]}}\n"
        )
    };
    assert_eq!(refusals(&pod(", controller: true")), ["5 controlled-object /metadata/ownerReferences"]);
    assert_eq!(warnings(&admitted(&pod(""))), ["controlled-object /metadata/ownerReferences"]);
}

#[test]
fn all_faults_of_all_documents_are_in_one_report() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\ndata: {v: 1}\n---\napiVersion: v1\nkind: Sevice\nmetadata: {name: b}\n";
    let broken = "a: [\n";
    let rejection = check(&spec(), &[("b.yaml", text), ("a.yaml", broken)]).unwrap_err();
    let rules: Vec<&str> = rejection.faults().map(|f| f.rule.as_str()).collect();
    assert_eq!(rules, ["yaml-syntax", "bad-name", "type-mismatch", "unknown-kind"]);
}
