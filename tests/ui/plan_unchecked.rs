//! Manifests that no rule has seen can't be planned: a SourceInput takes a CheckedSet.
use holdfast::admission::CheckedSet;
use holdfast::manifest::ManifestSet;

fn plan(_: &CheckedSet) {}

fn main() {
    plan(&ManifestSet::default());
}
