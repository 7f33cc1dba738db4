//! What a Source may write.

use crate::base::resource::ResourceId;
use crate::source::spec::SourceSpec;

/// Whether the scope of a Source reaches a resource: its namespace or cluster-scoped kind, and its kind.
pub(crate) fn may_write(spec: &SourceSpec, id: &ResourceId) -> bool {
    let kind = id.group_kind();
    let place = match &id.namespace {
        Some(namespace) => spec.may_write_namespace(namespace),
        None => spec.may_write_cluster(&kind, &id.name),
    };
    place && spec.allows_kind(&kind)
}
