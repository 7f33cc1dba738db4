//! The fields that a control plane alone writes.

/// Keys of an object's `metadata` that a server fills in and no author declares (apimachinery's ObjectMeta).
pub const METADATA: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];
