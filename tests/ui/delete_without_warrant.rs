//! A delete can't be written without a warrant, and a warrant can't be made by hand.
use holdfast::base::ids::{ObjectUid, SourceId};
use holdfast::base::resource::ResourceId;
use holdfast::inventory::PruneWarrant;
use holdfast::target::Write;

fn misuse(source: SourceId, id: ResourceId, uid: ObjectUid) {
    let _ = Write::Delete { warrant: (), version: String::new(), cascade: Vec::new() };
    let _ = PruneWarrant { source, id, uid };
}

fn main() {}
