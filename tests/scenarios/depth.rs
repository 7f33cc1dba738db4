//! What a manifest may hold, the store and a plan file give back.

use crate::lab::Lab;

#[test]
fn an_object_as_deep_as_manifests_may_be_is_saved_applied_and_read_back() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    let crd = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: charts.lab.example.com}
spec:
  group: lab.example.com
  scope: Cluster
  names: {kind: Chart, plural: charts, singular: chart, listKind: ChartList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
";
    let deep = |value: &str| {
        format!(
            "apiVersion: lab.example.com/v1\nkind: Chart\nmetadata: {{name: deep}}\nspec: {}{value}{}\n",
            "{a: ".repeat(180),
            "}".repeat(180)
        )
    };
    repo.write("crd.yaml", crd);
    repo.write("deep.yaml", deep("1"));
    repo.commit("deep");
    let kinds =
        "  namespaces: [lab]\n  clusterKinds: [CustomResourceDefinition.apiextensions.k8s.io, Chart.lab.example.com]";
    lab.configure(&[repo.source("lab", kinds)]);
    lab.run(&["plan", "--out", "deep.plan.json"]).ok();
    lab.run(&["show", "deep.plan.json", "-o", "diff"]).ok();
    lab.run(&["apply", "deep.plan.json"]).ok();
    assert_eq!(lab.plan(&[])["changes"].as_array().unwrap().len(), 0);
    repo.write("deep.yaml", deep("2"));
    repo.commit("deeper");
    let plan = lab.run(&["plan", "-o", "json", "--out", "next.plan.json"]).ok();
    assert!(plan.stdout.contains("\"update\""), "{}", plan.stdout);
    lab.run(&["apply", "next.plan.json"]).ok();
}
