//! What is the same to an API server.

use holdfast::schema::crd::Crd;
use holdfast::schema::{Catalog, meaning};
use serde_json::json;

use crate::{deployment, gvk, yaml};

fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (yaml(a), yaml(b));
    let schema = Catalog::builtin().resolve(&gvk(&a)).unwrap();
    let by_walk = meaning::equal(&schema.root, &a, &b);
    let by_form = meaning::canonical(&schema.root, &a) == meaning::canonical(&schema.root, &b);
    assert_eq!(by_walk, by_form, "{a} {b}");
    assert_eq!(by_walk, meaning::equal(&schema.root, &b, &a));
    by_walk
}

#[test]
fn quantities_are_equal_by_value() {
    let range = |memory: &str| {
        format!(
            "{{apiVersion: v1, kind: LimitRange, metadata: {{name: one}}, spec: {{limits: [{{type: Container, max: {{memory: {memory}}}}}]}}}}"
        )
    };
    for (a, b) in [
        ("1", "1"),
        ("1.0", "1"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1000m", "1"),
        ("1e3", "1k"),
        ("0.0001", "1m"),
        ("1u", "1m"),
        ("1024Mi", "1Gi"),
        ("1000M", "1G"),
        ("1.5Gi", "1536Mi"),
        ("129e6", "129M"),
        ("1e9", "1G"),
    ] {
        assert!(equal(&range(a), &range(b)), "{a} {b}");
    }
    assert!(!equal(&range("1024Mi"), &range("1024M")));
    assert!(!equal(&range("1001m"), &range("1")));
}

#[test]
fn empty_is_none_where_the_server_has_no_pointer() {
    let plain = deployment("containers: [{name: a, image: a}]");
    let empty = deployment(
        "nodeSelector: {}\ntolerations: []\nvolumes: null\ninitContainers: []\ncontainers:\n\
         - {name: a, image: a, args: [], resources: {limits: {}, requests: {}}}",
    );
    assert!(equal(&plain, &empty.replace("  selector:", "  strategy: {}\n  selector:")));
    assert!(!equal(&plain, &deployment("containers: [{name: a, image: a, securityContext: {}}]")));
    let volume = |of: &str| deployment(&format!("containers: [{{name: a, image: a}}]\nvolumes: [{{name: v{of}}}]"));
    assert!(!equal(&volume(""), &volume(", emptyDir: {}")));
}

#[test]
fn an_empty_variable_has_no_value() {
    let env = |of: &str| deployment(&format!("containers: [{{name: a, image: a, env: [{{name: E{of}}}]}}]"));
    assert!(equal(&env(""), &env(", value: \"\"")));
    assert!(!equal(&env(""), &env(", value: \"0\"")));
}

#[test]
fn an_int_and_its_text_are_two_values() {
    let service = |port: &str| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: s}}, spec: {{ports: [{{port: 80, targetPort: {port}}}]}}}}"
        )
    };
    assert!(!equal(&service("80"), &service("\"80\"")));
    assert!(equal(&service("80"), &service("80")));
}

#[test]
fn a_crd_means_the_same_without_what_the_server_drops() {
    let crd = |more: &str, field: &str, columns: &str| {
        format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: widgets.lab.example.com}}, \
             spec: {{group: lab.example.com, scope: Namespaced, names: {{plural: widgets, kind: Widget}}{more}, versions: \
             [{{name: v1, served: true, storage: true{columns}, schema: {{openAPIV3Schema: {{type: object, properties: {{spec: \
             {{type: object, properties: {{size: {{type: integer{field}}}}}}}}}}}}}}}]}}}}"
        )
    };
    assert!(equal(
        &crd("", "", ""),
        &crd(", preserveUnknownFields: false", ", nullable: false", ", additionalPrinterColumns: []")
    ));
    assert!(!equal(&crd("", "", ""), &crd("", ", nullable: true", "")));
}

#[test]
fn string_data_is_data() {
    let folded = |v: &serde_json::Value| {
        let mut secret = v.as_object().unwrap().clone();
        meaning::fold_string_data(&mut secret);
        serde_json::Value::Object(secret)
    };
    let odd = json!({"kind": "Secret", "data": {"k": "eA=="}, "stringData": {"k": 7}});
    assert_eq!(folded(&odd), odd, "what is no text is not lost");
    let plain = json!({"kind": "Secret", "data": {"user": "b2xk", "k": "eA=="}, "stringData": {"user": "app", "e": "", "f": "ab"}});
    assert_eq!(folded(&plain), json!({"kind": "Secret", "data": {"user": "YXBw", "k": "eA==", "e": "", "f": "YWI="}}));
    let same = json!({"kind": "Secret", "data": {"user": "YXBw"}});
    assert_eq!(folded(&same), same);
    assert_eq!(folded(&json!({"kind": "Secret", "stringData": null})), json!({"kind": "Secret"}));
}

#[test]
fn in_custom_resources_only_marked_fields_are_quantities() {
    let crd = yaml(
        r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.lab.example.com}
spec:
  group: lab.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              memory:
                anyOf: [{type: integer}, {type: string}]
                pattern: ^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$
                x-kubernetes-int-or-string: true
              text: {type: string}
              map: {type: object, additionalProperties: {type: string}}
"#,
    );
    let catalog = Catalog::builtin().with_crds(vec![Crd::read(&crd).unwrap()]);
    let widget = |spec: &str| {
        yaml(&format!("{{apiVersion: lab.example.com/v1, kind: Widget, metadata: {{name: w}}, spec: {spec}}}"))
    };
    let schema = catalog.resolve(&gvk(&widget("{}"))).unwrap();
    let equal = |a: &str, b: &str| meaning::equal(&schema.root, &widget(a), &widget(b));
    assert!(equal("{memory: 1024Mi}", "{memory: 1Gi}") && equal("{memory: 1}", "{memory: \"1\"}"));
    assert!(!equal("{text: 1024Mi}", "{text: 1Gi}"));
    assert!(!equal("{map: {}}", "{}"), "an empty map of a custom resource is stored");
    assert!(equal("{text: null}", "{}"));
    let found = crate::briefly(&crate::faults_in(&catalog, &widget("{memory: 1gb}")));
    assert_eq!(found, ["type-mismatch /spec/memory"]);
}
