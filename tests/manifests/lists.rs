//! Lists, fields of the server, and places.

use holdfast::base::pointer::Pointer;
use holdfast::manifest::source_line;

use crate::{config_map, names, read, read_bytes, refused, shown};

fn pointer(text: &str) -> Pointer {
    Pointer::parse(text).unwrap()
}

const LIST: &str = "apiVersion: v1
kind: List
metadata: {resourceVersion: \"\"}
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
  data:
    tag: 1.10
- apiVersion: v1
  kind: List
  items:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: b
      uid: 1-2
";

#[test]
fn lists_are_flattened_with_the_place_of_each_item() {
    let reading = read(LIST);
    assert_eq!(reading.faults, []);
    assert_eq!(names(&reading), ["a", "b"]);
    let items: Vec<_> =
        reading.documents.iter().map(|d| (d.item.clone().unwrap().to_string(), d.line, d.column)).collect();
    assert_eq!(items, [("/items/0".to_owned(), 5, 3), ("/items/1/items/0".to_owned(), 13, 5)]);
    assert_eq!(reading.documents[1].locate(&pointer("/metadata/name")).line, 16);
    assert_eq!(reading.documents[0].surprising[0].pointer, pointer("/data/tag"));
    assert_eq!(reading.warnings[0].path, Some(pointer("/metadata/uid")));
    assert_eq!(reading.warnings[0].at.as_ref().unwrap().line, 17);
}

#[test]
fn items_of_a_typed_list_take_their_kind_from_it() {
    let reading = read(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n",
    );
    assert_eq!(names(&reading), ["a", "b"]);
    assert_eq!(reading.documents[1].value["kind"], "Role");
    assert_eq!(reading.documents[1].value["apiVersion"], "rbac.authorization.k8s.io/v1");
    assert_eq!(read("apiVersion: v1\nkind: ConfigMapList\nitems: []\n").documents.len(), 0);
}

#[test]
fn what_a_list_can_not_hold_is_refused() {
    assert_eq!(
        refused("apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n- 5\n"),
        ["not-a-manifest 4:3 /items/0", "not-a-manifest 5:3 /items/1"]
    );
    assert_eq!(refused("apiVersion: v1\nkind: List\n"), ["not-a-manifest 1:1"]);
    assert_eq!(refused("apiVersion: v1\nkind: List\nitems: []\nitemz: []\n"), ["unknown-field 4:1 /itemz"]);
    let odd = format!("{}items: []\n", config_map("a"));
    assert_eq!(refused(&odd), ["not-a-manifest 4:1 /items"]);
    // A kind may end so without being a list.
    assert_eq!(names(&read("apiVersion: x.example/v1\nkind: AllowList\nmetadata: {name: a}\n")), ["a"]);
}

#[test]
fn fields_of_the_server_are_left_out_with_a_warning_each() {
    let reading = read(
        "apiVersion: v1\nkind: Service\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: '{}'\n  \
         creationTimestamp: \"2026-01-01T00:00:00Z\"\n  generation: 03\n  managedFields: []\n  name: web\n  resourceVersion: \"1\"\n  \
         uid: x\nspec: {clusterIP: 10.0.0.8}\nstatus:\n  loadBalancer: {}\n",
    );
    let value = &reading.documents[0].value;
    assert_eq!(
        *value,
        serde_json::json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"clusterIP": "10.0.0.8"}
        })
    );
    // Whose the status is, the kind decides: admission warns of it.
    assert_eq!(reading.documents[0].status, Some(Box::new(serde_json::json!({"loadBalancer": {}}))));
    let warned: Vec<(String, u32)> =
        reading.warnings.iter().map(|w| (w.path.as_ref().unwrap().to_string(), w.at.as_ref().unwrap().line)).collect();
    assert_eq!(
        warned,
        [
            ("/metadata/creationTimestamp".to_owned(), 6),
            ("/metadata/generation".to_owned(), 7),
            ("/metadata/managedFields".to_owned(), 8),
            ("/metadata/resourceVersion".to_owned(), 10),
            ("/metadata/uid".to_owned(), 11),
            ("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration".to_owned(), 5),
        ]
    );
    assert_eq!(reading.documents[0].surprising, [], "a field that is left out surprises nobody");
}

#[test]
fn a_null_timestamp_goes_silently_in_templates_too() {
    let reading = read(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, creationTimestamp: null}\nspec:\n  jobTemplate:\n    \
         metadata: {creationTimestamp: null}\n    spec:\n      template:\n        metadata: {creationTimestamp: null, labels: {a: b}}\n",
    );
    assert_eq!(reading.warnings, []);
    assert!(!reading.documents[0].value.to_string().contains("creationTimestamp"));
    let set = read(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec:\n  volumeClaimTemplates:\n  - metadata: {name: d, creationTimestamp: null}\n",
    );
    assert!(!set.documents[0].value.to_string().contains("creationTimestamp"));
}

#[test]
fn a_place_is_that_of_the_key_or_entry_or_of_the_nearest_parent() {
    let text = "# comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: é\n  labels: {a: b, \"c/d\": e}\ndata:\n  list:\n  - x\n  -   y: z\n";
    let document = &read(text).documents[0];
    for (path, place) in [
        ("", (3, 1)),
        ("/metadata/name", (6, 3)),
        ("/metadata/labels/c~1d", (7, 18)),
        ("/data/list/0", (10, 5)),
        ("/data/list/1", (11, 7)),
        ("/data/list/1/y", (11, 7)),
        ("/data/list/7", (9, 3)),
        ("/data/gone/deep", (8, 1)),
        ("/spec", (3, 1)),
    ] {
        let at = document.locate(&pointer(path));
        assert_eq!((at.line, at.column), place, "{path}");
    }
    let many = document.locate_all(&[pointer("/data/list/1/y"), pointer("/kind")]);
    assert_eq!((many[0].line, many[1].line), (11, 4));
}

#[test]
fn a_merged_field_is_found_at_its_merge() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: &x {p: q}\ndata:\n  k: v\n  <<: *x\n";
    assert_eq!(read(text).documents[0].locate(&pointer("/data/p")).line, 7);
}

#[test]
fn places_count_in_the_file_not_in_the_document() {
    let text = format!("{}---\r\n{}---\n{}data:\n  a: x\n", config_map("a"), config_map("b"), config_map("c"));
    let reading = read(&text);
    let document = &reading.documents[2];
    let at = document.locate(&pointer("/data/a"));
    assert_eq!((at.document, at.line, at.column), (2, 13, 3));
    assert_eq!(source_line(&document.file, 13), Some("  a: x"));
    assert_eq!(source_line(&document.file, 4), Some("---"));
    assert_eq!((source_line(&document.file, 0), source_line(&document.file, 99)), (None, None));
}

#[test]
fn json_documents_follow_each_other() {
    let text = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}\n {\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\n  \"metadata\":{\"name\":\"b\\ud83d\\ude00\",\"uid\":\"x\"}}";
    let reading = read_bytes("a.json", text.as_bytes());
    assert_eq!(names(&reading), ["a", "b😀"]);
    let document = &reading.documents[1];
    assert_eq!((document.index, document.line, document.column), (1, 2, 2));
    assert_eq!(document.locate(&pointer("/metadata/name")).line, 3);
    assert_eq!(reading.warnings[0].at.as_ref().unwrap().line, 3);
    for bad in
        ["{\"a\":1,}", "{\"a\":01}", "{\"a\":\"\t\"}", "{a: 1}", "{\"a\":1} x", "{\"a\":1e999}", "{\"a\":[1}", "{"]
    {
        let faults = read_bytes("a.json", bad.as_bytes()).faults;
        assert!(shown(&faults).iter().any(|f| f.starts_with("yaml-syntax 1:")), "{bad}: {faults:?}");
    }
}
