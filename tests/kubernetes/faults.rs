//! A proxy that fails between Holdfast and the API server, at each write of an apply: it ends wholly old, wholly new, or
//! recovered by the next command; and what somebody else wrote meanwhile stays.
//!
//! `HOLDFAST_FAULTS=all` tries every fault at every write; without it one in sixteen is tried.

use std::collections::BTreeMap;

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::lab::Said;
use crate::on_cluster;
use crate::place::Place;
use crate::proxy::{Fault, Proxy};

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("a_fault_at_any_write_leaves_all_old_or_all_new_or_what_the_next_command_recovers", at_any_write),
        on_cluster("a_fault_while_objects_are_adopted_and_change_hands_does_too", adopted_and_transferred),
        on_cluster("a_list_that_lies_forgets_nothing_and_deletes_nothing_of_others", lying_lists),
        on_cluster("a_kill_at_any_step_of_an_undo_is_gone_on_with", killed_undoing),
    ]
}

/// Twelve changes from one side to the other and back: four come, five change, three go.
const SIDES: [[&str; 9]; 2] =
    [["u1", "u2", "u3", "u4", "u5", "o1", "o2", "o3", ""], ["u1", "u2", "u3", "u4", "u5", "n1", "n2", "n3", "n4"]];

struct World {
    place: Place,
    proxy: Proxy,
}

impl World {
    fn new(name: &str) -> Self {
        let place = Place::new(name);
        place.make_namespace();
        let proxy = Proxy::before(&place.on.kubeconfig);
        std::fs::write(place.lab.path().join("proxied"), crate::control_plane::config(&proxy.url, "", "t")).unwrap();
        Self { place, proxy }
    }

    /// Declares one side.
    fn declare(&self, side: usize) {
        self.place.repo.git(&["rm", "-rq", "--ignore-unmatch", "deploy"]);
        for name in SIDES[side].iter().filter(|name| !name.is_empty()) {
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {{side: \"{side}\"}}\ndata:\n  v: \"{side}\"\n"
            );
            self.place.repo.write(&format!("deploy/{name}.yaml"), text);
        }
        self.place.repo.commit("side");
    }

    /// Runs a command through the proxy.
    fn through(&self, args: &[&str]) -> Said {
        let file = self.place.lab.path().join("holdfast.yaml");
        let text = std::fs::read_to_string(&file).unwrap();
        let proxied = self.place.lab.path().join("proxied");
        let direct = self.place.on.kubeconfig.display().to_string();
        std::fs::write(
            self.place.lab.path().join("proxied.yaml"),
            text.replace(&direct, &proxied.display().to_string()),
        )
        .unwrap();
        let mut all = vec!["-f", "proxied.yaml"];
        all.extend(args);
        self.place.run(&all)
    }

    /// The ConfigMaps of the Namespace that are ours or somebody's, by name.
    fn live(&self) -> BTreeMap<String, Value> {
        let url = format!("/api/v1/namespaces/{}/configmaps", self.place.namespace);
        let list = self.place.on.hand().get(&url).unwrap();
        let items = list["items"].as_array().unwrap().iter();
        let named = items.map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), item.clone()));
        named.filter(|(name, _)| name != "kube-root-ca.crt").collect()
    }

    /// Which side all of it is on; panics if it is on both.
    #[track_caller]
    fn side(&self, what: &str) -> usize {
        let live = self.live();
        let is = |side: usize| {
            let names = SIDES[side].iter().filter(|name| !name.is_empty());
            let all: Vec<&str> = names.copied().collect();
            live.len() == all.len()
                && all.iter().all(|name| {
                    live.get(*name).is_some_and(|object| {
                        let side = json!(side.to_string());
                        object["data"]["v"] == side
                            && object["metadata"]["labels"]["side"] == side
                            && object["metadata"]["annotations"].get("holdfast.dev/owner").is_some()
                    })
                })
        };
        match (is(0), is(1)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => {
                let shown: Vec<String> = live.iter().map(|(name, o)| format!("{name}={}", o["data"]["v"])).collect();
                panic!("{what}: neither old nor new: {shown:?}")
            }
        }
    }

    /// A hook by which somebody annotates an object, whatever happens meanwhile.
    fn annotates(&self, name: &str, text: &str) -> impl FnMut() + Send + 'static {
        let (on, namespace) = (self.place.on, self.place.namespace.clone());
        let (name, text) = (name.to_owned(), text.to_owned());
        move || {
            let patch = json!({"metadata": {"annotations": {"note": text}}});
            let url = format!("/api/v1/namespaces/{namespace}/configmaps/{name}?fieldManager=somebody");
            on.hand().ask(http::Method::PATCH, &url, "application/merge-patch+json", Some(&patch)).unwrap();
        }
    }
}

fn all() -> bool {
    std::env::var("HOLDFAST_FAULTS").is_ok_and(|value| value == "all")
}

fn at_any_write() {
    let world = World::new("faulty");
    world.declare(0);
    world.place.lab.apply(&[]);
    world.declare(1);
    world.proxy.reset();
    world.through(&["apply", "--yes"]).ok();
    let writes = world.proxy.seen();
    assert!(writes >= 12, "{writes}");
    let (mut side, mut tried, mut ends) = (1, 0, BTreeMap::<String, usize>::new());
    for nth in 1..=writes {
        for (index, fault) in Fault::OF_WRITES.into_iter().enumerate() {
            if !all() && (nth * 3 + index) % 16 != 0 {
                continue;
            }
            let what = format!("{fault:?} at write {nth} of {writes}");
            let other = 1 - side;
            world.declare(other);
            world.proxy.fails(fault, nth, world.annotates("u2", &what));
            let said = world.through(&["apply", "--yes", "-o", "json"]);
            assert!(matches!(said.code, 0 | 1 | 4 | 5), "{what}: {}", said.all());
            let met = !world.proxy.is_armed();
            world.proxy.reset();
            let recovered = world.place.run(&["recover"]);
            assert_eq!(recovered.code, 0, "{what}: {}\n{}", said.all(), recovered.all());
            let now = world.side(&what);
            if said.code == 0 {
                assert_eq!(now, other, "{what}: it said that it was done");
            }
            if met {
                assert_eq!(world.live()["u2"]["metadata"]["annotations"]["note"], what, "{what}: somebody's note");
            }
            // What is said of the applied commit is what is there.
            let drift = world.place.lab.run(&["drift", "--exit-code"]);
            assert_eq!(drift.code, 0, "{what}: {}", drift.all());
            let end = match (said.code, recovered.stdout.as_str()) {
                (0, _) => "done",
                (_, "Nothing to recover.\n") => "taken back at once",
                _ if now == other => "finished by the next command",
                _ => "undone by the next command",
            };
            println!("{what}: {end}");
            *ends.entry(end.to_owned()).or_default() += 1;
            tried += 1;
            side = now;
        }
    }
    println!("faults: {tried} tried at {writes} writes: {ends:?}");
}

fn adopted_and_transferred() {
    let world = World::new("handed");
    let file = world.place.lab.path().join("holdfast.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (source, target) = text.split_once("---\n").unwrap();
    let other = source.replace("name: shop", "name: other").replace("path: deploy", "path: other");
    std::fs::write(&file, format!("{source}---\n{other}---\n{target}")).unwrap();
    let map = |name: &str, value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  v: \"{value}\"\n")
    };
    let repo = &world.place.repo;
    for (round, fault) in [Fault::AnswerLost, Fault::Cut, Fault::Code(500), Fault::Down].into_iter().enumerate() {
        for nth in 1..=5 {
            if !all() && (nth + round) % 4 != 0 {
                continue;
            }
            let (t, a) = (format!("t{round}-{nth}"), format!("a{round}-{nth}"));
            repo.git(&["rm", "-rq", "--ignore-unmatch", "deploy", "other"]);
            repo.write("deploy/keep.yaml", map("keep", "1"));
            repo.write("other/also.yaml", map("also", "1"));
            repo.write("deploy/t.yaml", map(&t, "1"));
            repo.commit("mine");
            world.place.lab.apply(&[]);
            let uid = world.live()[&t]["metadata"]["uid"].clone();
            let unowned = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": a}, "data": {"v": "0", "w": "theirs"}});
            let collection = "/api/v1/namespaces/handed/configmaps";
            let mine = world.place.on.hand().put("kubectl", collection, &unowned);
            repo.remove("deploy/t.yaml");
            repo.write("other/t.yaml", map(&t, "2"));
            repo.write("other/a.yaml", map(&a, "2"));
            repo.write("deploy/c.yaml", map("c", "2"));
            repo.commit("theirs");
            let what = format!("{fault:?} at write {nth}");
            world.proxy.fails(fault, nth, || {});
            let adopt = format!("ConfigMap/handed/{a}");
            let said = world.through(&["apply", "--yes", "--adopt", &adopt]);
            world.proxy.reset();
            let recovered = world.place.run(&["recover"]);
            assert_eq!(recovered.code, 0, "{what}: {}\n{}", said.all(), recovered.all());
            let live = world.live();
            let new = live[&t]["data"]["v"] == "2";
            assert_eq!(live[&t]["metadata"]["uid"], uid, "{what}");
            let values = [&live[&a]["data"]["v"], &live[&t]["data"]["v"]];
            assert!(values == if new { ["2", "2"] } else { ["0", "1"] }, "{what}: {values:?}");
            assert_eq!(live.get("c").is_some_and(|c| c["data"]["v"] == "2"), new, "{what}");
            assert_eq!(live[&a]["data"]["w"], "theirs", "{what}");
            if !new {
                let owners = |object: &Value| object["metadata"]["managedFields"].clone();
                assert_eq!(owners(&live[&a]), owners(&mine), "{what}: whose it was, it is again");
            }
            // And from there on everything goes its way.
            let mut args = vec!["apply", "--yes"];
            if !new {
                args.extend(["--adopt", &adopt]);
            }
            world.place.run(&args).ok();
            assert_eq!(world.live()[&t]["metadata"]["uid"], uid, "{what}");
            repo.remove("other/t.yaml");
            repo.remove("other/a.yaml");
            repo.remove("deploy/c.yaml");
            repo.commit("away");
            world.place.run(&["apply", "--yes", "--allow-deletes", "3"]).ok();
        }
    }
}

fn lying_lists() {
    let world = World::new("lying");
    world.declare(0);
    world.place.lab.apply(&[]);
    let stranger =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "strangers"}, "data": {"v": "x"}});
    let collection = "/api/v1/namespaces/lying/configmaps";
    let theirs = world.place.on.hand().put("kubectl", collection, &stranger);
    world.declare(1);
    world.proxy.fails(Fault::EmptyList, usize::MAX, || {});
    world.through(&["plan"]).ok();
    let lists = world.proxy.seen();
    assert!(lists > 0);
    let mut side = 0;
    for fault in Fault::OF_LISTS {
        for nth in (1..=lists * 3).step_by(if all() { 1 } else { 17 }) {
            let (what, other) = (format!("{fault:?} at list {nth}"), 1 - side);
            world.declare(other);
            world.proxy.fails(fault, nth, || {});
            let said = world.through(&["apply", "--yes"]);
            world.proxy.reset();
            world.place.run(&["recover"]).ok();
            let mut live = world.live();
            let stranger = live.remove("strangers").unwrap_or_default();
            assert_eq!(stranger["metadata"], theirs["metadata"], "{what}");
            let values: Vec<&Value> = live.values().map(|object| &object["data"]["v"]).collect();
            assert!(values.iter().all(|value| *value == values[0]), "{what}: {values:?}\n{}", said.all());
            side = usize::from(values[0] == "1");
            assert_eq!(live.len(), 8 + side, "{what}: {}", said.all());
            println!("{what} (a plan has {lists}): exit code {}", said.code);
        }
    }
}

fn killed_undoing() {
    let world = World::new("unmade");
    world.declare(0);
    world.place.lab.apply(&[]);
    world.declare(1);
    for point in ["before-undo:1", "after-undo:1", "after-undo:2", "after-undo:5", "after-undo:9"] {
        // The apply itself undoes, and dies at it; then the recovery dies at it too; the last one does the rest.
        world.proxy.fails(Fault::Code(403), 10, || {});
        let mut command = world.place.lab.command(&["-f", "proxied.yaml", "apply", "--yes"]);
        world.through(&["plan"]);
        world.proxy.fails(Fault::Code(403), 10, || {});
        let output = command.env("HOLDFAST_FAILPOINT", point).env("HOLDFAST_LEASE", "6").output().unwrap();
        assert!(output.status.code().is_none(), "{point}: {output:?}");
        world.proxy.reset();
        let mut command = world.place.lab.command(&["recover"]);
        let point = point.replace("before-undo", "after-undo");
        command.env("HOLDFAST_FAILPOINT", &point).env("HOLDFAST_LEASE", "6").output().unwrap();
        world.place.run(&["recover"]).ok();
        assert_eq!(world.side(&point), 0);
        world.place.lab.run(&["drift", "--exit-code"]).ok();
    }
    world.place.lab.apply(&[]);
    assert_eq!(world.side("at last"), 1);
}
