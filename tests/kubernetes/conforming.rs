//! The conformance suite on a real API server.

use std::sync::Arc;
use std::time::Duration;

use holdfast::base::clock::{Clock, Moment};
use holdfast::base::digest;
use holdfast::base::ids::ObjectUid;
use holdfast::base::resource::ResourceId;
use holdfast::inventory::Row;
use holdfast::target::Target;
use holdfast::target::kubernetes::{Kubernetes, Options, Place};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::conformance::build::{Shop, WAIT, id_of, namespace};
use crate::conformance::{ALL, Fixture};
use crate::control_plane::shared;
use crate::hand::Hand;
use crate::on_cluster;

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("a_cluster_holds_what_every_target_must", a_cluster_holds_what_every_target_must),
        on_cluster("an_inventory_of_20000_objects_fits_and_is_read_back_row_by_row", twenty_thousand_rows),
    ]
}

/// The wall clock: a lease can't be kept by any other.
pub struct Wall;

impl Clock for Wall {
    fn now(&self) -> Moment {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Moment::from_millis(i64::try_from(since.as_millis()).unwrap())
    }
}

struct Fresh {
    target: Kubernetes,
    hand: Hand,
}

/// Where objects of a resource are made, and where one is.
pub fn urls(id: &ResourceId) -> (String, String) {
    let (group, version, plural) = match (id.group.as_str(), id.kind.as_str()) {
        ("", kind) => ("/api".to_owned(), "v1", format!("{}s", kind.to_lowercase())),
        (group, "CustomResourceDefinition") => (format!("/apis/{group}"), "v1", "customresourcedefinitions".to_owned()),
        (group, kind) => (format!("/apis/{group}"), "v1", format!("{}s", kind.to_lowercase())),
    };
    let within = id.namespace.as_ref().map(|ns| format!("/namespaces/{ns}")).unwrap_or_default();
    let all = format!("{group}/{version}{within}/{plural}");
    let one = format!("{all}/{}", id.name);
    (all, one)
}

impl Fresh {
    /// The cluster as the cases want it: nothing of an earlier case, and state of its own.
    fn new(number: usize) -> Self {
        let on = shared();
        let hand = on.hand();
        let body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        for plural in ["configmaps", "secrets"] {
            let url = format!("/api/v1/namespaces/shop/{plural}");
            hand.ask(http::Method::DELETE, &url, "application/json", Some(&body)).unwrap();
        }
        hand.delete("/api/v1/namespaces/gone");
        hand.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com");
        hand.put("admin", "/api/v1/namespaces", &namespace("shop"));
        hand.until("the Namespace has what every Namespace gets", || {
            hand.get("/api/v1/namespaces/shop/configmaps/kube-root-ca.crt").is_some() || !on.has_controllers
        });
        Self { target: open(number), hand }
    }
}

/// The cluster with a state of its own.
fn open(number: usize) -> Kubernetes {
    let options = Options {
        place: Place::Files(vec![shared().kubeconfig.clone()]),
        context: None,
        state_namespace: format!("conformance-{number}"),
        cache: None,
        sources: Vec::new(),
        lease: Some(Duration::from_secs(9)),
    };
    Kubernetes::open(&options, Arc::new(Wall)).unwrap()
}

impl Fixture for Fresh {
    fn target(&self) -> &dyn Target {
        &self.target
    }

    fn put(&self, actor: &str, object: &Value) {
        self.hand.put(actor, &urls(&id_of(object)).0, object);
    }

    fn delete(&self, _actor: &str, id: &ResourceId) {
        self.hand.delete(&urls(id).1);
    }

    fn remembers_deletes(&self) -> bool {
        false
    }

    fn settles(&self, what: &str, is_so: &dyn Fn() -> bool) {
        self.hand.until(what, is_so);
    }
}

fn a_cluster_holds_what_every_target_must() {
    let mut failed = Vec::new();
    for (number, (name, case)) in ALL.iter().enumerate() {
        let run = std::panic::catch_unwind(|| case(&Fresh::new(number)));
        println!("{name}: {}", if run.is_ok() { "holds" } else { "broken" });
        if run.is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// A Deployment as people write them; each is another one for whoever compresses it.
fn deployment(n: usize) -> Value {
    let name = format!("app-{n:05}");
    let container = json!({
        "name": "app", "image": format!("registry.example/{name}@sha256:{}", digest::sha256(name.as_bytes())),
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
    });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    })
}

fn twenty_thousand_rows() {
    let target = open(900);
    let mut shop = Shop::new(&target, "shop");
    let row = |shop: &Shop, n: usize| Row {
        uid: ObjectUid::parse(&uuid::Uuid::new_v4().to_string()).unwrap(),
        version: n.to_string(),
        seen: digest::sha256(&n.to_be_bytes()),
        ..shop.row(&deployment(n))
    };
    let rows: Vec<Row> = (0..20_000).map(|n| row(&shop, n)).collect();
    let apply = |shop: &mut Shop, rows: Vec<Row>| {
        let writer = target.writer(&[], WAIT).unwrap();
        let mut batch = shop.batch(writer.reader());
        batch.sources[0].upserts = rows;
        writer.commit(batch.into()).unwrap();
    };
    let is = |shop: &Shop, rows: &[Row]| {
        let inventory = target.reader().unwrap().inventory(&shop.source).unwrap();
        assert_eq!(inventory.rows.len(), rows.len());
        assert!(inventory.rows.values().zip(rows).all(|(a, b)| **a == *b));
    };
    apply(&mut shop, rows.clone());
    is(&shop, &rows);
    // One of them changes.
    let mut rows = rows;
    rows[7].line = 7;
    apply(&mut shop, vec![rows[7].clone()]);
    is(&shop, &rows);
}
