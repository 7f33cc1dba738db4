//! Facts about kinds that ordering and pruning go by.

use serde_json::Value;

use crate::base::resource::ResourceId;

/// Kinds in the order in which they are applied where nothing else orders them; all others come between the last
/// workload and the webhooks. The order is Helm's and Argo CD's, so that a move to Holdfast changes nothing.
const ORDER: &[(&str, &str)] = &[
    ("", "Namespace"),
    ("", "ResourceQuota"),
    ("", "LimitRange"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("", "ServiceAccount"),
    ("", "Secret"),
    ("", "ConfigMap"),
    ("storage.k8s.io", "StorageClass"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("policy", "PodDisruptionBudget"),
    ("", "Service"),
    ("apps", "DaemonSet"),
    ("", "Pod"),
    ("", "ReplicationController"),
    ("apps", "ReplicaSet"),
    ("apps", "Deployment"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "Ingress"),
    ("apiregistration.k8s.io", "APIService"),
];

/// Kinds that come last: they judge what is written after them.
const LAST: &[(&str, &str)] = &[
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
];

/// The place of a kind in the order of applying.
pub(super) fn rank(id: &ResourceId) -> usize {
    let at = |list: &[(&str, &str)]| list.iter().position(|(group, kind)| id.is(group, kind));
    at(ORDER).or_else(|| at(LAST).map(|i| ORDER.len() + 1 + i)).unwrap_or(ORDER.len())
}

/// Whether it is a Namespace that the control plane can't do without.
pub(super) fn is_system_namespace(id: &ResourceId) -> bool {
    id.is_namespace() && (id.name == "default" || id.name.starts_with("kube-"))
}

/// Whether it is a PersistentVolumeClaim.
pub(super) fn is_claim(id: &ResourceId) -> bool {
    id.is("", "PersistentVolumeClaim")
}

/// Why a live object is kept without a permission by name: deleting it destroys data.
pub(super) fn protected(id: &ResourceId, live: &Value) -> Option<&'static str> {
    if id.is("", "PersistentVolume") || is_claim(id) {
        return Some("deleting it can destroy the data that it holds");
    }
    let retention = live.pointer("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted");
    if id.is("apps", "StatefulSet") && retention.and_then(Value::as_str) == Some("Delete") {
        return Some("its claims would be deleted with it (whenDeleted: Delete)");
    }
    None
}

/// What a control plane itself puts into every Namespace, and what only tells of other objects.
pub(super) fn is_control_planes_own(id: &ResourceId) -> bool {
    (id.is("", "ConfigMap") && id.name == "kube-root-ca.crt")
        || (id.is("", "ServiceAccount") && id.name == "default")
        || id.is("", "Event")
        || id.is("events.k8s.io", "Event")
        || id.is("", "Endpoints")
        || id.is("discovery.k8s.io", "EndpointSlice")
        || id.is("coordination.k8s.io", "Lease")
}
