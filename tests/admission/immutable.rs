use holdfast::admission::on_draft::{Considered, immutable, replace};
use holdfast::plan::document::Action;
use serde_json::{Value, json};

use crate::support::{admitted, short};

/// What can't change from a live object to a manifest, as `LINE RULE PATH`; what is after is the declared object.
fn refused(live: &Value, text: &str) -> Vec<String> {
    let set = admitted(text);
    let checked = &set.manifests()[0];
    let considered = Considered {
        id: checked.id(),
        action: Action::Update,
        checked: Some(checked),
        live: Some(live),
        after: Some(checked.declared()),
    };
    immutable::judge(&considered).iter().map(short).collect()
}

/// The same with the live object as a manifest.
fn changed(live: &str, after: &str) -> Vec<String> {
    refused(admitted(live).manifests()[0].declared(), after)
}

const WEB: &str = "apiVersion: apps/v1\nkind: KIND\nmetadata: {name: web}\nspec:\n  selector:\n    matchLabels: {app: web}\n  template: {metadata: {labels: {app: web, tier: front}}, spec: {containers: [{name: a, image: a}]}}\n";

#[test]
fn selectors_of_workloads_stay_and_their_templates_may_change() {
    for kind in ["Deployment", "DaemonSet", "ReplicaSet", "StatefulSet"] {
        let old = WEB.replace("KIND", kind);
        let new = old.replace("{app: web}\n", "{app: web, tier: front}\n");
        assert_eq!(changed(&old, &new), ["5 immutable-field /spec/selector"], "{kind}");
        assert!(changed(&old, &old.replace("image: a", "image: b")).is_empty(), "{kind}");
    }
}

#[test]
fn a_stateful_set_changes_in_seven_fields_only() {
    let old = format!("{}  serviceName: web\n", WEB.replace("KIND", "StatefulSet"));
    assert!(changed(&old, &format!("{old}  replicas: 3\n  minReadySeconds: 5\n")).is_empty());
    assert_eq!(
        changed(&old, &old.replace("serviceName: web", "serviceName: db")),
        ["8 immutable-field /spec/serviceName"]
    );
    // The default that nobody stored is the same as the default that somebody writes.
    assert!(changed(&old, &format!("{old}  podManagementPolicy: OrderedReady\n")).is_empty());
    assert_eq!(
        changed(&old, &format!("{old}  podManagementPolicy: Parallel\n")),
        ["9 immutable-field /spec/podManagementPolicy"]
    );
    let claims = |size: &str| {
        format!(
            "{old}  volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}}}}}]\n"
        )
    };
    assert_eq!(changed(&claims("1Gi"), &claims("2Gi")), ["9 immutable-field /spec/volumeClaimTemplates"]);
    assert!(changed(&claims("1Gi"), &claims("1024Mi")).is_empty());
}

const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  SPEC\n  template: {spec: {restartPolicy: Never, containers: [{name: a, image: \"a:1\"}]}}\n";

#[test]
fn a_jobs_template_is_named_as_a_whole_and_its_limits_may_change() {
    let old = JOB.replace("SPEC", "backoffLimit: 1");
    assert_eq!(changed(&old, &old.replace("a:1", "a:2")), ["6 immutable-field /spec/template"]);
    assert!(
        changed(
            &old,
            &JOB.replace("SPEC", "{backoffLimit: 2, ttlSecondsAfterFinished: 5}").replace(
                "{backoffLimit: 2, ttlSecondsAfterFinished: 5}",
                "backoffLimit: 2\n  ttlSecondsAfterFinished: 5"
            )
        )
        .is_empty()
    );
    assert_eq!(changed(&old, &JOB.replace("SPEC", "completions: 3")), ["5 immutable-field /spec/completions"]);
    assert!(changed(&old, &JOB.replace("SPEC", "completions: 1")).is_empty());
}

#[test]
fn a_suspended_job_that_never_ran_may_be_scheduled_elsewhere() {
    let old = JOB.replace("SPEC", "suspend: true");
    let moved = old.replace("{restartPolicy: Never,", "{restartPolicy: Never, nodeSelector: {disk: ssd},");
    assert!(changed(&old, &moved).is_empty());
    assert_eq!(changed(&old, &old.replace("a:1", "a:2")), ["6 immutable-field /spec/template"]);
    let mut ran = admitted(&old).manifests()[0].declared().clone();
    ran["status"] = json!({"startTime": "2026-01-01T00:00:00Z"});
    assert_eq!(refused(&ran, &moved), ["6 immutable-field /spec/template"]);
}

#[test]
fn a_service_keeps_its_address_unless_it_points_elsewhere() {
    let service = |spec: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  {spec}\n  ports: [{{port: 80}}]\n")
    };
    let given = json!({"spec": {"clusterIP": "10.0.0.8", "ports": [{"port": 80}]}});
    assert_eq!(refused(&given, &service("clusterIP: None")), ["5 immutable-field /spec/clusterIP"]);
    assert_eq!(refused(&given, &service("clusterIP: 10.0.0.9")), ["5 immutable-field /spec/clusterIP"]);
    assert!(refused(&given, &service("clusterIP: \"\"")).is_empty());
    assert!(refused(&given, &service("clusterIP: 10.0.0.8")).is_empty());
    assert!(refused(&json!({"spec": {}}), &service("clusterIP: None")).is_empty());
    assert!(refused(&given, &service("type: ExternalName\n  externalName: a.example")).is_empty());
}

#[test]
fn a_claim_may_grow_and_nothing_else() {
    let claim = |class: &str, size: &str| {
        format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: d}}\nspec:\n  accessModes: [ReadWriteOnce]\n  storageClassName: {class}\n  resources:\n    requests:\n      storage: {size}\n"
        )
    };
    assert!(changed(&claim("fast", "1Gi"), &claim("fast", "2Gi")).is_empty());
    assert!(changed(&claim("fast", "1Gi"), &claim("fast", "1024Mi")).is_empty());
    assert_eq!(
        changed(&claim("fast", "2Gi"), &claim("fast", "1Gi")),
        ["9 immutable-field /spec/resources/requests/storage"]
    );
    assert_eq!(changed(&claim("fast", "1Gi"), &claim("slow", "1Gi")), ["6 immutable-field /spec/storageClassName"]);
}

#[test]
fn immutable_config_maps_and_secrets_stay_as_they_are() {
    let conf = |rest: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n{rest}\n");
    let old = conf("immutable: true\ndata: {a: \"1\"}");
    assert_eq!(changed(&old, &conf("immutable: true\ndata: {a: \"2\"}")), ["5 immutable-field /data"]);
    assert_eq!(changed(&old, &conf("data: {a: \"1\"}")).len(), 1);
    assert!(changed(&conf("data: {a: \"1\"}"), &conf("immutable: true\ndata: {a: \"2\"}")).is_empty());
    let secret = |rest: &str| format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n{rest}\n");
    let old = secret("immutable: true\nstringData: {a: x}");
    assert_eq!(changed(&old, &secret("immutable: true\nstringData: {a: z}")), ["5 immutable-field /stringData"]);
    assert!(changed(&old, &secret("immutable: true\ndata: {a: eA==}")).is_empty());
    assert_eq!(
        changed(&secret("data: {}"), &secret("type: kubernetes.io/basic-auth\nstringData: {username: a, password: b}")),
        ["4 immutable-field /type"]
    );
    assert!(changed(&secret("data: {}"), &secret("type: Opaque")).is_empty());
}

#[test]
fn a_binding_keeps_its_role_and_a_removed_field_is_shown_at_its_parent() {
    let binding = |role: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: b}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {role}}}\n"
        )
    };
    assert_eq!(changed(&binding("a"), &binding("b")), ["4 immutable-field /roleRef"]);
    let class = |rest: &str| {
        format!("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: c}}\nprovisioner: p\n{rest}")
    };
    assert_eq!(changed(&class("parameters: {a: b}\n"), &class("")), ["1 immutable-field -"]);
    assert!(changed(&class(""), &class("reclaimPolicy: Delete\n")).is_empty());
    assert_eq!(changed(&class(""), &class("reclaimPolicy: Retain\n")), ["5 immutable-field /reclaimPolicy"]);
}

#[test]
fn a_version_that_objects_are_stored_in_cannot_go() {
    let crd = |versions: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.lab.example.com}}\nspec:\n  group: lab.example.com\n  scope: Namespaced\n  names: {{plural: widgets, singular: widget, kind: Widget}}\n  versions:\n{versions}"
        )
    };
    let version = |name: &str, storage: bool| {
        format!(
            "  - {{name: {name}, served: true, storage: {storage}, schema: {{openAPIV3Schema: {{type: object}}}}}}\n"
        )
    };
    let mut live = admitted(&crd(&version("v1", true))).manifests()[0].declared().clone();
    live["status"] = json!({"storedVersions": ["v1"]});
    assert_eq!(refused(&live, &crd(&version("v2", true))), ["8 immutable-field /spec/versions"]);
    assert!(refused(&live, &crd(&format!("{}{}", version("v1", false), version("v2", true)))).is_empty());
    assert_eq!(
        refused(&live, &crd(&version("v1", true)).replace("Namespaced", "Cluster")),
        ["6 immutable-field /spec/scope"]
    );
}

#[test]
fn only_writes_over_live_objects_are_judged_and_a_replace_says_what_it_costs() {
    let old = JOB.replace("SPEC", "backoffLimit: 1");
    let before = admitted(&old);
    let set = admitted(&old.replace("a:1", "a:2"));
    let checked = &set.manifests()[0];
    let considered = |action| Considered {
        id: checked.id(),
        action,
        checked: Some(checked),
        live: Some(before.manifests()[0].declared()),
        after: Some(checked.declared()),
    };
    assert!(immutable::judge(&considered(Action::Replace)).is_empty());
    assert_eq!(immutable::judge(&considered(Action::Adopt)).len(), 1);
    let warning = replace::warning(&considered(Action::Replace)).unwrap();
    assert!(warning.text.contains("Job.batch/shop/j") && warning.text.contains("again"), "{}", warning.text);
    assert!(replace::warning(&considered(Action::Update)).is_none());
    assert!(replace::judge(&considered(Action::Replace)).is_none());
}

#[test]
fn a_namespace_is_never_made_anew() {
    let set = admitted("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    let checked = &set.manifests()[0];
    let considered = Considered {
        id: checked.id(),
        action: Action::Replace,
        checked: Some(checked),
        live: None,
        after: Some(checked.declared()),
    };
    assert_eq!(short(&replace::judge(&considered).unwrap()), "1 protected-delete -");
}
