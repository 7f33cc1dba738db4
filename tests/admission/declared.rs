use holdfast::base::pointer::Pointer;
use serde_json::json;

use crate::support::{admitted, warnings};

const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {user: b2xk}\nstringData:\n  pass: VALUE\n";

#[test]
fn string_data_is_folded_into_data_and_found_where_it_was_written() {
    let set = admitted(&SECRET.replace("VALUE", "hunter2"));
    let checked = &set.manifests()[0];
    assert_eq!(checked.declared()["data"], json!({"user": "b2xk", "pass": "aHVudGVyMg=="}));
    assert!(checked.declared().get("stringData").is_none());
    let written = checked.as_written(&Pointer::of(["data", "pass"]));
    assert_eq!(written.as_str(), "/stringData/pass");
    assert_eq!(checked.locate(&written).line, 6);
    assert_eq!(checked.as_written(&Pointer::of(["data", "user"])).as_str(), "/data/user");
}

#[test]
fn string_data_beats_data_with_a_warning_only_where_they_differ() {
    let text = SECRET.replace("pass: VALUE", "user: new");
    let set = admitted(&text);
    assert_eq!(warnings(&set), ["string-data /stringData/user"]);
    assert_eq!(set.manifests()[0].declared()["data"]["user"], "bmV3");
    assert!(warnings(&admitted(&SECRET.replace("pass: VALUE", "user: old"))).is_empty());
}

#[test]
fn the_digest_of_a_secret_tells_nothing_about_its_values() {
    let digest = |value: &str| admitted(&SECRET.replace("VALUE", value)).manifests()[0].digest().clone();
    assert_eq!(digest("a"), digest("another one"));
    let renamed = admitted(&SECRET.replace("pass: VALUE", "word: a"));
    assert_ne!(renamed.manifests()[0].digest(), &digest("a"));
    assert!(renamed.manifests()[0].has_sensitive());
    let conf =
        |v: &str| admitted(&format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{v: \"{v}\"}}\n"));
    assert_ne!(conf("1").manifests()[0].digest(), conf("2").manifests()[0].digest());
    assert!(!conf("1").manifests()[0].has_sensitive());
}

#[test]
fn nulls_go_as_the_api_server_drops_them() {
    let set = admitted(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: null}\ndata: {v: \"1\"}\nbinaryData: null\n",
    );
    assert_eq!(
        set.manifests()[0].declared(),
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": {"v": "1"}})
    );
}
