//! Faults of built-in kinds: the rule and the place of each.

use crate::{deployment, faults, hints};

const CONTAINER: &str = "containers: [{name: web, image: \"registry.example.com/web:1\"}]";

#[test]
fn a_sound_object_has_no_fault() {
    assert_eq!(faults(&deployment(CONTAINER)), [""; 0]);
}

#[test]
fn misplaced_and_misspelt_fields_are_named_with_the_right_place() {
    let text = deployment(
        "containers:\n- name: web\n  image: registry.example.com/web:1\n  resources:\n  requests: {cpu: 50m}",
    )
    .replace("  selector:", "  replicaz: 2\n  selector:");
    assert_eq!(
        faults(&text),
        ["unknown-field /spec/replicaz", "unknown-field /spec/template/spec/containers/0/requests"]
    );
    assert_eq!(hints(&text), ["did you mean replicas?", "requests belongs in resources"]);

    let text = deployment(&format!("{CONTAINER}\nenv: [{{name: A, value: b}}]"));
    assert_eq!(faults(&text), ["unknown-field /spec/template/spec/env"]);
    assert_eq!(hints(&text), ["env belongs in containers[]"]);

    let text = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}, \
                externalTrafficPolicy: Local}";
    assert_eq!(faults(text), ["unknown-field /externalTrafficPolicy"]);
    assert_eq!(hints(text), ["externalTrafficPolicy belongs in spec"]);

    let text = deployment(&format!("{CONTAINER}\nreplicas: 2"));
    assert_eq!(hints(&text), ["replicas belongs in /spec"]);
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, data: {a: b}}}";
    assert_eq!(hints(text), ["data belongs at the top, beside spec and metadata"]);
}

#[test]
fn a_spec_under_a_wrong_name_is_unknown_and_missing() {
    let text = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: lost}, specASDU: {replicas: 1}}";
    assert_eq!(faults(text), ["unknown-field /specASDU", "missing-field "]);
    assert_eq!(hints(text), ["did you mean spec?"]);
}

#[test]
fn unquoted_scalars_in_text_fields_are_refused_all_at_once() {
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {id: 811110}, annotations: {p: 8181}}, \
                data: {a: true, b: 1, c: 1.5, ok: text}}";
    assert_eq!(
        faults(text),
        [
            "type-mismatch /data/a",
            "type-mismatch /data/b",
            "type-mismatch /data/c",
            "type-mismatch /metadata/annotations/p",
            "type-mismatch /metadata/labels/id"
        ]
    );
    assert_eq!(hints(text), ["write it in quotes"; 5]);
}

#[test]
fn file_modes_are_numbers_up_to_0777() {
    let volume = |mode: &str| {
        deployment(&format!("{CONTAINER}\nvolumes: [{{name: v, secret: {{secretName: s, defaultMode: {mode}}}}}]"))
    };
    let at = "/spec/template/spec/volumes/0/secret/defaultMode";
    assert_eq!(faults(&volume("256")), [""; 0]);
    assert_eq!(faults(&volume("511")), [""; 0]);
    assert_eq!(faults(&volume("512")), [format!("out-of-range {at}")]);
    assert_eq!(faults(&volume("-1")), [format!("out-of-range {at}")]);
    assert_eq!(faults(&volume("\"0400\"")), [format!("type-mismatch {at}")]);
    assert_eq!(hints(&volume("\"0400\"")), ["write it without quotes"]);
    assert_eq!(hints(&volume("\"0o800\"")), [""; 0]);
}

#[test]
fn null_is_no_field_but_in_maps_of_texts_it_has_no_one_meaning() {
    let text = deployment("containers: [{name: a, image: a, livenessProbe: null, resources: null}]\nvolumes: null");
    assert_eq!(faults(&text.replace("{name: web, ", "{labels: null, creationTimestamp: null, name: web, ")), [""; 0]);
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: null, j: v}}";
    assert_eq!(faults(text), ["type-mismatch /data/k"]);
    assert_eq!(faults(&deployment("containers: null")), ["missing-field /spec/template/spec"]);
}

#[test]
fn empty_maps_and_lists_are_sound() {
    let text = deployment(
        "nodeSelector: {}\naffinity: {}\ntolerations: []\nsecurityContext: {}\ninitContainers: []\ncontainers:\n\
         - {name: a, image: a, args: [], env: [{name: E, value: \"\"}], resources: {limits: {}, requests: {}}}",
    );
    assert_eq!(faults(&text.replace("  selector:", "  strategy: {}\n  selector:")), [""; 0]);
}

#[test]
fn quantities_are_read_as_kubernetes_does() {
    let range = |memory: &str| {
        format!(
            "{{apiVersion: v1, kind: LimitRange, metadata: {{name: l}}, spec: {{limits: [{{type: Container, max: {{memory: {memory}}}}}]}}}}"
        )
    };
    for good in ["1Gi", "0.5", "129e6", "\"1\"", "1E", "100m", "1e3"] {
        assert_eq!(faults(&range(good)), [""; 0], "{good}");
    }
    for bad in ["1GB", "1gi", "1 Gi", "512MB"] {
        assert_eq!(faults(&range(bad)), ["type-mismatch /spec/limits/0/max/memory"], "{bad}");
    }
    assert_eq!(hints(&range("1GB")), ["G or Gi"]);
    assert_eq!(hints(&range("1 Gi")), ["G or Gi"]);
    assert_eq!(hints(&range("1mb")), ["M or Mi"]);
    assert_eq!(faults(&range("true")), ["type-mismatch /spec/limits/0/max/memory"]);
}

#[test]
fn bad_base64_is_refused_and_never_shown() {
    let text = "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {pass: hunter2}, stringData: {n: 4711}}";
    assert_eq!(faults(text), ["type-mismatch /data/pass", "type-mismatch /stringData/n"]);
    let all = format!("{:?}", crate::faults_in(&holdfast::schema::Catalog::builtin(), &crate::yaml(text)));
    assert!(!all.contains("hunter2") && !all.contains("4711"), "{all}");
}

#[test]
fn keys_of_lists_occur_once_with_the_default_of_a_key_counted() {
    let text = deployment(
        "containers:\n- name: a\n  image: a\n  ports: [{containerPort: 80}, {containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]\n  env: [{name: A, value: b}, {name: A, value: c}]",
    );
    assert_eq!(
        faults(&text),
        [
            "duplicate-list-key /spec/template/spec/containers/0/env/1",
            "duplicate-list-key /spec/template/spec/containers/0/ports/1"
        ]
    );
    let many: String = (0..40).map(|i| format!("{{name: A{}, value: b}}, ", i % 39)).collect();
    let text = deployment(&format!("containers: [{{name: a, image: a, env: [{many}]}}]"));
    assert_eq!(faults(&text), ["duplicate-list-key /spec/template/spec/containers/0/env/39"]);
}

#[test]
fn numbers_outside_their_range_are_refused() {
    let text = deployment(CONTAINER).replace("  selector:", "  replicas: -1\n  selector:");
    assert_eq!(faults(&text), ["out-of-range /spec/replicas"]);
    let text = deployment(CONTAINER).replace("  selector:", "  replicas: 3000000000\n  selector:");
    assert_eq!(faults(&text), ["out-of-range /spec/replicas"]);
    let text = deployment(CONTAINER).replace("  selector:", "  replicas: 1.5\n  selector:");
    assert_eq!(faults(&text), ["type-mismatch /spec/replicas"]);
    let text =
        deployment("containers: [{name: a, image: a, imagePullPolicy: always, ports: [{containerPort: 70000}]}]");
    assert_eq!(
        faults(&text),
        [
            "out-of-range /spec/template/spec/containers/0/imagePullPolicy",
            "out-of-range /spec/template/spec/containers/0/ports/0/containerPort"
        ]
    );
}

#[test]
fn labels_annotations_and_names_inside_are_judged() {
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {\"bad key\": x, ok: \"a b\"}, \
                annotations: {\"a/b/c\": x, Fine/key: \"any thing\"}, finalizers: [\"no blank here\"]}, data: {\"a/b\": x}}";
    assert_eq!(
        faults(text),
        [
            "bad-name /data/a~1b",
            "bad-name /metadata/annotations/a~1b~1c",
            "bad-name /metadata/finalizers/0",
            "bad-name /metadata/labels/bad key",
            "bad-name /metadata/labels/ok"
        ]
    );
    let text =
        deployment("containers: [{name: Web, image: a, ports: [{name: much-too-long-a-name, containerPort: 1}]}]");
    assert_eq!(
        faults(&text),
        ["bad-name /spec/template/spec/containers/0/name", "bad-name /spec/template/spec/containers/0/ports/0/name"]
    );
}

#[test]
fn sizes_are_bounded_as_the_api_server_bounds_them() {
    let map = |bytes: usize| {
        let text = "x".repeat(bytes);
        faults(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{a: {text}}}}}"))
    };
    assert_eq!(map(1_048_576), [""; 0]);
    assert_eq!(map(1_048_577), ["size-limit "]);
    let annotated = |bytes: usize| {
        let text = "x".repeat(bytes);
        faults(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, annotations: {{a: {text}}}}}}}"))
    };
    assert_eq!(annotated(262_143), [""; 0]);
    assert_eq!(annotated(262_144), ["size-limit /metadata/annotations"]);
}

#[test]
fn a_selector_matches_the_labels_of_its_template() {
    let text = deployment(CONTAINER).replace("matchLabels: {app: web}", "matchLabels: {app: web, tier: front}");
    assert_eq!(faults(&text), ["conflicting-fields /spec/selector/matchLabels/tier"]);
    let text = deployment(CONTAINER).replace("{matchLabels: {app: web}}", "{}");
    assert_eq!(faults(&text), ["missing-field /spec/selector"]);
}

#[test]
fn what_the_api_server_asks_of_pods_is_asked_here() {
    let at = "/spec/template/spec";
    assert_eq!(faults(&deployment("containers: [{name: a}]")), [format!("missing-field {at}/containers/0")]);
    assert_eq!(faults(&deployment("containers: []")), [format!("missing-field {at}/containers")]);
    let text = deployment("containers: [{name: a, image: a, volumeMounts: [{name: v, mountPath: /v}]}]");
    assert_eq!(faults(&text), [format!("conflicting-fields {at}/containers/0/volumeMounts/0/name")]);
    let text = deployment("containers: [{name: a, image: a, resources: {requests: {cpu: 2}, limits: {cpu: 500m}}}]");
    assert_eq!(faults(&text), [format!("conflicting-fields {at}/containers/0/resources/requests/cpu")]);
    let text = deployment("containers: [{name: a, image: a, readinessProbe: {periodSeconds: 5}}]");
    assert_eq!(faults(&text), [format!("missing-field {at}/containers/0/readinessProbe")]);
    let text = deployment(&format!("{CONTAINER}\nrestartPolicy: Never"));
    assert_eq!(faults(&text), [format!("out-of-range {at}/restartPolicy")]);
    let text = deployment(&format!("{CONTAINER}\nvolumes: [{{name: v, emptyDir: {{}}, configMap: {{name: c}}}}]"));
    assert_eq!(faults(&text), [format!("conflicting-fields {at}/volumes/0/emptyDir")]);
}

#[test]
fn jobs_services_and_ingresses_are_judged_as_a_whole() {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {containers: [{name: a, image: a}]}}}}";
    assert_eq!(faults(job), ["missing-field /spec/template/spec"]);
    let cron = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: j}, spec: {schedule: \"61 * * * *\", \
                jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}";
    assert_eq!(faults(cron), ["out-of-range /spec/schedule"]);
    assert_eq!(faults(&cron.replace("61 * * * *", "*/5 0-6 1,15 jan-mar MON")), [""; 0]);
    assert_eq!(faults(&cron.replace("61 * * * *", "@hourly")), [""; 0]);
    let service =
        |spec: &str| faults(&format!("{{apiVersion: v1, kind: Service, metadata: {{name: s}}, spec: {spec}}}"));
    assert_eq!(service("{selector: {a: b}}"), ["missing-field /spec"]);
    assert_eq!(service("{clusterIP: None}"), [""; 0]);
    assert_eq!(service("{type: ExternalName, externalName: example.com}"), [""; 0]);
    assert_eq!(service("{ports: [{port: 1}, {port: 2, name: b}]}"), ["missing-field /spec/ports/0"]);
    assert_eq!(service("{ports: [{port: 1, nodePort: 30000}]}"), ["conflicting-fields /spec/ports/0/nodePort"]);
    let ingress = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: {rules: [{http: {paths: \
                   [{path: a, pathType: Prefix, backend: {service: {name: s, port: {}}}}]}}]}}";
    assert_eq!(
        faults(ingress),
        [
            "missing-field /spec/rules/0/http/paths/0/backend/service/port",
            "out-of-range /spec/rules/0/http/paths/0/path"
        ]
    );
}

#[test]
fn fields_that_the_api_server_fills_in_may_be_left_out() {
    let text = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r}, \
                roleRef: {kind: Role, name: r}}";
    assert_eq!(faults(text), [""; 0]);
}

#[test]
fn a_hostile_object_has_a_bounded_report() {
    let many: String = (0..5000).map(|i| format!("k{i}: 1, ")).collect();
    let text = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{{many}}}}}");
    assert_eq!(faults(&text).len(), 500);
}
