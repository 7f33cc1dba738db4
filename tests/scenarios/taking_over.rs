//! What another tool made on the embedded control plane comes to a Source: its hold on what is declared ends.

use serde_json::{Value, json};

use crate::lab::Lab;

#[test]
fn a_field_that_git_drops_goes_though_the_tool_that_made_the_object_held_it_and_a_persons_edit_stays() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    lab.configure(&[repo.source("shop", "  namespaces: [default]")]);
    let object = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data});
    repo.write("a.yaml", object(json!({"v": "1", "w": "1", "x": "1"})).to_string());
    repo.commit("one");
    let mut made = object(json!({"v": "1", "w": "1", "undeclared": "1"}));
    made["metadata"]["labels"] = json!({"argocd.argoproj.io/instance": "shop"});
    lab.put("argocd-controller", &made.to_string());
    lab.by_hand("kubectl-edit", "ConfigMap/default/a", |live| live["data"]["x"] = "1".into());
    let adopt = ["--adopt", "ConfigMap/default/a"];
    let said = lab.run(&[&["plan"], &adopt[..]].concat()).exits(1);
    assert!(said.all().contains("Argo CD (Application shop) still claims ConfigMap/default/a"), "{}", said.all());
    lab.run(&[&["apply", "--yes", "--take-over", "argocd/shop=1"], &adopt[..]].concat()).ok();
    repo.write("a.yaml", object(json!({"v": "1"})).to_string());
    repo.commit("two");
    let plan = lab.plan(&[]);
    assert_eq!(plan["changes"][0]["left"], json!([{"path": "/data/x", "manager": "kubectl-edit"}]), "{plan}");
    lab.apply(&[]);
    let live = lab.live("ConfigMap/default/a").unwrap();
    assert_eq!(live["data"], json!({"v": "1", "x": "1", "undeclared": "1"}));
    assert_eq!(live["metadata"]["labels"], json!({"argocd.argoproj.io/instance": "shop"}));
}
