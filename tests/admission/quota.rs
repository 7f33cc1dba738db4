use std::collections::BTreeMap;

use holdfast::admission::on_draft::{Considered, Facts, quota};
use holdfast::base::fault::Class;
use holdfast::plan::document::Action;
use holdfast::target::Live;
use serde_json::{Value, json};

use crate::support::{admitted, creates, id, live};

fn quota_of(spec: Value) -> Live {
    live(
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}, "spec": spec}),
    )
}

fn hard(limits: Value) -> Live {
    quota_of(json!({"hard": limits}))
}

/// The verdict on creating what a file declares, among what is live.
fn judge(text: &str, contents: &[Live]) -> quota::Verdict {
    let set = admitted(text);
    let facts = Facts { namespaces: &BTreeMap::new(), contents, catalog: set.catalog() };
    quota::judge(&creates(&set), &facts)
}

fn texts(text: &str, contents: &[Live]) -> Vec<String> {
    judge(text, contents).faults.into_iter().map(|fault| fault.text).collect()
}

fn deployment(name: &str, replicas: u32, resources: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  selector: \
         {{matchLabels: {{app: {name}}}}}\n  template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: a, \
         image: a, resources: {{{resources}}}}}]}}}}\n"
    )
}

fn config_maps(count: usize) -> String {
    (0..count).map(|n| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\n")).collect()
}

#[test]
fn objects_are_counted_as_a_sum_over_the_plan() {
    let used =
        live(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there", "namespace": "shop"}}));
    for limit in ["configmaps", "count/configmaps"] {
        let contents = [hard(json!({limit: "3"})), used.clone()];
        assert!(texts(&config_maps(2), &contents).is_empty());
        assert_eq!(
            texts(&config_maps(5), &contents),
            [format!("ResourceQuota/shop/q allows 3 of {limit}: 1 is used and the plan asks for 5 more, 6 in all")]
        );
    }
    let verdict = judge(&config_maps(5), &[hard(json!({"configmaps": "3"}))]);
    assert_eq!(verdict.faults[0].class, Class::Target);
    assert_eq!(verdict.faults[0].id.as_ref(), Some(&id("ResourceQuota/shop/q")));
    assert_eq!(verdict.faults[0].holds.len(), 5);
}

#[test]
fn counts_of_kinds_in_groups_are_named_by_their_plural() {
    let text = format!("{}{}", deployment("a", 1, ""), deployment("b", 1, ""));
    assert_eq!(
        texts(&text, &[hard(json!({"count/deployments.apps": "1", "count/deployments.extensions": "0"}))]).len(),
        1
    );
}

#[test]
fn workloads_count_with_all_their_pods_and_their_requests() {
    let resources = "requests: {cpu: 250m, memory: 64Mi}, limits: {memory: 128Mi}";
    let text = format!("{}{}", deployment("a", 3, resources), deployment("b", 2, resources));
    let fits = hard(json!({"pods": "5", "requests.cpu": "1250m", "memory": "320Mi", "limits.memory": "640Mi"}));
    assert!(texts(&text, &[fits]).is_empty());
    let tight = hard(json!({"pods": "4", "cpu": "1", "requests.memory": "300Mi", "limits.memory": "600Mi"}));
    assert_eq!(
        texts(&text, &[tight]),
        [
            "ResourceQuota/shop/q allows 1 of cpu: 0 is used and the plan asks for 1250m more, 1250m in all",
            "ResourceQuota/shop/q allows 600Mi of limits.memory: 0 is used and the plan asks for 640Mi more, 640Mi in all",
            "ResourceQuota/shop/q allows 4 of pods: 0 is used and the plan asks for 5 more, 5 in all",
            "ResourceQuota/shop/q allows 300Mi of requests.memory: 0 is used and the plan asks for 320Mi more, 320Mi in all",
        ]
    );
}

#[test]
fn pods_of_a_live_workload_count_once() {
    let owner = |kind: &str, uid: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": uid, "controller": true}]);
    let pod_spec = json!({"containers": [{"name": "a", "image": "a"}]});
    let template = json!({"spec": pod_spec});
    let mut contents = vec![
        hard(json!({"pods": "3"})),
        live(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "shop", "uid": "d"},
            "spec": {"replicas": 2, "template": template}}),
        ),
        live(
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "d-1", "namespace": "shop", "uid": "r",
            "ownerReferences": owner("Deployment", "d")}, "spec": {"replicas": 2, "template": template}}),
        ),
    ];
    for n in 0..2 {
        contents.push(live(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("d-1-{n}"), "namespace": "shop",
            "ownerReferences": owner("ReplicaSet", "r")}, "spec": pod_spec}),
        ));
    }
    assert!(texts(&deployment("new", 1, ""), &contents).is_empty());
    assert_eq!(texts(&deployment("new", 2, ""), &contents).len(), 1);
    // A Pod whose controller is of no kind that is counted counts itself.
    contents.push(live(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "op", "namespace": "shop",
        "ownerReferences": owner("Operator", "o")}, "spec": pod_spec})));
    assert_eq!(texts(&deployment("new", 1, ""), &contents).len(), 1);
    // One that has ended needs nothing.
    contents.last_mut().unwrap().object["status"] = json!({"phase": "Succeeded"});
    assert!(texts(&deployment("new", 1, ""), &contents).is_empty());
}

#[test]
fn an_update_counts_its_difference_and_a_delete_frees_nothing() {
    let old = admitted(&deployment("a", 2, ""));
    let new = admitted(&deployment("a", 4, ""));
    let (before, after) = (&old.manifests()[0], &new.manifests()[0]);
    let contents = [hard(json!({"pods": "3"})), live(before.declared().clone())];
    let facts = Facts { namespaces: &BTreeMap::new(), contents: &contents, catalog: new.catalog() };
    let change = |action, after| Considered {
        id: before.id(),
        action,
        checked: Some(before),
        live: Some(before.declared()),
        after,
    };
    let verdict = quota::judge(&[change(Action::Update, Some(after.declared()))], &facts);
    assert!(verdict.faults[0].text.contains("2 is used and the plan asks for 2 more, 4 in all"), "{verdict:?}");
    // Beside a delete of the two pods, a new one of two doesn't fit.
    let other = admitted(&deployment("b", 2, ""));
    let create = creates(&other)[0];
    assert_eq!(quota::judge(&[create, change(Action::Delete, None)], &facts).faults.len(), 1);
    // What is over the limit already and isn't raised is not this plan's fault.
    let over = [hard(json!({"pods": "1"})), live(before.declared().clone())];
    let facts = Facts { contents: &over, ..facts };
    assert!(quota::judge(&[change(Action::Update, Some(before.declared()))], &facts).faults.is_empty());
}

#[test]
fn a_quota_of_the_plan_itself_counts_as_it_will_be() {
    let quota =
        "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {configmaps: \"LIMIT\"}}\n";
    assert_eq!(texts(&format!("{}{}", quota.replace("LIMIT", "1"), config_maps(2)), &[]).len(), 1);
    let raised = format!("{}{}", quota.replace("LIMIT", "2"), config_maps(2));
    assert!(texts(&raised, &[hard(json!({"configmaps": "1"}))]).is_empty());
}

#[test]
fn jobs_count_what_runs_at_once_and_cron_jobs_nothing() {
    let job = |spec: &str| {
        format!(
            "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec: {{{spec}template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}}}\n"
        )
    };
    let two = [hard(json!({"pods": "2"}))];
    assert!(texts(&job("parallelism: 5, completions: 2, "), &two).is_empty());
    assert_eq!(texts(&job("parallelism: 5, "), &two).len(), 1);
    assert!(texts(&job("parallelism: 5, suspend: true, "), &two).is_empty());
    let cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {schedule: \"* * * * *\", jobTemplate: {spec: {parallelism: 9, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}\n";
    assert!(texts(cron, &two).is_empty());
}

#[test]
fn claims_count_by_storage_and_class_those_of_stateful_sets_too() {
    let claim = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec: {{storageClassName: fast, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 2Gi}}}}}}\n"
        )
    };
    let set = "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: 3\n  serviceName: db\n  selector: {matchLabels: {app: db}}\n  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: a, image: a}]}}\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n";
    let text = format!("{}{set}", claim("one"));
    let limits = hard(
        json!({"requests.storage": "4Gi", "persistentvolumeclaims": "4", "fast.storageclass.storage.k8s.io/requests.storage": "1Gi"}),
    );
    assert_eq!(
        texts(&text, std::slice::from_ref(&limits)),
        [
            "ResourceQuota/shop/q allows 1Gi of fast.storageclass.storage.k8s.io/requests.storage: 0 is used and the plan asks for 2Gi more, 2Gi in all",
            "ResourceQuota/shop/q allows 4Gi of requests.storage: 0 is used and the plan asks for 5Gi more, 5Gi in all",
        ]
    );
    let there = live(
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-db-0", "namespace": "shop"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
    );
    // A claim that is there already is not made again.
    assert_eq!(texts(set, &[hard(json!({"persistentvolumeclaims": "3"})), there.clone()]), Vec::<String>::new());
    assert_eq!(texts(set, &[hard(json!({"persistentvolumeclaims": "2"})), there]).len(), 1);
}

#[test]
fn a_quota_with_scopes_counts_its_pods_alone() {
    let best_effort = deployment("a", 3, "");
    let limited = deployment("a", 3, "limits: {memory: 1Mi}");
    let scoped = |scope: &str| [quota_of(json!({"hard": {"pods": "2", "configmaps": "0"}, "scopes": [scope]}))];
    assert_eq!(texts(&best_effort, &scoped("BestEffort")).len(), 1);
    assert!(texts(&limited, &scoped("BestEffort")).is_empty());
    assert_eq!(texts(&limited, &scoped("NotBestEffort")).len(), 1);
    assert!(texts(&best_effort, &scoped("Terminating")).is_empty());
    assert_eq!(texts(&best_effort, &scoped("NotTerminating")).len(), 1);
    assert!(texts(&config_maps(1), &scoped("BestEffort")).is_empty());
    let class = |operator: &str, values: Value| {
        let expression = json!({"scopeName": "PriorityClass", "operator": operator, "values": values});
        [quota_of(json!({"hard": {"pods": "2"}, "scopeSelector": {"matchExpressions": [expression]}}))]
    };
    let high = best_effort.replace("{containers:", "{priorityClassName: high, containers:");
    assert_eq!(texts(&high, &class("In", json!(["high"]))).len(), 1);
    assert!(texts(&best_effort, &class("In", json!(["high"]))).is_empty());
    assert!(texts(&high, &class("NotIn", json!(["high"]))).is_empty());
    assert_eq!(texts(&high, &class("Exists", json!([]))).len(), 1);
    assert_eq!(texts(&best_effort, &class("DoesNotExist", json!([]))).len(), 1);
}

#[test]
fn services_count_their_ports_and_balancers() {
    let service = |kind: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {{type: {kind}, ports: [{{name: a, port: 1}}, {{name: b, port: 2}}]}}\n"
        )
    };
    let limits = [hard(json!({"services": "1", "services.nodeports": "1", "services.loadbalancers": "0"}))];
    assert!(texts(&service("ClusterIP"), &limits).is_empty());
    assert_eq!(texts(&service("NodePort"), &limits).len(), 1);
    assert_eq!(texts(&service("LoadBalancer"), &limits).len(), 2);
}

#[test]
fn a_pod_that_does_not_say_what_a_quota_counts_is_refused_and_a_workload_of_such_pods_warns() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: a, image: a}\n";
    let limits = [hard(json!({"requests.cpu": "4"}))];
    let verdict = judge(pod, &limits);
    assert_eq!(crate::support::short(&verdict.faults[0]), "6 quota /spec/containers/0");
    let verdict = judge(&deployment("a", 1, ""), &limits);
    assert!(verdict.faults.is_empty());
    assert_eq!(verdict.warnings.len(), 1);
    let range = live(json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "shop"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "5"}}]}}));
    let verdict = judge(pod, &[limits[0].clone(), range]);
    assert!(verdict.faults[0].text.contains("asks for 5 more"), "{verdict:?}");
}

#[test]
fn init_containers_count_by_their_largest_moment() {
    let pod = |init: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  initContainers: [{init}]\n  containers: [{{name: a, image: a, resources: {{requests: {{cpu: \"1\"}}}}}}]\n"
        )
    };
    let cpu = |text: &str| {
        let limits = [hard(json!({"cpu": "100m"}))];
        texts(text, &limits)[0].split("asks for ").nth(1).unwrap().split(' ').next().unwrap().to_owned()
    };
    let asks = |name: &str, cpu: &str, more: &str| {
        format!("{{name: {name}, image: a, {more}resources: {{requests: {{cpu: \"{cpu}\"}}}}}}")
    };
    assert_eq!(cpu(&pod(&asks("i", "3", ""))), "3");
    assert_eq!(cpu(&pod(&format!("{}, {}", asks("i", "500m", ""), asks("j", "500m", "")))), "1");
    assert_eq!(cpu(&pod(&asks("i", "500m", "restartPolicy: Always, "))), "1500m");
}
