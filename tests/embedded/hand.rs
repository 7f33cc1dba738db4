//! The hand of somebody outside.

use holdfast::base::resource::{GroupKind, ResourceId};
use holdfast::target::sqlite::{Ask, PutResult};
use holdfast::target::{History, Target, TargetError};
use serde_json::{Value, json};

use crate::conformance::build::{Shop, at, config, crd, id, namespace, secret, widget};
use crate::support::Store;

fn get(store: &Store, named: &str) -> Value {
    store.target.hand("x").get(&id(named)).unwrap().unwrap().object
}

fn rules(error: TargetError) -> Vec<String> {
    match error {
        TargetError::Refused { faults } => faults.iter().map(|fault| fault.rule.to_string()).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_put_is_an_update_of_its_actor() {
    let store = Store::new();
    store.put("bob", &config("a", "1")).unwrap();
    let mut object = get(&store, "ConfigMap/shop/a");
    assert_eq!(object["metadata"]["generation"], 1);
    object["data"] = json!({"v": "1", "w": "2"});
    let put = store.put("carol", &object).unwrap();
    assert_eq!(put[0].result, PutResult::Configured);
    let now = get(&store, "ConfigMap/shop/a");
    assert_eq!(now["metadata"]["generation"], 2);
    let holders: Vec<(&str, &Value)> = now["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["manager"].as_str().unwrap(), &m["fieldsV1"]))
        .collect();
    let of = |name: &str| holders.iter().find(|(manager, _)| *manager == name).unwrap().1.clone();
    assert_eq!(of("carol"), json!({"f:data": {"f:w": {}}}));
    assert!(of("bob")["f:data"].get("f:v").is_some());
    let again = store.put("dave", &now).unwrap();
    assert_eq!((again[0].result, again[0].version.as_str()), (PutResult::Unchanged, put[0].version.as_str()));
    assert_eq!(get(&store, "ConfigMap/shop/a"), now);
}

#[test]
fn what_the_target_sets_cannot_be_chosen() {
    let store = Store::new();
    let mut object = config("a", "1");
    object["metadata"]["uid"] = "mine".into();
    object["metadata"]["generation"] = 77.into();
    object["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
    object["metadata"]["managedFields"] = json!([{"manager": "mine", "operation": "Apply", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:v": {}}}}]);
    store.put("bob", &object).unwrap();
    let metadata = get(&store, "ConfigMap/shop/a")["metadata"].clone();
    assert_ne!(metadata["uid"], "mine");
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["creationTimestamp"], at(0).rfc3339());
    assert_eq!(metadata["managedFields"].as_array().unwrap().len(), 1);
    assert_eq!(metadata["managedFields"][0]["manager"], "bob");
    let mut claimed = get(&store, "ConfigMap/shop/a");
    claimed["metadata"]["managedFields"] = object["metadata"]["managedFields"].clone();
    claimed["data"]["w"] = "2".into();
    store.put("carol", &claimed).unwrap();
    let now = get(&store, "ConfigMap/shop/a")["metadata"]["managedFields"].clone();
    let managers: Vec<&str> = now.as_array().unwrap().iter().map(|m| m["manager"].as_str().unwrap()).collect();
    assert_eq!(managers, ["bob", "carol"]);
    assert_eq!(rules(store.put("bob", &object).unwrap_err()), ["conflict"]);
    object["metadata"].as_object_mut().unwrap().remove("uid");
    object["metadata"]["resourceVersion"] = "1".into();
    assert_eq!(rules(store.put("bob", &object).unwrap_err()), ["conflict"]);
}

#[test]
fn marks_owner_references_status_and_finalizers_can_be_put() {
    let store = Store::new();
    Shop::new(&store.target, "shop").apply(&store.target, &[config("a", "1")]).unwrap();
    let ours = get(&store, "ConfigMap/shop/a");
    let mut copy = config("b", "1");
    copy["metadata"]["annotations"] = ours["metadata"]["annotations"].clone();
    copy["metadata"]["finalizers"] = json!(["example.com/f"]);
    copy["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": ours["metadata"]["uid"], "controller": true}]);
    store.put("operator", &copy).unwrap();
    let live = store.target.hand("x").get(&id("ConfigMap/shop/b")).unwrap().unwrap();
    assert_eq!(live.head.mark.clone().unwrap().unwrap().resource, id("ConfigMap/shop/a"));
    assert!(live.head.controlled);
    assert_eq!(live.head.owners[0].as_str(), ours["metadata"]["uid"]);
    let gone = store.target.hand("bob").delete(&[id("ConfigMap/shop/a")], at(1)).unwrap();
    assert_eq!(gone, [id("ConfigMap/shop/a"), id("ConfigMap/shop/b")]);
    let mut ns = namespace("shop");
    ns["status"] = json!({"phase": "Active"});
    store.put("bob", &ns).unwrap();
    store.put("bob", &namespace("shop")).unwrap();
    assert_eq!(get(&store, "Namespace/shop")["status"]["phase"], "Active");
    assert_eq!(get(&store, "Namespace/shop")["metadata"]["generation"], 1);
}

#[test]
fn a_put_is_judged_as_an_api_server_would() {
    let store = Store::new();
    let put = |object: Value| rules(store.put("bob", &object).unwrap_err());
    let changed = |path: &str, value: Value| {
        let mut object = config("a", "1");
        *object.pointer_mut(path).unwrap() = value;
        object
    };
    assert_eq!(put(json!([1])), ["not-a-manifest"]);
    assert_eq!(
        put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}})),
        ["generate-name"]
    );
    assert_eq!(put(changed("/kind", "ConfigMaq".into())), ["unknown-kind"]);
    assert_eq!(put(widget("w", 1)), ["unknown-kind"]);
    assert_eq!(put(changed("/metadata/namespace", "none".into())), ["missing-namespace"]);
    assert_eq!(put(changed("/metadata/name", "A_b".into())), ["bad-name"]);
    assert_eq!(put(changed("/data/v", 1.into())), ["type-mismatch"]);
    let mut unknown = config("a", "1");
    unknown["dada"] = json!({});
    assert_eq!(put(unknown), ["unknown-field"]);
    let mut scoped = namespace("n");
    scoped["metadata"]["namespace"] = "shop".into();
    assert_eq!(put(scoped), ["scope-violation"]);
    let all = [config("ok", "1"), changed("/data/v", 1.into()), changed("/metadata/namespace", "none".into())];
    assert_eq!(rules(store.target.hand("bob").put(&all, at(0)).unwrap_err()), ["type-mismatch", "missing-namespace"]);
    assert!(store.target.hand("x").get(&id("ConfigMap/shop/ok")).unwrap().is_none(), "all or none");
    // What one put makes the next in it may use.
    let mut inside = widget("w", 1);
    inside["metadata"]["namespace"] = "new".into();
    store.target.hand("bob").put(&[namespace("new"), crd(), inside], at(0)).unwrap();
}

#[test]
fn string_data_is_stored_as_data() {
    let store = Store::new();
    let mut object = secret("s", "b2xk");
    object["stringData"] = json!({"pass": "new"});
    store.put("bob", &object).unwrap();
    let live = get(&store, "Secret/shop/s");
    assert_eq!((live["data"]["pass"].clone(), live.get("stringData")), ("bmV3".into(), None));
}

#[test]
fn deletes_take_contents_along_and_are_in_the_history() {
    let store = Store::new();
    store.put("bob", &config("a", "1")).unwrap();
    let hand = store.target.hand("bob");
    assert_eq!(rules(hand.delete(&[id("ConfigMap/shop/none")], at(1)).unwrap_err()), ["not-found"]);
    assert_eq!(rules(hand.delete(&[id("Namespace/kube-system")], at(1)).unwrap_err()), ["system-object"]);
    let gone = hand.delete(&[id("Namespace/shop"), id("ConfigMap/shop/a")], at(1)).unwrap();
    assert_eq!(gone, [id("ConfigMap/shop/a"), id("Namespace/shop")]);
    let history = store.target.reader().unwrap().history(&History { limit: 10 }).unwrap();
    let told: Vec<(&str, &str, usize)> =
        history.iter().map(|e| (e.operation.as_str(), e.actor.as_str(), e.objects.len())).collect();
    assert_eq!(told, [("delete", "bob", 2), ("put", "bob", 1), ("put", "admin", 1)]);
    let (_, details) = store.target.reader().unwrap().receipt(&history[0].id).unwrap().unwrap();
    assert_eq!(details["objects"][0]["operation"], "deleted");
}

#[test]
fn an_object_made_again_has_another_uid() {
    let store = Store::new();
    let first = store.put("bob", &config("a", "1")).unwrap();
    store.target.hand("bob").delete(&[id("ConfigMap/shop/a")], at(1)).unwrap();
    let second = store.put("bob", &config("a", "1")).unwrap();
    assert_ne!(first[0].uid, second[0].uid);
    assert_eq!(second[0].result, PutResult::Created);
}

#[test]
fn a_list_shows_what_is_asked_for() {
    let store = Store::new();
    store.put("bob", &config("a", "1")).unwrap();
    store.put("bob", &secret("b", "eA==")).unwrap();
    let list = |ask: Ask| -> Vec<ResourceId> {
        store.target.hand("x").list(&ask).unwrap().into_iter().map(|live| live.head.id).collect()
    };
    assert_eq!(list(Ask::default()), [id("ConfigMap/shop/a"), id("Namespace/shop"), id("Secret/shop/b")]);
    assert_eq!(list(Ask { system: true, ..Ask::default() }).len(), 7);
    assert_eq!(list(Ask { kind: Some(GroupKind::new("", "Secret")), ..Ask::default() }), [id("Secret/shop/b")]);
    assert_eq!(list(Ask { namespace: Some("shop".into()), ..Ask::default() }).len(), 2);
}
