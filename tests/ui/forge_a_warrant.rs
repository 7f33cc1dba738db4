//! A warrant can't be made by hand: only the three checks issue one.
use holdfast::base::ids::{ObjectUid, SourceId};
use holdfast::base::resource::ResourceId;
use holdfast::inventory::PruneWarrant;

fn forge(source: SourceId, id: ResourceId, uid: ObjectUid) -> PruneWarrant {
    PruneWarrant { source, id, uid }
}

fn main() {}
