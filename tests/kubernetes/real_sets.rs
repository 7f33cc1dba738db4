//! Manifests of real projects on an API server of their own, which one of them gives an API group that nobody serves.

use std::fs;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::control_plane::ControlPlane;
use crate::lab::{Lab, change, changes};

pub fn trials() -> Vec<Trial> {
    vec![
        crate::on_controllers(
            "both_real_sets_are_installed_changed_pruned_and_removed_and_definitions_come_with_their_objects_in_one_plan",
            both_real_sets,
        ),
        crate::on_controllers(
            "a_definition_is_upgraded_with_an_object_that_uses_its_new_field_in_one_plan",
            upgraded_definition,
        ),
    ]
}

fn configure(lab: &Lab, on: &ControlPlane, source: &str) {
    let target = format!(
        "apiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: cluster\nspec:\n  kubernetes: {{kubeconfig: {}}}\n",
        on.kubeconfig.display()
    );
    fs::write(lab.path().join("holdfast.yaml"), format!("{source}---\n{target}")).unwrap();
}

fn pending(plan: &Value) -> usize {
    plan["changes"].as_array().unwrap().len()
}

struct Set {
    name: &'static str,
    spec: &'static str,
    /// A file, a text in it, what it becomes, the object and the field.
    edit: [&'static str; 5],
    /// The document of this object is taken out.
    removed: [&'static str; 2],
    /// What a removal asks for: nobody serves an API group of this set, so nobody can tell what of it is in the Namespace.
    allow: &'static [&'static str],
    /// What is there no more once the Source is removed.
    gone: &'static [&'static str],
}

const SETS: [Set; 2] = [
    Set {
        name: "kube-prometheus",
        spec: "  path: manifests\n  namespaces: [\"*\"]\n  clusterKinds: [\"*\"]\n  permitInGit: [adopt]",
        edit: [
            "manifests/alertmanager-service.yaml",
            "targetPort: web",
            "targetPort: reloader-web",
            "Service/monitoring/alertmanager-main",
            "/spec/ports/0/targetPort",
        ],
        removed: ["manifests/grafana-service.yaml", "Service/monitoring/grafana"],
        allow: &["--allow", "Namespace/monitoring=1"],
        gone: &[
            "/api/v1/namespaces/monitoring",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/prometheuses.monitoring.coreos.com",
            "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io",
        ],
    },
    Set {
        name: "microservices-demo",
        spec: "  path: release\n  namespaces: [default]",
        edit: [
            "release/kubernetes-manifests.yaml",
            "value: \"8080\"",
            "value: \"8081\"",
            "Deployment.apps/default/frontend",
            "/spec/template/spec/containers/0/env/0/value",
        ],
        removed: ["release/kubernetes-manifests.yaml", "Service/default/frontend-external"],
        allow: &[],
        gone: &[
            "/apis/apps/v1/namespaces/default/deployments/frontend",
            "/api/v1/namespaces/default/services/frontend",
        ],
    },
];

fn both_real_sets() {
    let on = ControlPlane::start().unwrap();
    for set in &SETS {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        repo.copy_real(set.name);
        repo.commit("as published");
        let source = repo.source(set.name, &format!("{}\n  prune: true", set.spec));
        configure(&lab, &on, &source);

        let plan = lab.plan(&[]);
        let created = plan["summary"]["create"].as_u64().unwrap();
        assert!(created > 30, "{}: {created}", set.name);
        assert_eq!(pending(&plan) as u64, created, "{}: {:#}", set.name, plan["changes"]);
        lab.apply(&[]);
        let idle = lab.plan(&[]);
        assert_eq!(pending(&idle), 0, "{}: {:#}", set.name, idle["changes"]);
        assert_eq!(idle["summary"]["unchanged"].as_u64(), Some(created), "{}", set.name);

        let [file, from, to, object, field] = set.edit;
        let text = fs::read_to_string(repo.folder.join(file)).unwrap();
        repo.write(file, text.replacen(from, to, 1));
        repo.commit("one value");
        let plan = lab.plan(&[]);
        assert_eq!((changes(&plan, "update"), pending(&plan)), (vec![object.to_owned()], 1), "{}", set.name);
        let fields = change(&plan, object)["fields"].as_array().unwrap();
        assert_eq!(fields.len(), 1, "{fields:#?}");
        assert_eq!(fields[0]["path"], field);
        lab.apply(&[]);

        let [file, object] = set.removed;
        let name = object.rsplit('/').next().unwrap();
        let text = fs::read_to_string(repo.folder.join(file)).unwrap();
        let stays = |document: &&str| {
            !(document.contains("kind: Service\n") && document.contains(&format!("\n  name: {name}\n")))
        };
        let documents: Vec<&str> = text.split("\n---\n").collect();
        let left: Vec<&str> = documents.iter().copied().filter(stays).collect();
        assert_eq!(left.len() + 1, documents.len(), "{}", set.name);
        if left.is_empty() {
            repo.remove(file)
        } else {
            repo.write(file, left.join("\n---\n"))
        }
        repo.commit("one object less");
        let plan = lab.plan(&[]);
        assert_eq!((changes(&plan, "delete"), pending(&plan)), (vec![object.to_owned()], 1), "{}", set.name);
        lab.apply(&[]);

        let mut remove = vec!["source", "remove", set.name, "--prune", "--yes", "--allow-deletes", "500"];
        if !set.allow.is_empty() {
            let said = lab.run(&remove).exits(1);
            assert!(said.stderr.contains("*.metrics.k8s.io/monitoring/*"), "{said:?}");
        }
        remove.extend(set.allow);
        lab.run(&remove).ok();
        for url in set.gone {
            let hand = on.hand();
            hand.until(url, || hand.get(url).is_none());
        }
    }
}

const WIDGET: &str =
    "apiVersion: lab.example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\nspec: {size: 1";

fn definition(fields: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.lab.example.com}}\nspec:\n  \
         group: lab.example.com\n  scope: Namespaced\n  names: {{kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}}\n  \
         versions:\n    - name: v1\n      served: true\n      storage: true\n      schema:\n        openAPIV3Schema:\n          type: object\n          \
         properties:\n            spec:\n              type: object\n              properties: {{{fields}}}\n"
    )
}

fn upgraded_definition() {
    let on = ControlPlane::start().unwrap();
    let lab = Lab::new();
    let repo = lab.repo("repo");
    configure(
        &lab,
        &on,
        &repo
            .source("shop", "  namespaces: [default]\n  clusterKinds: [CustomResourceDefinition.apiextensions.k8s.io]"),
    );
    repo.write("definition.yaml", definition("size: {type: integer}"));
    repo.write("widget.yaml", format!("{WIDGET}}}\n"));
    repo.commit("first");
    let plan = lab.plan(&[]);
    assert_eq!(changes(&plan, "create").len(), 2);
    lab.apply(&[]);

    repo.write("definition.yaml", definition("size: {type: integer}, color: {type: string, enum: [red, blue]}"));
    repo.write("widget.yaml", format!("{WIDGET}, color: red}}\n"));
    repo.commit("second");
    let plan = lab.plan(&[]);
    assert_eq!(changes(&plan, "update").len(), 2, "{:#}", plan["changes"]);
    lab.apply(&[]);
    let live = on.hand().get("/apis/lab.example.com/v1/namespaces/default/widgets/w").unwrap();
    assert_eq!(live["spec"]["color"], "red");
    assert_eq!(pending(&lab.plan(&[])), 0);

    // By the schema of the same commit, too.
    repo.write("widget.yaml", format!("{WIDGET}, color: green}}\n"));
    repo.commit("third");
    let said = lab.run(&["apply", "--yes"]).exits(1);
    assert!(said.stderr.contains("widget.yaml") && said.stderr.contains("color"), "{said:?}");
    let live = on.hand().get("/apis/lab.example.com/v1/namespaces/default/widgets/w").unwrap();
    assert_eq!(live["spec"]["color"], "red");
}
