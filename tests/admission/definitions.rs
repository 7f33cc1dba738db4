use holdfast::admission;
use serde_json::json;

use crate::support::{check, live, refusals, set, short, spec, warnings};

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.lab.example.com}
spec:
  group: lab.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: TYPE}}}
";
const WIDGET: &str = "apiVersion: lab.example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";

fn served(kind: &str) -> holdfast::target::Live {
    live(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.lab.example.com"},
        "spec": {"group": "lab.example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": kind}}}}}}}]}
    }))
}

#[test]
fn a_kind_can_come_from_the_same_commit_or_the_target_and_the_commit_wins() {
    let integer = CRD.replace("TYPE", "integer");
    let text = CRD.replace("TYPE", "string");
    assert!(check(&spec(), &[("crd.yaml", &integer), ("w.yaml", WIDGET)]).is_ok());
    assert!(admission::check(&spec(), set(&[("w.yaml", WIDGET)]), &vec![served("integer")].into(), &[]).is_ok());
    let rejection = admission::check(
        &spec(),
        set(&[("crd.yaml", &text), ("w.yaml", WIDGET)]),
        &vec![served("integer")].into(),
        &[],
    )
    .unwrap_err();
    assert_eq!(rejection.faults().map(short).collect::<Vec<_>>(), ["4 type-mismatch /spec/size"]);
    assert_eq!(refusals(WIDGET), ["2 unknown-kind /kind"]);
}

#[test]
fn objects_of_a_broken_definition_have_no_fault_of_their_own() {
    let no_schema = CRD.replace("openAPIV3Schema", "openAPIV4Schema").replace("TYPE", "integer");
    let rejection = check(&spec(), &[("crd.yaml", &no_schema), ("w.yaml", WIDGET)]).unwrap_err();
    let path = "/spec/versions/0/schema/openAPIV4Schema";
    assert_eq!(rejection.faults().map(short).collect::<Vec<_>>(), [format!("13 unknown-field {path}")]);
    let no_storage = CRD.replace("storage: true", "storage: false").replace("TYPE", "integer");
    let rejection = check(&spec(), &[("crd.yaml", &no_storage), ("w.yaml", WIDGET)]).unwrap_err();
    assert_eq!(rejection.faults().map(|f| f.rule.as_str()).collect::<Vec<_>>(), ["bad-crd"]);
    let unreadable = format!("{}bad: [\n", CRD.replace("TYPE", "integer"));
    let rejection = check(&spec(), &[("crd.yaml", &unreadable), ("w.yaml", WIDGET)]).unwrap_err();
    assert_eq!(rejection.faults().map(|f| f.rule.as_str()).collect::<Vec<_>>(), ["yaml-syntax"]);
}

#[test]
fn the_status_of_a_custom_resource_is_the_authors_unless_its_definition_has_that_subresource() {
    let plain = CRD.replace("TYPE", "integer").replace(
        "          spec:",
        "          status: {type: object, properties: {phase: {type: string}}}\n          spec:",
    );
    let with_subresource = plain.replace("    storage: true\n", "    storage: true\n    subresources: {status: {}}\n");
    let widget = format!("{WIDGET}status: {{phase: \"on\"}}\n");
    let declared = |crd: &str| {
        let set = check(&spec(), &[("crd.yaml", crd), ("w.yaml", &widget)]).unwrap();
        let widget = set.manifests().iter().find(|c| c.id().kind == "Widget").unwrap();
        (widget.declared().get("status").cloned(), warnings(&set))
    };
    assert_eq!(declared(&plain), (Some(json!({"phase": "on"})), Vec::new()));
    assert_eq!(declared(&with_subresource), (None, vec!["server-owned-field /status".to_owned()]));
    // A field like any other is judged like any other.
    let wrong = widget.replace("\"on\"", "7");
    let rejection = check(&spec(), &[("crd.yaml", &plain), ("w.yaml", &wrong)]).unwrap_err();
    assert_eq!(rejection.faults().map(short).collect::<Vec<_>>(), ["5 type-mismatch /status/phase"]);
    assert!(check(&spec(), &[("crd.yaml", &with_subresource), ("w.yaml", &wrong)]).is_ok());
}
