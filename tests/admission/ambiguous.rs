use holdfast::source::spec::Effect;

use crate::support::{admitted_under, refusals_under, spec};

const OBJECTS: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: charts.lab.example.com}
spec:
  group: lab.example.com
  scope: Namespaced
  names: {plural: charts, singular: chart, kind: Chart}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer}
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: lab.example.com/v1
kind: Chart
metadata: {name: a}
size: 0755
spec: {version: 1.10, flag: yes, exact: 7, quoted: \"1.10\"}
";

#[test]
fn surprising_scalars_warn_in_untyped_places_alone() {
    let set = admitted_under(&spec(), OBJECTS);
    let said: Vec<(&str, &str)> =
        set.warnings().iter().map(|w| (w.path.as_ref().unwrap().as_str(), w.raw.as_deref().unwrap())).collect();
    assert_eq!(said, [("/spec/version", "1.10"), ("/spec/flag", "yes")]);
}

#[test]
fn surprising_scalars_are_refused_where_the_source_says_so() {
    let mut strict = spec();
    strict.ambiguous_scalars = Effect::Deny;
    let refusals = refusals_under(&strict, OBJECTS);
    assert_eq!(refusals, ["23 ambiguous-scalar /spec/version", "23 ambiguous-scalar /spec/flag"]);
}
