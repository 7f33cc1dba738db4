//! Which fields of which kinds can't change, in one table, each with where the API server decides it.
//!
//! Read from Kubernetes 1.36; the functions named are those of `pkg/apis/GROUP/validation`.

use serde_json::Value;

/// What a field has where nobody wrote it: targets that fill in no defaults store nothing there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Absent {
    /// Nothing known.
    Nothing,
    /// A text.
    Text(&'static str),
    /// A number.
    Number(i64),
    /// `true`.
    True,
}

/// How a field is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    /// As a whole.
    Whole,
    /// What is declared must be live; what the server filled in beside it doesn't count.
    Covered,
    /// As a whole, once it has a value.
    OnceSet,
    /// It may grow, not shrink.
    Grows,
}

/// A field that can't change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) path: &'static str,
    pub(super) absent: Absent,
    pub(super) compare: Compare,
    /// Judges only where this holds for the live object and the object after.
    pub(super) when: Option<fn(&Value, &Value) -> bool>,
    /// Taken out of both before they are compared.
    pub(super) without: Option<fn(&mut Value)>,
}

/// All fields of a map but a few.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    pub(super) parent: &'static str,
    pub(super) but: &'static [&'static str],
}

/// What can't change in a kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) fields: &'static [Field],
    pub(super) rest: Option<Rest>,
    pub(super) source: &'static str,
}

const fn field(path: &'static str) -> Field {
    Field { path, absent: Absent::Nothing, compare: Compare::Whole, when: None, without: None }
}

const fn or(path: &'static str, absent: Absent) -> Field {
    Field { absent, ..field(path) }
}

const fn once_set(path: &'static str) -> Field {
    Field { compare: Compare::OnceSet, ..field(path) }
}

const fn when(path: &'static str, when: fn(&Value, &Value) -> bool) -> Field {
    Field { when: Some(when), ..field(path) }
}

const fn row(group: &'static str, kind: &'static str, fields: &'static [Field], source: &'static str) -> Row {
    Row { group, kind, fields, rest: None, source }
}

/// The table.
pub(super) static TABLE: &[Row] = &[
    row("apps", "Deployment", &[field("/spec/selector")], "ValidateDeploymentUpdate (apps/v1 strategy)"),
    row("apps", "ReplicaSet", &[field("/spec/selector")], "ValidateReplicaSetUpdate (apps/v1 strategy)"),
    row("apps", "DaemonSet", &[field("/spec/selector")], "ValidateDaemonSetUpdate (apps/v1 strategy)"),
    Row {
        group: "apps",
        kind: "StatefulSet",
        fields: &[
            or("/spec/podManagementPolicy", Absent::Text("OrderedReady")),
            or("/spec/serviceName", Absent::Text("")),
            Field { compare: Compare::Covered, ..field("/spec/volumeClaimTemplates") },
        ],
        rest: Some(Rest {
            parent: "/spec",
            but: &[
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ],
        }),
        source: "ValidateStatefulSetUpdate",
    },
    row("apps", "ControllerRevision", &[field("/data")], "ValidateControllerRevisionUpdate"),
    row(
        "batch",
        "Job",
        &[
            field("/spec/selector"),
            Field { when: Some(has_started), ..field("/spec/template") },
            Field { when: Some(is_suspended), without: Some(scheduling_directives), ..field("/spec/template") },
            Field { absent: Absent::Number(1), when: Some(completions_are_fixed), ..field("/spec/completions") },
            or("/spec/completionMode", Absent::Text("NonIndexed")),
            field("/spec/podFailurePolicy"),
            field("/spec/successPolicy"),
            field("/spec/backoffLimitPerIndex"),
            or("/spec/managedBy", Absent::Text("kubernetes.io/job-controller")),
        ],
        "ValidateJobUpdate, ValidateJobSpecUpdate",
    ),
    Row {
        group: "",
        kind: "Pod",
        fields: &[
            Field { without: Some(images), ..field("/spec/containers") },
            Field { without: Some(images), ..field("/spec/initContainers") },
        ],
        rest: Some(Rest {
            parent: "/spec",
            but: &[
                "activeDeadlineSeconds",
                "terminationGracePeriodSeconds",
                "tolerations",
                "schedulingGates",
                "ephemeralContainers",
            ],
        }),
        source: "ValidatePodUpdate",
    },
    row(
        "",
        "Service",
        &[
            Field { compare: Compare::OnceSet, when: Some(has_cluster_ip), ..field("/spec/clusterIP") },
            Field { compare: Compare::OnceSet, when: Some(has_cluster_ip), ..field("/spec/clusterIPs/0") },
            Field { compare: Compare::OnceSet, when: Some(has_cluster_ip), ..field("/spec/ipFamilies/0") },
            Field { compare: Compare::OnceSet, when: Some(stays_load_balancer), ..field("/spec/loadBalancerClass") },
            Field { compare: Compare::OnceSet, when: Some(stays_load_balancer), ..field("/spec/healthCheckNodePort") },
        ],
        "ValidateServiceUpdate, ValidateServiceClusterIPsRelatedFields",
    ),
    Row {
        group: "",
        kind: "PersistentVolumeClaim",
        fields: &[
            or("/spec/volumeMode", Absent::Text("Filesystem")),
            once_set("/spec/volumeName"),
            once_set("/spec/storageClassName"),
            once_set("/spec/dataSource"),
            once_set("/spec/dataSourceRef"),
            field("/spec/resources/limits"),
            Field { compare: Compare::Grows, ..field("/spec/resources/requests/storage") },
        ],
        rest: Some(Rest { parent: "/spec", but: &["resources", "volumeAttributesClassName"] }),
        source: "ValidatePersistentVolumeClaimUpdate",
    },
    Row {
        group: "",
        kind: "PersistentVolume",
        fields: &[or("/spec/volumeMode", Absent::Text("Filesystem")), once_set("/spec/nodeAffinity")],
        rest: Some(Rest {
            parent: "/spec",
            but: &[
                "capacity",
                "accessModes",
                "claimRef",
                "persistentVolumeReclaimPolicy",
                "storageClassName",
                "mountOptions",
                "volumeAttributesClassName",
            ],
        }),
        source: "ValidatePersistentVolumeUpdate",
    },
    row(
        "",
        "ConfigMap",
        &[when("/immutable", is_immutable), when("/data", is_immutable), when("/binaryData", is_immutable)],
        "ValidateConfigMapUpdate",
    ),
    row(
        "",
        "Secret",
        &[or("/type", Absent::Text("Opaque")), when("/immutable", is_immutable), when("/data", is_immutable)],
        "ValidateSecretUpdate",
    ),
    row(RBAC, "RoleBinding", &[field("/roleRef")], "ValidateRoleBindingUpdate"),
    row(RBAC, "ClusterRoleBinding", &[field("/roleRef")], "ValidateClusterRoleBindingUpdate"),
    row(
        STORAGE,
        "StorageClass",
        &[
            field("/provisioner"),
            field("/parameters"),
            or("/reclaimPolicy", Absent::Text("Delete")),
            or("/volumeBindingMode", Absent::Text("Immediate")),
        ],
        "ValidateStorageClassUpdate",
    ),
    row(STORAGE, "VolumeAttachment", &[field("/spec")], "ValidateVolumeAttachmentUpdate"),
    row(
        STORAGE,
        "VolumeAttributesClass",
        &[field("/driverName"), field("/parameters")],
        "ValidateVolumeAttributesClassUpdate",
    ),
    row(
        STORAGE,
        "CSIDriver",
        &[or("/spec/attachRequired", Absent::True), field("/spec/volumeLifecycleModes")],
        "ValidateCSIDriverUpdate",
    ),
    row(
        STORAGE,
        "CSIStorageCapacity",
        &[field("/storageClassName"), field("/nodeTopology")],
        "ValidateCSIStorageCapacityUpdate",
    ),
    row(NETWORKING, "IngressClass", &[once_set("/spec/controller")], "ValidateIngressClassUpdate"),
    row(NETWORKING, "IPAddress", &[field("/spec/parentRef")], "ValidateIPAddressUpdate"),
    row("discovery.k8s.io", "EndpointSlice", &[field("/addressType")], "ValidateEndpointSliceUpdate"),
    row(
        "scheduling.k8s.io",
        "PriorityClass",
        &[field("/value"), or("/preemptionPolicy", Absent::Text("PreemptLowerPriority"))],
        "ValidatePriorityClassUpdate",
    ),
    row("node.k8s.io", "RuntimeClass", &[field("/handler")], "ValidateRuntimeClassUpdate"),
    row(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        &[field("/spec")],
        "validateCertificateSigningRequestUpdate",
    ),
    row("resource.k8s.io", "ResourceClaim", &[field("/spec")], "ValidateResourceClaimUpdate"),
    row("resource.k8s.io", "ResourceClaimTemplate", &[field("/spec")], "ValidateResourceClaimTemplateUpdate"),
    row(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        &[field("/spec/group"), field("/spec/scope"), field("/spec/names/kind"), field("/spec/names/plural")],
        "apiextensions-apiserver, validateCustomResourceDefinitionSpecUpdate (of an established one)",
    ),
];

const RBAC: &str = "rbac.authorization.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const NETWORKING: &str = "networking.k8s.io";

fn text<'v>(object: &'v Value, path: &str) -> Option<&'v str> {
    object.pointer(path).and_then(Value::as_str)
}

fn is_immutable(live: &Value, _after: &Value) -> bool {
    live.get("immutable") == Some(&Value::Bool(true))
}

/// A Service keeps its address but on the way to or from `ExternalName`.
fn has_cluster_ip(live: &Value, after: &Value) -> bool {
    [live, after].iter().all(|service| text(service, "/spec/type") != Some("ExternalName"))
}

fn stays_load_balancer(live: &Value, after: &Value) -> bool {
    [live, after].iter().all(|service| text(service, "/spec/type") == Some("LoadBalancer"))
}

/// Where pods go may change while a Job is suspended and never ran.
fn is_suspended(live: &Value, _after: &Value) -> bool {
    live.pointer("/spec/suspend") == Some(&Value::Bool(true)) && live.pointer("/status/startTime").is_none()
}

fn has_started(live: &Value, after: &Value) -> bool {
    !is_suspended(live, after)
}

/// An indexed Job may change its completions together with its parallelism.
fn completions_are_fixed(_live: &Value, after: &Value) -> bool {
    text(after, "/spec/completionMode") != Some("Indexed")
        || after.pointer("/spec/completions") != after.pointer("/spec/parallelism")
}

fn scheduling_directives(template: &mut Value) {
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("labels");
        metadata.remove("annotations");
    }
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        for key in ["nodeSelector", "affinity", "tolerations", "schedulingGates"] {
            spec.remove(key);
        }
    }
}

fn images(containers: &mut Value) {
    for container in containers.as_array_mut().into_iter().flatten() {
        if let Some(container) = container.as_object_mut() {
            container.remove("image");
        }
    }
}
