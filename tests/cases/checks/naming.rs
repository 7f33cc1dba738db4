//! IDs, texts, pointers, values and digests.

use serde_json::{Value, json};

use crate::digests;
use crate::expected::{Case, DigestKind};
use crate::ids::{Id, Permission};
use crate::never::Never;
use crate::pointer::{Pointer, Reported, fields_match, same_value};
use crate::random::Random;
use crate::reasons::{Reason, refused_apply_codes};
use crate::text;

fn id(text: &str) -> Id {
    Id::try_from(text.to_owned()).unwrap()
}

fn pointer(text: &str) -> Pointer {
    Pointer::try_from(text.to_owned()).unwrap()
}

#[test]
fn ids_are_written_as_the_command_line_asks() {
    for (bank, line) in [
        ("core/ConfigMap/shop/a", "ConfigMap/shop/a"),
        ("apps/Deployment/shop/web", "Deployment.apps/shop/web"),
        ("core/Namespace/-/shop", "Namespace/shop"),
        ("rbac.authorization.k8s.io/ClusterRole/-/viewer", "ClusterRole.rbac.authorization.k8s.io/viewer"),
    ] {
        assert_eq!(id(bank).on_command_line(), line);
        assert_eq!(Id::from_json(&json!(line)), Some(id(bank)));
    }
    let permission = Permission::try_from("core/Namespace/-/shop=1".to_owned()).unwrap();
    assert_eq!(permission.on_command_line(), "Namespace/shop=1");
}

#[test]
fn ids_are_read_from_plans_and_objects() {
    let deployment = json!({"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"});
    assert_eq!(Id::from_json(&deployment), Some(id("apps/Deployment/shop/web")));
    for namespace in [json!(null), json!("")] {
        let value = json!({"group": "", "kind": "Namespace", "namespace": namespace, "name": "shop"});
        assert_eq!(Id::from_json(&value), Some(id("core/Namespace/-/shop")));
    }
    let object =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}});
    assert_eq!(Id::of_object(&object), Some(id("apps/Deployment/shop/web")));
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    assert_eq!(Id::of_object(&object), Some(id("core/Namespace/-/shop")));
    assert_eq!(Id::of_object(&json!({"kind": "Namespace"})), None);
}

#[test]
fn an_id_is_named_by_its_kind_namespace_and_name_as_words() {
    let a = id("core/ConfigMap/shop/a");
    assert!(a.is_named_in(&json!({"holds": [{"group": "", "kind": "ConfigMap", "namespace": "shop", "name": "a"}]})));
    assert!(a.is_named_in(&json!({"text": "it would take ConfigMap/shop/a."})));
    assert!(!a.is_named_in(&json!({"text": "ConfigMap/shop/b has data"})), "a letter in a word is no name");
    assert!(!a.is_named_in(&json!({"text": "ConfigMap/shop/a-b"})));
    assert!(!a.is_named_in(&json!({"text": "ConfigMap/other/a"})));
    assert!(id("core/Namespace/-/shop").is_named_in(&json!({"id": "Namespace/shop"})));
}

#[test]
fn texts_are_found_at_any_depth() {
    let value = json!({"a": [{"b": "the file s.yaml, line 3"}], "n": 1.5});
    assert!(text::is_named_in("s.yaml", &value));
    assert!(text::is_named_in("1.5", &value));
    assert!(!text::is_named_in("t.yaml", &value));
    assert!(text::has_word("x 123 y", "123"));
    assert!(!text::has_word("x 1234 y", "123"));
    assert!(!text::has_word("x", ""));
}

#[test]
fn fields_match_by_the_banks_rule() {
    let at = |path: &str, list: bool| Reported { path: path.to_owned(), list };
    assert!(fields_match("/data/a", &at("/data/a", false)));
    assert!(fields_match("/data", &at("/data/a", false)), "the reported one lies below the listed one");
    assert!(!fields_match("/data/a", &at("/data", false)));
    assert!(fields_match("/rules/0/verbs", &at("/rules", true)), "below a list that is reported whole");
    assert!(!fields_match("/data/a", &at("/data/ab", false)));
    assert!(!fields_match("/data/ab", &at("/data/a", true)));
}

#[test]
fn values_are_equal_as_integers_or_as_doubles() {
    assert!(same_value(&json!(1), &json!(1.0)));
    assert!(!same_value(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
    let big: Value = serde_json::from_str("12345678901234567000").unwrap();
    let double: Value = serde_json::from_str("1.2345678901234567e19").unwrap();
    assert!(same_value(&big, &double), "beyond 64 bits a number is a double");
    assert!(!same_value(&json!("1"), &json!(1)));
    assert!(same_value(&json!({"a": [1, {"b": 2.0}]}), &json!({"a": [1, {"b": 2}]})));
    assert!(!same_value(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
}

#[test]
fn pointers_set_append_and_unset() {
    let mut object = json!({"spec": {"ports": [{"port": 80}]}});
    pointer("/metadata/annotations/a.b~1c").set(&mut object, json!("x")).unwrap();
    pointer("/spec/ports/0/nodePort").set(&mut object, json!(30080)).unwrap();
    pointer("/spec/ports").append(&mut object, json!({"port": 81})).unwrap();
    pointer("/spec/args").append(&mut object, json!("new")).unwrap();
    assert_eq!(
        object,
        json!({
            "metadata": {"annotations": {"a.b/c": "x"}},
            "spec": {"ports": [{"port": 80, "nodePort": 30080}, {"port": 81}], "args": ["new"]},
        })
    );
    pointer("/metadata/annotations").unset(&mut object).unwrap();
    assert_eq!(object["metadata"], json!({}));
    assert!(pointer("/metadata/annotations").unset(&mut object).is_err());
    assert!(pointer("/spec/ports/7/port").set(&mut object, json!(1)).is_err());
    assert_eq!(pointer("/spec/none").get(&json!({"spec": {"none": null}})), None);
    assert!(Pointer::try_from("a/b".to_owned()).is_err());
    assert!(Pointer::try_from("/a~2".to_owned()).is_err());
}

#[test]
fn digests_are_those_of_the_standards() {
    let of = |kind, text: &str| digests::hex(kind, text.as_bytes());
    assert_eq!(of(DigestKind::Md5, ""), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(of(DigestKind::Md5, "message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    let long = "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
    assert_eq!(of(DigestKind::Md5, long), "57edf4a22be3c955ac49da2e2107b67a");
    assert_eq!(of(DigestKind::Sha1, "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_eq!(of(DigestKind::Sha1, long), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    assert_eq!(of(DigestKind::Sha256, "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#[test]
fn forbidden_texts_and_their_digests_are_found() {
    let text = json!({
        "case": "x01-x", "needs": [], "namespaces": [], "sources": {"s": {"namespaces": ["s"], "prune": true}},
        "steps": [{"action": "race", "one_of": ["P", "P2"], "reason": "locked"}],
        "never": ["hunter2", "1234"], "never_digests": ["sha1"],
    });
    let never = Never::of(&Case::read("x01-x", &text.to_string()).unwrap());
    assert!(never.found_in("password: hunter2").is_some());
    assert!(never.found_in("f3bbbd66a63d4bf1747940578ec3d0103530e21d").is_some());
    assert!(never.found_in("F3BBBD66A63D4BF1747940578EC3D0103530E21D").is_some(), "capitals too");
    assert!(never.found_in("port 1234.").is_some());
    assert!(never.found_in("port 12345, hunter").is_none(), "digits count as a whole word");
}

#[test]
fn reasons_map_to_rules_and_exit_codes() {
    let reason = Reason::try_from("stale-plan".to_owned()).unwrap();
    assert!(reason.accepts("stale-plan"));
    assert!(!reason.accepts("locked"));
    assert_eq!(Reason::of_rule("no-such-rule"), None);
    assert_eq!(refused_apply_codes(["stale-plan", "stale-plan"].into_iter()), &[4]);
    assert_eq!(refused_apply_codes(["plan-digest"].into_iter()), &[1]);
    assert_eq!(refused_apply_codes(["locked"].into_iter()), &[1, 4]);
}

#[test]
fn the_same_seed_gives_the_same_moments() {
    let moments = |seed| {
        let mut random = Random::new(seed);
        (0..20).map(|_| random.fraction()).collect::<Vec<f64>>()
    };
    assert_eq!(moments(7), moments(7));
    assert_ne!(moments(7), moments(8));
    assert!(moments(7).iter().all(|moment| (0.0..1.0).contains(moment)));
}
