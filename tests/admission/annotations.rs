use holdfast::inventory::PrunePermission;
use holdfast::source::spec::GitPermission;

use crate::support::{admitted_under, id, refusals, spec, warnings};

fn with(annotations: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n{annotations}")
}

#[test]
fn what_a_manifest_asks_for_is_read_and_taken_off() {
    let mut generous = spec();
    generous.permit_in_git = GitPermission::ALL.into();
    let text = with(
        "    holdfast.dev/wave: \"-3\"\n    argocd.argoproj.io/sync-wave: \"7\"\n    holdfast.dev/adopt: \"true\"\n    \
         holdfast.dev/adopt-from: old\n    holdfast.dev/release-to: new\n    holdfast.dev/replace: \"true\"\n    \
         holdfast.dev/prune: allow\n    config.kubernetes.io/depends-on: \"/namespaces/shop/Secret/s, apps/namespaces/shop/Deployment/d,/Namespace/shop\"\n",
    );
    let set = admitted_under(&generous, &text);
    let checked = &set.manifests()[0];
    let wants = checked.wants();
    assert_eq!((wants.wave, wants.adopt, wants.replace, wants.use_), (-3, true, true, false));
    assert_eq!(wants.adopt_from.as_ref().unwrap().as_str(), "old");
    assert_eq!(wants.release_to.as_ref().unwrap().as_str(), "new");
    assert_eq!(wants.prune, PrunePermission::Allow);
    assert_eq!(wants.depends_on, [id("Secret/shop/s"), id("Deployment.apps/shop/d"), id("Namespace/shop")]);
    let left: Vec<&String> = checked.declared()["metadata"]["annotations"].as_object().unwrap().keys().collect();
    assert_eq!(left, ["argocd.argoproj.io/sync-wave", "config.kubernetes.io/depends-on"]);
    assert!(set.warnings().is_empty());
}

#[test]
fn permissions_count_only_where_the_source_lets_manifests_give_them() {
    let text = with(
        "    holdfast.dev/adopt: \"true\"\n    holdfast.dev/adopt-from: old\n    holdfast.dev/replace: \"true\"\n    holdfast.dev/prune: allow\n",
    );
    let set = admitted_under(&spec(), &text);
    let wants = set.manifests()[0].wants();
    assert_eq!((wants.adopt, wants.replace, &wants.adopt_from), (false, false, &None));
    assert_eq!(wants.prune, PrunePermission::Unsaid);
    assert_eq!(warnings(&set).len(), 4);
    assert!(warnings(&set).iter().all(|w| w.starts_with("permit-in-git ")));
    // To keep is no permission.
    let set = admitted_under(&spec(), &with("    holdfast.dev/prune: keep\n"));
    assert_eq!(set.manifests()[0].wants().prune, PrunePermission::Keep);
    assert!(set.manifests()[0].declared().pointer("/metadata/annotations").is_none());
}

#[test]
fn unknown_and_malformed_annotations_of_holdfast_are_refused() {
    let text = with(
        "    holdfast.dev/waves: \"1\"\n    holdfast.dev/wave: early\n    holdfast.dev/use: \"yes\"\n    holdfast.dev/prune: never\n    \
         holdfast.dev/release-to: A_B\n    config.kubernetes.io/depends-on: Secret/s\n    example.com/anything: \"1\"\n",
    );
    assert_eq!(
        refusals(&text),
        [
            "6 unknown-field /metadata/annotations/holdfast.dev~1waves",
            "7 type-mismatch /metadata/annotations/holdfast.dev~1wave",
            "8 type-mismatch /metadata/annotations/holdfast.dev~1use",
            "9 type-mismatch /metadata/annotations/holdfast.dev~1prune",
            "10 type-mismatch /metadata/annotations/holdfast.dev~1release-to",
            "11 type-mismatch /metadata/annotations/config.kubernetes.io~1depends-on",
        ]
    );
}

#[test]
fn a_copied_owner_mark_is_dropped_with_a_warning() {
    let set = admitted_under(&spec(), &with("    holdfast.dev/owner: \"a b c\"\n"));
    assert_eq!(warnings(&set), ["server-owned-field /metadata/annotations/holdfast.dev~1owner"]);
    assert!(set.manifests()[0].declared().pointer("/metadata/annotations").is_none());
}
