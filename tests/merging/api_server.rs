//! What a running kube-apiserver 1.36.3 does with the same requests, as measured.

use holdfast::merge::{self, Operation};
use serde_json::{Value, json};

use crate::{apply, apply_as, bare, by_hand, held, kind, paths, plan, us, widget};

fn config(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": data})
}

fn deployment(spec: Value) -> Value {
    let mut spec = spec;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec})
}

fn pods(containers: Value) -> Value {
    deployment(json!({"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}}))
}

#[test]
fn applying_beside_a_stranger_adds_our_fields_and_applying_the_bare_name_takes_them_away_again() {
    let schema = kind("v1", "ConfigMap");
    let theirs = apply_as(&schema, None, &config(json!({"a": "1"})), "stranger", 0);
    let both = apply(&schema, Some(&theirs), &config(json!({"a": "1", "b": "2"})), 1);
    assert_eq!(both["data"], json!({"a": "1", "b": "2"}));
    let mut name_alone = config(json!({}));
    name_alone.as_object_mut().unwrap().remove("data");
    let back = apply(&schema, Some(&both), &name_alone, 2);
    assert_eq!(back, theirs);
}

#[test]
fn an_apply_that_changes_nothing_moves_nothing_not_even_the_time() {
    let schema = kind("v1", "ConfigMap");
    let live = apply(&schema, None, &config(json!({"a": "1"})), 0);
    assert_eq!(apply(&schema, Some(&live), &config(json!({"a": "1"})), 60), live);
}

#[test]
fn a_put_takes_exactly_the_fields_it_changes() {
    let schema = kind("v1", "ConfigMap");
    let live = apply(&schema, None, &config(json!({"a": "1", "b": "1"})), 0);
    let live = by_hand(&schema, &live, "hand", 1, |v| {
        v["data"]["a"] = json!("2");
        v["data"]["c"] = json!("3");
    });
    assert_eq!(held(&live, "holdfast", Operation::Apply).to_fields_v1(), json!({"f:data": {"f:b": {}}}));
    assert_eq!(held(&live, "hand", Operation::Update).to_fields_v1(), json!({"f:data": {"f:a": {}, "f:c": {}}}));
}

#[test]
fn a_put_that_removes_a_field_takes_it_from_its_holder() {
    let schema = kind("v1", "ConfigMap");
    let live = apply(&schema, None, &config(json!({"a": "1", "b": "1"})), 0);
    let live = by_hand(&schema, &live, "hand", 1, |v| drop(v["data"].as_object_mut().unwrap().remove("a")));
    assert_eq!(held(&live, "holdfast", Operation::Apply).to_fields_v1(), json!({"f:data": {"f:b": {}}}));
    assert!(held(&live, "hand", Operation::Update).is_empty());
}

#[test]
fn a_field_that_we_no_longer_declare_goes_and_one_that_somebody_took_stays() {
    let schema = kind("v1", "ConfigMap");
    let before = config(json!({"a": "1", "b": "1"}));
    let live = apply(&schema, None, &before, 0);
    let live = by_hand(&schema, &live, "hand", 1, |v| v["data"]["b"] = json!("theirs"));
    let declared = config(json!({}));
    let fields = merge::FieldSet::of_object(schema.root(), &before);
    let us = us();
    let out = merge::merge(&merge::Ask {
        schema: &schema,
        live: Some(&live),
        declared: &declared,
        declared_before: Some(&fields),
        manager: &us,
        left_alone: &[],
    })
    .unwrap();
    assert_eq!(out.result["data"], json!({"b": "theirs"}));
    assert_eq!(paths(out.changes.iter().map(|c| &c.path)), ["/data/a"]);
    assert_eq!(out.left.len(), 1);
    assert_eq!((out.left[0].path.as_str(), out.left[0].manager.as_str()), ("/data/b", "hand"));
    assert!(out.taken.is_empty());
}

#[test]
fn a_field_that_two_applied_stays_until_both_drop_it() {
    let schema = kind("v1", "ConfigMap");
    let live = apply(&schema, None, &config(json!({"a": "1"})), 0);
    let live = apply_as(&schema, Some(&live), &config(json!({"a": "1"})), "second", 1);
    let live = apply(&schema, Some(&live), &config(json!({})), 2);
    assert_eq!(live["data"], json!({"a": "1"}));
    let live = apply_as(&schema, Some(&live), &config(json!({})), "second", 3);
    assert!(live["data"].as_object().unwrap().is_empty());
}

#[test]
fn taking_a_field_lists_its_holder_and_the_holder_loses_it() {
    let schema = kind("v1", "ConfigMap");
    let live = apply(&schema, None, &config(json!({"a": "1"})), 0);
    let live = by_hand(&schema, &live, "hand", 1, |v| v["data"]["a"] = json!("2"));
    let declared = config(json!({"a": "1"}));
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(out.taken.len(), 1);
    assert_eq!((out.taken[0].path.as_str(), out.taken[0].manager.as_str()), ("/data/a", "hand"));
    assert_eq!(out.changes[0].before, Some(json!("2")));
    assert_eq!(out.changes[0].after, Some(json!("1")));
    let live = apply(&schema, Some(&live), &declared, 2);
    assert!(held(&live, "hand", Operation::Update).is_empty());
}

#[test]
fn an_object_that_names_no_owners_belongs_to_whoever_wrote_it_before() {
    let schema = kind("v1", "ConfigMap");
    let live = config(json!({"a": "1", "b": "1"}));
    let declared = config(json!({"a": "2"}));
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(out.taken[0].manager.as_str(), "before-first-apply");
    let live = apply(&schema, Some(&live), &declared, 0);
    assert_eq!(live["data"], json!({"a": "2", "b": "1"}));
    assert_eq!(held(&live, "before-first-apply", Operation::Update).to_fields_v1(), json!({"f:data": {"f:b": {}}}));
}

#[test]
fn a_container_that_somebody_added_stays_in_its_place() {
    let schema = kind("apps/v1", "Deployment");
    let declared = pods(json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]));
    let live = apply(&schema, None, &declared, 0);
    let live = by_hand(&schema, &live, "injector", 1, |v| {
        let list = v["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
        list.insert(1, json!({"name": "proxy", "image": "p:1"}));
    });
    assert!(plan(&schema, &live, &declared).unwrap().is_unchanged());
    let new = pods(json!([{"name": "a", "image": "a:2"}, {"name": "b", "image": "b:1"}]));
    let out = plan(&schema, &live, &new).unwrap();
    assert_eq!(paths(out.changes.iter().map(|c| &c.path)), ["/spec/template/spec/containers/0/image"]);
    let live = apply(&schema, Some(&live), &new, 2);
    let names: Vec<_> =
        live["spec"]["template"]["spec"]["containers"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["a", "proxy", "b"]);
}

#[test]
fn the_declared_order_is_kept_and_a_reorder_is_an_update() {
    let schema = kind("apps/v1", "Deployment");
    let env = |names: &[&str]| {
        let list: Vec<_> = names.iter().map(|n| json!({"name": n, "value": "1"})).collect();
        pods(json!([{"name": "a", "image": "a:1", "env": list}]))
    };
    let live = apply(&schema, None, &env(&["A", "B", "C"]), 0);
    let new = env(&["C", "A", "B"]);
    let out = plan(&schema, &live, &new).unwrap();
    assert_eq!(paths(out.changes.iter().map(|c| &c.path)), ["/spec/template/spec/containers/0/env"]);
    assert_eq!(out.result["spec"], new["spec"]);
    assert!(out.taken.is_empty());
}

#[test]
fn an_atomic_map_is_taken_whole() {
    let schema = kind("v1", "Service");
    let service = |selector: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": selector}});
    let live = apply(&schema, None, &service(json!({"a": "1"})), 0);
    let live = by_hand(&schema, &live, "hand", 1, |v| v["spec"]["selector"]["b"] = json!("2"));
    assert_eq!(held(&live, "hand", Operation::Update).to_fields_v1(), json!({"f:spec": {"f:selector": {}}}));
    let declared = service(json!({"a": "1"}));
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(out.result["spec"]["selector"], json!({"a": "1"}));
    assert_eq!((out.taken[0].path.as_str(), out.taken[0].manager.as_str()), ("/spec/selector", "hand"));
}

#[test]
fn a_default_that_nobody_holds_makes_way_for_a_declared_change() {
    let schema = kind("apps/v1", "Deployment");
    let live = apply(&schema, None, &deployment(json!({})), 0);
    // The target fills in; nobody holds it.
    let mut live = live;
    live["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}});
    let declared = deployment(json!({"strategy": {"type": "Recreate"}}));
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(out.result["spec"]["strategy"], json!({"type": "Recreate"}));
    assert_eq!(paths(&out.dropped_defaults), ["/spec/strategy/rollingUpdate"]);

    let held = by_hand(&schema, &live, "hand", 1, |v| {
        v["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = json!(3);
    });
    let out = plan(&schema, &held, &declared).unwrap();
    assert!(out.dropped_defaults.is_empty());
    assert_eq!(out.result["spec"]["strategy"]["rollingUpdate"]["maxSurge"], json!(3));
}

#[test]
fn what_the_target_filled_in_inside_a_struct_goes_with_our_last_field_of_it() {
    let schema = kind("apps/v1", "Deployment");
    let probe = |p: Value| pods(json!([{"name": "a", "image": "a:1", "livenessProbe": p}]));
    let mut live = apply(&schema, None, &probe(json!({"httpGet": {"port": 80}})), 0);
    live["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["httpGet"]["scheme"] = json!("HTTP");
    let declared = probe(json!({"exec": {"command": ["x"]}}));
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(
        out.result["spec"]["template"]["spec"]["containers"][0]["livenessProbe"],
        json!({"exec": {"command": ["x"]}})
    );
}

#[test]
fn dropping_an_entry_drops_what_others_wrote_into_it_and_says_so() {
    let schema = kind("apps/v1", "Deployment");
    let live = apply(&schema, None, &pods(json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}])), 0);
    let live = by_hand(&schema, &live, "hand", 1, |v| {
        v["spec"]["template"]["spec"]["containers"][1]["image"] = json!("b:hot");
    });
    let declared = pods(json!([{"name": "a", "image": "a:1"}]));
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(out.result["spec"]["template"]["spec"]["containers"], json!([{"name": "a", "image": "a:1"}]));
    assert_eq!(paths(out.changes.iter().map(|c| &c.path)), ["/spec/template/spec/containers/1"]);
    assert_eq!(paths(out.taken.iter().map(|t| &t.path)), ["/spec/template/spec/containers/1/image"]);
}

#[test]
fn fields_of_another_version_of_the_kind_are_taken_at_face_value() {
    let v1 = kind("autoscaling/v1", "HorizontalPodAutoscaler");
    let v2 = kind("autoscaling/v2", "HorizontalPodAutoscaler");
    let hpa = |version: &str, more: (&str, Value)| {
        json!({"apiVersion": format!("autoscaling/{version}"), "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"}, "spec": {"maxReplicas": 5, more.0: more.1}})
    };
    let live = apply(&v1, None, &hpa("v1", ("targetCPUUtilizationPercentage", json!(70))), 0);
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu"}}]);
    let declared = hpa("v2", ("metrics", metrics.clone()));
    let live = apply(&v2, Some(&live), &declared, 1);
    assert_eq!(bare(&live), declared);
    assert!(plan(&v2, &live, &declared).unwrap().is_unchanged());
}

#[test]
fn unknown_fields_of_custom_resources_merge_by_keys_and_their_lists_whole() {
    let schema = widget();
    let of = |open: Value| json!({"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"open": open}});
    let live = apply(&schema, None, &of(json!({"a": {"b": 1}, "list": [{"name": "x"}]})), 0);
    let live = by_hand(&schema, &live, "hand", 1, |v| v["spec"]["open"]["a"]["c"] = json!(2));
    let live = apply(&schema, Some(&live), &of(json!({"a": {"b": 3}, "list": [{"name": "y"}]})), 2);
    assert_eq!(live["spec"]["open"], json!({"a": {"b": 3, "c": 2}, "list": [{"name": "y"}]}));
}

#[test]
fn a_set_keeps_what_others_put_in() {
    let schema = widget();
    let of = |set: Value| json!({"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"set": set}});
    let live = apply(&schema, None, &of(json!(["a", "b"])), 0);
    let live = by_hand(&schema, &live, "hand", 1, |v| v["spec"]["set"].as_array_mut().unwrap().push(json!("c")));
    let live = apply(&schema, Some(&live), &of(json!(["a"])), 2);
    assert_eq!(live["spec"]["set"], json!(["a", "c"]));
}

#[test]
fn an_entry_declared_twice_is_refused() {
    let schema = kind("apps/v1", "Deployment");
    let live = apply(&schema, None, &pods(json!([{"name": "a", "image": "a:1"}])), 0);
    let twice = pods(json!([{"name": "a", "image": "a:1"}, {"name": "a", "image": "a:2"}]));
    let error = plan(&schema, &live, &twice).unwrap_err();
    assert_eq!(error.to_string(), "the entry /spec/template/spec/containers/1 is declared twice");
}

#[test]
fn a_put_of_an_unknown_kind_takes_lists_whole() {
    let new = json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}, "list": [{"name": "a"}]});
    let live = merge::update(None, None, &new, &us(), crate::at(0)).unwrap();
    assert_eq!(held(&live, "holdfast", Operation::Update).to_fields_v1(), json!({"f:list": {}}));
}

/// The order rule of structured-merge-diff, by its own examples: live, declared, merged.
const ORDERS: &[(&str, &str, &str)] = &[
    ("abc", "ab", "abc"),
    ("ab", "abc", "abc"),
    ("abc", "", "abc"),
    ("", "abc", "abc"),
    ("ab", "ba", "ba"),
    ("abc", "def", "abcdef"),
    ("abc", "cdef", "abcdef"),
    ("abcgf", "cdef", "abcgdef"),
    ("abc", "defxyz", "abcdefxyz"),
    ("cdef", "ace", "acdef"),
    ("abcxyz", "def", "abcxyzdef"),
    ("abcxyz", "defxyz", "abcdefxyz"),
    ("cagf", "cfag", "cfag"),
    ("abcd", "defa", "bcdefa"),
    ("cdefghij", "2h3e4kl", "cdfg2hij3e4kl"),
    ("abcdefghij", "1b2h3e4kl", "a1bcdfg2hij3e4kl"),
    ("abb", "c", "abbc"),
    ("abb", "b", "ab"),
    ("abb", "a", "abb"),
    ("abcdec", "1b2ed", "a1bc2ecd"),
];

#[test]
fn lists_merge_in_the_api_servers_order() {
    let schema = widget();
    let of = |set: &str| {
        let set: Vec<String> = set.chars().map(String::from).collect();
        json!({"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"set": set}})
    };
    for (live, declared, merged) in ORDERS {
        let out = apply(&schema, Some(&of(live)), &of(declared), 0);
        assert_eq!(out["spec"], of(merged)["spec"], "{declared} over {live}");
    }
}

#[test]
fn a_change_beside_it_keeps_the_live_spelling_and_its_holder() {
    let schema = kind("apps/v1", "Deployment");
    let of = |image: &str, cpu: &str| {
        pods(json!([{"name": "a", "image": image, "resources": {"limits": {"cpu": cpu}},
            "env": [{"name": "E", "value": ""}]}]))
    };
    let live = apply_as(&schema, None, &of("a:1", "1"), "other", 0);
    let declared = of("a:2", "1000m");
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(out.result["spec"], of("a:2", "1")["spec"]);
    assert_eq!(paths(out.taken.iter().map(|t| &t.path)), ["/spec/template/spec/containers/0/image"]);
}

#[test]
fn a_quantity_of_a_custom_resource_keeps_its_live_spelling_too() {
    let schema = widget();
    let of = |size: i64, memory: &str| {
        json!({"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
            "spec": {"size": size, "memory": memory}})
    };
    let live = apply_as(&schema, None, &of(4, "1Gi"), "other", 0);
    let declared = of(5, "1024Mi");
    let out = plan(&schema, &live, &declared).unwrap();
    assert_eq!(out.result["spec"], of(5, "1Gi")["spec"]);
    assert_eq!(paths(out.taken.iter().map(|t| &t.path)), ["/spec/size"]);
    assert_eq!(paths(&out.newly_owned), ["/spec/memory"]);
}
