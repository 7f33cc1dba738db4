//! Names and keys.

use holdfast::base::resource::GroupKind;
use holdfast::schema::names;

fn takes(group: &str, kind: &str, name: &str) -> bool {
    names::check(&GroupKind::new(group, kind), name).is_ok()
}

#[test]
fn each_kind_has_its_rule() {
    assert!(takes("", "ConfigMap", "a.b-c.9"));
    assert!(!takes("", "ConfigMap", "A") && !takes("", "ConfigMap", "a_b") && !takes("", "ConfigMap", "a..b"));
    assert!(!takes("", "ConfigMap", "") && !takes("", "ConfigMap", "-a") && !takes("", "ConfigMap", "a."));
    assert!(takes("", "ConfigMap", &"a".repeat(253)) && !takes("", "ConfigMap", &"a".repeat(254)));
    assert!(takes("", "Namespace", "9a") && !takes("", "Namespace", "a.b"));
    assert!(takes("", "Service", "a9") && !takes("", "Service", "9a"));
    assert!(takes("rbac.authorization.k8s.io", "ClusterRole", "system:node/x".split('/').next().unwrap()));
    assert!(!takes("rbac.authorization.k8s.io", "ClusterRole", "a/b"));
    assert!(!takes("rbac.authorization.k8s.io", "Role", "..") && !takes("rbac.authorization.k8s.io", "Role", "a%b"));
    assert!(takes("batch", "CronJob", &"a".repeat(52)) && !takes("batch", "CronJob", &"a".repeat(53)));
    assert!(takes("example.com", "Widget", "a.b") && !takes("example.com", "Widget", "a b"));
}

#[test]
fn keys_and_values_of_labels() {
    for good in ["a", "app.kubernetes.io/name", "A_b.c-9", &"a".repeat(63)] {
        assert!(names::qualified(good).is_ok(), "{good}");
    }
    for bad in ["", "/a", "a/", "a/b/c", "A.b/c", "-a", "a-", "a b", &"a".repeat(64)] {
        assert!(names::qualified(bad).is_err(), "{bad}");
    }
    assert!(names::label_value("").is_ok() && names::label_value("v1.2_x").is_ok());
    assert!(names::label_value("a b").is_err() && names::label_value("-").is_err());
    assert!(names::annotation_key("Example.com/Key").is_ok());
}

#[test]
fn keys_of_config_maps_ports_and_variables() {
    assert!(
        names::config_key("..data").is_err() && names::config_key(".").is_err() && names::config_key("a/b").is_err()
    );
    assert!(names::config_key(".dockerconfigjson").is_ok() && names::config_key("a_B-c.9").is_ok());
    assert!(names::port_name("http-2").is_ok() && names::port_name("8080").is_err());
    assert!(names::port_name("a--b").is_err() && names::port_name("Http").is_err());
    assert!(names::env_name("A_1").is_ok() && names::env_name("a.b-c").is_ok());
    assert!(names::env_name("").is_err() && names::env_name("A=B").is_err());
}
