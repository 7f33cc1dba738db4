use std::collections::BTreeSet;

use holdfast::admission::on_draft::{Considered, old_object};
use holdfast::admission::unknown_waivers;
use holdfast::base::resource::GroupKind;
use holdfast::plan::document::{Action, Waiver};
use holdfast::source::spec::{Effect, NAMED_POLICIES, Policy, SourceSpec};
use serde_json::json;

use crate::support::{admitted_under, check, check_waived, refusals_under, spec, warnings};

const DIGEST: &str = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn named(rule: &'static str, effect: Effect) -> SourceSpec {
    SourceSpec { policies: vec![Policy::Named { rule, effect }], ..spec() }
}

fn cel(cel: &str, effect: Effect) -> SourceSpec {
    let kinds = BTreeSet::from([GroupKind::parse("Deployment.apps")]);
    let (name, message) = ("few".to_owned(), Some("at most 20".to_owned()));
    SourceSpec { policies: vec![Policy::Cel { name, kinds, cel: cel.to_owned(), message, effect }], ..spec() }
}

fn deployment(pod: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 30\n  selector: {{matchLabels: \
         {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n{pod}"
    )
}

/// What a rule says about a pod's specification; paths below it.
fn said(rule: &'static str, pod: &str) -> Vec<String> {
    let all = refusals_under(&named(rule, Effect::Deny), &deployment(pod));
    all.iter().map(|s| s.split_once("/spec/template/spec").map_or(s.clone(), |(_, below)| below.to_owned())).collect()
}

#[test]
fn image_digest_asks_every_container_of_the_template() {
    let pod = format!(
        "      initContainers: [{{name: i, image: \"i:1\"}}]\n      containers: [{{name: a, image: \"a:1{DIGEST}\"}}, {{name: b, image: \"b@sha256:12\"}}]\n"
    );
    assert_eq!(said("image-digest", &pod), ["/initContainers/0/image", "/containers/1/image"]);
}

#[test]
fn no_latest_tag_knows_ports_of_registries_and_digests() {
    let pod = |image: &str| format!("      containers: [{{name: a, image: \"{image}\"}}]\n");
    for bad in ["nginx", "nginx:latest", "reg.example:5000/nginx", "nginx:latest@sha256:12"] {
        assert_eq!(said("no-latest-tag", &pod(bad)), ["/containers/0/image"], "{bad}");
    }
    for good in ["nginx:1.27", "reg.example:5000/nginx:1", &format!("nginx{DIGEST}")] {
        assert!(said("no-latest-tag", &pod(good)).is_empty(), "{good}");
    }
}

#[test]
fn probes_are_asked_of_what_goes_on_running() {
    let probe = "{httpGet: {path: /, port: 80}}";
    let both = format!("livenessProbe: {probe}, readinessProbe: {probe}");
    assert_eq!(said("probes", "      containers: [{name: a, image: a}]\n").len(), 2);
    assert!(
        said(
            "probes",
            &format!(
                "      initContainers: [{{name: i, image: i}}]\n      containers: [{{name: a, image: a, {both}}}]\n"
            )
        )
        .is_empty()
    );
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec: {restartPolicy: Never, containers: [{name: a, image: a}]}\n";
    assert!(refusals_under(&named("probes", Effect::Deny), job).is_empty());
}

#[test]
fn resources_are_asked_of_containers_or_their_pod() {
    assert_eq!(said("resources", "      containers: [{name: a, image: a}]\n").len(), 3);
    let limits = "resources: {limits: {cpu: \"1\", memory: 1Gi}}";
    assert!(said("resources", &format!("      containers: [{{name: a, image: a, {limits}}}]\n")).is_empty());
    assert!(said("resources", &format!("      {limits}\n      containers: [{{name: a, image: a}}]\n")).is_empty());
}

#[test]
fn run_as_non_root_reads_container_before_pod() {
    let pod = |of_pod: &str, of_container: &str| {
        format!(
            "      securityContext: {{{of_pod}}}\n      containers: [{{name: a, image: a, securityContext: {{{of_container}}}}}]\n"
        )
    };
    assert_eq!(said("run-as-non-root", &pod("", "")).len(), 1);
    assert!(said("run-as-non-root", &pod("runAsNonRoot: true", "")).is_empty());
    assert_eq!(
        said("run-as-non-root", &pod("runAsNonRoot: true", "runAsNonRoot: false")),
        ["/containers/0/securityContext/runAsNonRoot"]
    );
    assert_eq!(said("run-as-non-root", &pod("runAsNonRoot: true, runAsUser: 0", "")), ["/securityContext/runAsUser"]);
}

#[test]
fn no_host_access_finds_every_way_into_the_node() {
    let pod = "      hostNetwork: true\n      hostPID: false\n      volumes: [{name: v, hostPath: {path: /}}, {name: e, emptyDir: {}}]\n      \
               containers:\n      - {name: a, image: a, securityContext: {privileged: true}, ports: [{containerPort: 80, hostPort: 80}]}\n";
    assert_eq!(
        said("no-host-access", pod),
        [
            "/hostNetwork",
            "/volumes/0/hostPath",
            "/containers/0/securityContext/privileged",
            "/containers/0/ports/0/hostPort"
        ]
    );
}

#[test]
fn named_policies_reach_cron_jobs_and_custom_resources() {
    let cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n  schedule: \"* * * * *\"\n  jobTemplate:\n    spec:\n      template:\n        spec: {restartPolicy: Never, containers: [{name: a, image: a}]}\n";
    assert_eq!(
        refusals_under(&named("no-latest-tag", Effect::Deny), cron),
        ["9 no-latest-tag /spec/jobTemplate/spec/template/spec/containers/0/image"]
    );
    let custom = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rollouts.lab.example.com}\nspec:\n  group: lab.example.com\n  scope: Namespaced\n  names: {plural: rollouts, singular: rollout, kind: Rollout}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n---\napiVersion: lab.example.com/v1\nkind: Rollout\nmetadata: {name: r}\nspec: {pod: {containers: [{name: a, image: a}]}}\n";
    assert_eq!(
        refusals_under(&named("no-latest-tag", Effect::Deny), custom),
        ["13 no-latest-tag /spec/pod/containers/0/image"]
    );
}

#[test]
fn policies_can_warn_and_be_waived_by_name() {
    let text = deployment("      containers: [{name: a, image: a}]\n");
    let set = admitted_under(&named("no-latest-tag", Effect::Warn), &text);
    assert_eq!(warnings(&set), ["no-latest-tag /spec/template/spec/containers/0/image"]);
    let set = check_waived(&named("no-latest-tag", Effect::Deny), &text, "no-latest-tag").unwrap();
    assert_eq!(set.waived()[0].rule, "no-latest-tag");
    // A waiver that nothing needed isn't recorded, and one of another name waives nothing.
    let fine = deployment("      containers: [{name: a, image: \"a:1\"}]\n");
    assert!(check_waived(&named("no-latest-tag", Effect::Deny), &fine, "no-latest-tag").unwrap().waived().is_empty());
    assert!(check_waived(&named("no-latest-tag", Effect::Deny), &text, "probes").is_err());
}

#[test]
fn only_policies_can_be_waived_and_only_with_a_reason() {
    let source = named("no-latest-tag", Effect::Deny);
    let waiver = |rule: &str, reason: &str| Waiver { rule: rule.to_owned(), reason: reason.to_owned() };
    let texts = |waiver: Waiver| -> Vec<String> {
        unknown_waivers(&[&spec(), &source], &[waiver]).into_iter().map(|f| format!("{}: {}", f.rule, f.text)).collect()
    };
    assert!(texts(waiver("no-latest-tag", "hotfix")).is_empty());
    assert!(texts(waiver("no-latest-tag", " "))[0].contains("no reason"));
    assert!(texts(waiver("scope-violation", "please"))[0].contains("can't be waived"));
    assert!(texts(waiver("nothing", "please"))[0].contains("there is no policy"));
}

#[test]
fn expressions_judge_their_kinds_and_fail_closed() {
    let web = deployment("      containers: [{name: a, image: a}]\n");
    let conf = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    assert_eq!(refusals_under(&cel("object.spec.replicas <= 20", Effect::Deny), &web), ["1 policy -"]);
    assert!(refusals_under(&cel("object.spec.replicas <= 30", Effect::Deny), &web).is_empty());
    assert!(refusals_under(&cel("object.spec.replicas <= 20", Effect::Deny), conf).is_empty());
    assert!(refusals_under(&cel("object.metadata.namespace in source.namespaces", Effect::Deny), &web).is_empty());
    assert_eq!(refusals_under(&cel("object.spec.nothing == 1", Effect::Deny), &web), ["1 policy -"]);
    assert_eq!(refusals_under(&cel("object.spec.replicas", Effect::Deny), &web), ["1 policy -"]);
    let rejection = check(&cel("object.spec.replicas <= 20", Effect::Deny), &[("a.yaml", &web)]).unwrap_err();
    assert!(rejection.first_text().contains("policy few: at most 20"), "{rejection:?}");
}

#[test]
fn an_expression_that_does_not_compile_or_reads_what_is_not_there_refuses_the_whole() {
    let conf = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    assert_eq!(refusals_under(&cel("object.spec.", Effect::Deny), conf), ["0 policy -"]);
    assert_eq!(refusals_under(&cel("request.userInfo == ''", Effect::Warn), conf), ["0 policy -"]);
}

#[test]
fn expressions_over_the_live_object_are_judged_on_the_draft() {
    let source = cel("oldObject == null || object.spec.replicas >= oldObject.spec.replicas", Effect::Deny);
    let text = deployment("      containers: [{name: a, image: a}]\n");
    assert!(
        refusals_under(&cel("oldObject != null", Effect::Deny), &text).is_empty(),
        "judged before the live object is read"
    );
    let set = admitted_under(&source, &text);
    let checked = &set.manifests()[0];
    let judge = |live: Option<&serde_json::Value>, action| {
        let considered =
            Considered { id: checked.id(), action, checked: Some(checked), live, after: Some(checked.declared()) };
        old_object::judge(&considered, set.policies()).faults.len()
    };
    assert_eq!(judge(None, Action::Create), 0);
    assert_eq!(judge(Some(&json!({"spec": {"replicas": 40}})), Action::Update), 1);
    assert_eq!(judge(Some(&json!({"spec": {"replicas": 20}})), Action::Update), 0);
}

#[test]
fn every_named_policy_is_known() {
    for rule in NAMED_POLICIES {
        let pod = "      hostNetwork: true\n      containers: [{name: a, image: a}]\n";
        assert!(!said(rule, pod).is_empty(), "{rule} says nothing");
    }
}
