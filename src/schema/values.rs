//! Checks that the published schemas lack and the API server makes all the same.
//!
//! One table: a definition's name, its field, the check. Sources: `pkg/apis/*/validation` of Kubernetes and
//! `apimachinery/pkg/util/validation`; what a rule there says only for some states of an old object is left out.

use serde_json::{Map, Value};

use super::node::{AbsentWhen, Node};
use super::path::{Out, Path};

mod config;
mod cron;
mod leaf;
mod network;
mod pod;
mod workload;

pub(super) use leaf::Leaf;

/// A check of a struct as a whole.
#[derive(Clone, Copy)]
pub(super) struct StructRule(pub(super) fn(&Map<String, Value>, &Path<'_>, &mut Out));

impl std::fmt::Debug for StructRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StructRule")
    }
}

/// The checks of fields.
const LEAVES: &[(&str, &[&str], Leaf)] = &[
    // ValidateObjectMeta, ValidateAnnotations, ValidateLabels, ValidateFinalizerName
    ("ObjectMeta", &["labels"], Leaf::Labels),
    ("ObjectMeta", &["annotations"], Leaf::Annotations),
    ("ObjectMeta", &["finalizers"], Leaf::Finalizers),
    ("LabelSelector", &["matchLabels"], Leaf::Labels),
    ("LabelSelectorRequirement", &["key"], Leaf::Qualified),
    ("PodSpec", &["nodeSelector"], Leaf::Labels),
    ("ServiceSpec", &["selector"], Leaf::Labels),
    ("ReplicationControllerSpec", &["selector"], Leaf::Labels),
    // validateContainerPorts, validateServicePort, validateEndpointPort, ValidatePortNumOrName
    ("ContainerPort", &["containerPort"], Leaf::Range(1, 65535)),
    ("ContainerPort", &["hostPort"], Leaf::Range(0, 65535)),
    ("ContainerPort", &["name"], Leaf::PortName),
    ("ServicePort", &["port"], Leaf::Range(1, 65535)),
    ("ServicePort", &["nodePort"], Leaf::Range(0, 65535)),
    ("ServicePort", &["targetPort"], Leaf::PortOrName),
    ("ServicePort", &["name"], Leaf::Label),
    ("HTTPGetAction", &["port"], Leaf::PortOrName),
    ("TCPSocketAction", &["port"], Leaf::PortOrName),
    ("GRPCAction", &["port"], Leaf::Range(1, 65535)),
    ("NetworkPolicyPort", &["port"], Leaf::PortOrName),
    ("NetworkPolicyPort", &["endPort"], Leaf::Range(1, 65535)),
    ("ServiceBackendPort", &["number"], Leaf::Range(0, 65535)),
    ("ServiceReference", &["port"], Leaf::Range(1, 65535)),
    ("EndpointPort", &["port"], Leaf::Range(0, 65535)),
    // validateVolumeSource: file modes
    ("SecretVolumeSource", &["defaultMode"], Leaf::Mode),
    ("ConfigMapVolumeSource", &["defaultMode"], Leaf::Mode),
    ("DownwardAPIVolumeSource", &["defaultMode"], Leaf::Mode),
    ("ProjectedVolumeSource", &["defaultMode"], Leaf::Mode),
    ("KeyToPath", &["mode"], Leaf::Mode),
    ("DownwardAPIVolumeFile", &["mode"], Leaf::Mode),
    // ValidatePodSpec, validateContainers
    ("Container", &["name"], Leaf::Label),
    ("EphemeralContainer", &["name"], Leaf::Label),
    ("Container", &["image"], Leaf::Image),
    ("EphemeralContainer", &["image"], Leaf::Image),
    ("Volume", &["name"], Leaf::Label),
    ("EnvVar", &["name"], Leaf::EnvName),
    ("PodSpec", &["hostname", "subdomain"], Leaf::Label),
    ("PodSpec", &["serviceAccountName", "priorityClassName", "runtimeClassName"], Leaf::Subdomain),
    ("PodSpec", &["terminationGracePeriodSeconds"], Leaf::AtLeast(0)),
    ("PodSpec", &["activeDeadlineSeconds"], Leaf::Range(1, 2_147_483_647)),
    ("PodSecurityContext", &["runAsUser", "runAsGroup", "fsGroup"], Leaf::Range(0, 2_147_483_647)),
    ("SecurityContext", &["runAsUser", "runAsGroup"], Leaf::Range(0, 2_147_483_647)),
    (
        "Probe",
        &["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"],
        Leaf::AtLeast(0),
    ),
    ("TopologySpreadConstraint", &["maxSkew"], Leaf::AtLeast(1)),
    ("TopologySpreadConstraint", &["topologyKey"], Leaf::Qualified),
    // ValidateDeploymentSpec, ValidateReplicaSetSpec, ValidateStatefulSetSpec, ValidateDaemonSetSpec
    (
        "DeploymentSpec",
        &["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"],
        Leaf::AtLeast(0),
    ),
    ("ReplicaSetSpec", &["replicas", "minReadySeconds"], Leaf::AtLeast(0)),
    ("StatefulSetSpec", &["replicas", "minReadySeconds", "revisionHistoryLimit"], Leaf::AtLeast(0)),
    ("DaemonSetSpec", &["minReadySeconds", "revisionHistoryLimit"], Leaf::AtLeast(0)),
    ("ReplicationControllerSpec", &["replicas", "minReadySeconds"], Leaf::AtLeast(0)),
    ("RollingUpdateDeployment", &["maxSurge", "maxUnavailable"], Leaf::CountOrPercent),
    ("RollingUpdateDaemonSet", &["maxSurge", "maxUnavailable"], Leaf::CountOrPercent),
    ("RollingUpdateStatefulSetStrategy", &["maxUnavailable"], Leaf::CountOrPercent),
    ("RollingUpdateStatefulSetStrategy", &["partition"], Leaf::AtLeast(0)),
    ("PodDisruptionBudgetSpec", &["minAvailable", "maxUnavailable"], Leaf::CountOrPercent),
    // validateJobSpec, validateCronJobSpec
    (
        "JobSpec",
        &["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"],
        Leaf::AtLeast(0),
    ),
    (
        "CronJobSpec",
        &["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
        Leaf::AtLeast(0),
    ),
    ("CronJobSpec", &["schedule"], Leaf::Cron),
    // ValidateHorizontalPodAutoscalerSpec (minReplicas 0 needs a feature gate, which this can't know)
    ("HorizontalPodAutoscalerSpec", &["minReplicas"], Leaf::AtLeast(0)),
    ("HorizontalPodAutoscalerSpec", &["maxReplicas"], Leaf::AtLeast(1)),
    // validateWebhook
    ("ValidatingWebhook", &["timeoutSeconds"], Leaf::Range(1, 30)),
    ("MutatingWebhook", &["timeoutSeconds"], Leaf::Range(1, 30)),
    // ValidateConfigMap, ValidateSecret
    ("ConfigMap", &["data", "binaryData"], Leaf::ConfigKeys),
    ("Secret", &["data", "stringData"], Leaf::ConfigKeys),
];

/// The checks of structs.
const STRUCTS: &[(&str, StructRule)] = &[
    ("ConfigMap", StructRule(config::config_map)),
    ("Secret", StructRule(config::secret)),
    ("PersistentVolumeClaimSpec", StructRule(config::claim)),
    ("LabelSelectorRequirement", StructRule(config::selector_requirement)),
    ("Container", StructRule(pod::container)),
    ("PodSpec", StructRule(pod::pod_spec)),
    ("EnvVar", StructRule(pod::env_var)),
    ("Volume", StructRule(pod::volume)),
    ("Probe", StructRule(pod::probe)),
    ("LifecycleHandler", StructRule(pod::lifecycle)),
    ("DeploymentSpec", StructRule(workload::always_restarted)),
    ("ReplicaSetSpec", StructRule(workload::always_restarted)),
    ("DaemonSetSpec", StructRule(workload::always_restarted)),
    ("StatefulSetSpec", StructRule(workload::always_restarted)),
    ("JobSpec", StructRule(workload::job)),
    ("HorizontalPodAutoscalerSpec", StructRule(workload::autoscaler)),
    ("PodDisruptionBudgetSpec", StructRule(workload::disruption_budget)),
    ("ServiceSpec", StructRule(network::service)),
    ("IngressSpec", StructRule(network::ingress)),
    ("IngressBackend", StructRule(network::backend)),
    ("ServiceBackendPort", StructRule(network::backend_port)),
    ("HTTPIngressPath", StructRule(network::ingress_path)),
];

/// Fields that the API server needs and the published schema doesn't name.
const REQUIRED: &[(&str, &str)] =
    &[("Container", "image"), ("EphemeralContainer", "image"), ("JobTemplateSpec", "spec")];

/// Fields that the published schema names as required and the API server fills in.
const OPTIONAL: &[(&str, &str)] =
    &[("RoleRef", "apiGroup"), ("PriorityClass", "value"), ("EndpointSlice", "endpoints")];

/// Fields whose zero value the API server drops (`omitempty` on a Go value that is no pointer), so that it means the
/// same as none. The published schema can't tell these from pointers, so the ones that people write stand here.
const ZERO_IS_ABSENT: &[(&str, &[&str])] = &[
    ("EnvVar", &["value"]),
    ("PodSpec", &["hostNetwork", "hostPID", "hostIPC", "nodeName", "hostname", "subdomain", "priorityClassName"]),
    ("Container", &["stdin", "stdinOnce", "tty", "workingDir"]),
    ("ContainerPort", &["name", "hostPort", "hostIP"]),
    ("VolumeMount", &["readOnly", "subPath", "subPathExpr"]),
    ("Toleration", &["key", "operator", "value", "effect"]),
    ("ServicePort", &["name", "nodePort"]),
    ("ServiceSpec", &["publishNotReadyAddresses", "loadBalancerIP", "externalName"]),
    ("DeploymentSpec", &["paused", "minReadySeconds"]),
    ("DaemonSetSpec", &["minReadySeconds"]),
    ("StatefulSetSpec", &["minReadySeconds"]),
    ("Probe", &["initialDelaySeconds"]),
    ("EmptyDirVolumeSource", &["medium"]),
    ("PersistentVolumeClaimVolumeSource", &["readOnly"]),
    ("CustomResourceDefinitionSpec", &["preserveUnknownFields"]),
    ("CustomResourceDefinitionVersion", &["deprecated"]),
    ("CustomResourceColumnDefinition", &["description", "format", "priority"]),
    (
        "JSONSchemaProps",
        &[
            "nullable",
            "uniqueItems",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
            "description",
            "title",
            "format",
            "type",
            "pattern",
        ],
    ),
];

/// Adds to a definition of the built-in kinds what its published schema lacks.
pub(super) fn refine(name: &str, node: &mut Node) {
    for (_, fields, leaf) in LEAVES.iter().filter(|(of, ..)| *of == name) {
        for field in *fields {
            if let Some(field) = node.properties.get_mut(*field) {
                field.leaf = Some(*leaf);
            }
        }
    }
    for (_, rule) in STRUCTS.iter().filter(|(of, _)| *of == name) {
        node.rule = Some(*rule);
    }
    for (_, field) in REQUIRED.iter().filter(|(of, _)| *of == name) {
        if !node.required.iter().any(|r| &**r == *field) {
            node.required.push((*field).into());
        }
    }
    for (_, field) in OPTIONAL.iter().filter(|(of, _)| *of == name) {
        node.required.retain(|r| &**r != *field);
    }
    for (_, fields) in ZERO_IS_ABSENT.iter().filter(|(of, _)| *of == name) {
        for field in *fields {
            if let Some(field) = node.properties.get_mut(*field) {
                field.absent_when = AbsentWhen::Zero;
            }
        }
    }
}

/// A field that is there and isn't null.
fn given<'v>(map: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    map.get(key).filter(|v| !v.is_null())
}

/// A field's text.
fn text<'v>(map: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    map.get(key).and_then(Value::as_str)
}

/// The entries of a list that are maps, with their indices.
fn structs<'v>(map: &'v Map<String, Value>, key: &str) -> impl Iterator<Item = (usize, &'v Map<String, Value>)> {
    let list = map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().enumerate().filter_map(|(i, entry)| Some((i, entry.as_object()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::builtin;

    #[test]
    fn tables_speak_of_fields_that_exist() {
        let leaves = LEAVES.iter().flat_map(|(of, fields, _)| fields.iter().map(move |f| (*of, Some(*f))));
        let structs = STRUCTS.iter().map(|(of, _)| (*of, None));
        let others = REQUIRED.iter().chain(OPTIONAL).map(|(of, field)| (*of, Some(*field)));
        let zeros = ZERO_IS_ABSENT.iter().flat_map(|(of, fields)| fields.iter().map(move |f| (*of, Some(*f))));
        for (of, field) in leaves.chain(structs).chain(others).chain(zeros) {
            let found = builtin::text().lines().any(|line| {
                let name = line.split(' ').next().unwrap_or_default();
                name.rsplit('.').next() == Some(of) && field.is_none_or(|f| line.contains(&format!("\"{f}\":")))
            });
            assert!(found, "{of} {field:?}");
        }
    }
}
