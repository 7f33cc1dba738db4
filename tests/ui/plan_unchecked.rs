//! Manifests that no rule has seen can't be planned: a SourceInput takes a CheckedSet.
use holdfast::admission::CheckedSet;
use holdfast::manifest::ManifestSet;

fn plan(set: &CheckedSet) {
    let _ = set;
}

fn main() {
    let set = ManifestSet::default();
    plan(&set);
    let _forged = CheckedSet { manifests: Vec::new() };
}
