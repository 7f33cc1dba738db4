//! A holder that slept past its lease writes nothing more, and an API server that is restarted midway leaves all old, all
//! new, or what the next command recovers.

use std::process::{Child, Command, Stdio};

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::lab::Said;
use crate::on_cluster;
use crate::place::{Place, config};
use crate::watching::{Running, by_hand};

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("a_holder_that_slept_past_its_lease_writes_nothing_more_and_says_so", slept),
        on_cluster("a_loop_and_a_removal_first_undo_or_finish_what_was_cut_off", cut_off),
        on_cluster("an_api_server_restarted_midway_leaves_all_old_all_new_or_what_is_recovered", restarted),
    ]
}

/// One side or the other: `a`, `b` and `c` one after the other, and one object that comes or goes.
fn declare(place: &Place, side: u32) {
    place.repo.git(&["rm", "-rq", "--ignore-unmatch", "deploy"]);
    for (wave, name) in ["a", "b", "c"].into_iter().enumerate() {
        let text = config(name)
            .replace("metadata:\n", &format!("metadata:\n  annotations: {{holdfast.dev/wave: \"{wave}\"}}\n"))
            .replace("\"1\"", &format!("\"{side}\""));
        place.repo.write(&format!("deploy/{name}.yaml"), text);
    }
    place.repo.write("deploy/n.yaml", config(&format!("n{side}")).replace("\"1\"", &format!("\"{side}\"")));
    place.repo.commit(&format!("side {side}"));
}

/// Which side all is on.
#[track_caller]
fn side(place: &Place, what: &str) -> u32 {
    let url = format!("/api/v1/namespaces/{}/configmaps", place.namespace);
    let list = place.on.hand().get(&url).unwrap();
    let items = list["items"].as_array().unwrap().iter().filter(|item| item["metadata"]["name"] != "kube-root-ca.crt");
    let mut all: Vec<String> =
        items.map(|item| format!("{} {}", item["metadata"]["name"], item["data"]["v"]).replace('"', "")).collect();
    all.sort();
    let of = |side: u32| ["a", "b", "c", &format!("n{side}")].map(|name| format!("{name} {side}")).to_vec();
    let found = (0..100).find(|side| of(*side) == all);
    found.unwrap_or_else(|| panic!("{what}: neither old nor new: {all:?}"))
}

/// An apply that stops at a place in the code, and stands there.
struct Stopped(Option<Child>);

impl Stopped {
    fn at(place: &Place, point: &str) -> Self {
        let mut command = place.lab.command(&["apply", "--yes"]);
        command.env("HOLDFAST_FAILPOINT", format!("{point}:stop")).env("HOLDFAST_LEASE", "6");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let id = child.id().to_string();
        place.on.hand().until(point, || {
            let said = Command::new("ps").args(["-o", "stat=", "-p", &id]).output().unwrap();
            assert!(said.stdout.first().is_some_and(|c| *c != b'Z'), "{point}: it ended without coming there");
            said.stdout.first() == Some(&b'T')
        });
        Self(Some(child))
    }

    fn goes_on(&self) {
        let id = self.0.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-s", "CONT", &id]).status().unwrap().success());
    }

    /// Waits for its end.
    fn ends(mut self) -> Said {
        Said::of(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Everything that a holder writes: the objects and its own state. In an Event it may say what became of it.
fn everything(place: &Place) -> Vec<Value> {
    let hand = place.on.hand();
    let state = format!("state-{}", place.namespace);
    let urls = [
        format!("/api/v1/namespaces/{}/configmaps", place.namespace),
        format!("/api/v1/namespaces/{state}/configmaps"),
        format!("/api/v1/namespaces/{state}/secrets"),
        format!("/apis/coordination.k8s.io/v1/namespaces/{state}/leases"),
    ];
    urls.iter().map(|url| hand.get(url).unwrap()["items"].take()).collect()
}

fn slept() {
    let place = Place::new("slept");
    place.make_namespace();
    declare(&place, 0);
    place.lab.apply(&[]);
    let mut now = 0;
    for (point, then, new) in [
        ("after-object:1", "recover", false),
        ("after-object:2", "apply", true),
        ("before-commit:1", "recover", false),
        ("before-commit:1", "apply", true),
        ("after-commit:1", "recover", true),
        ("after-delete:1", "apply", true),
    ] {
        let what = format!("{point}, then {then}");
        declare(&place, now + 1);
        let sleeper = Stopped::at(&place, point);
        // Another process waits the lease out, and finishes or undoes by the journal.
        if then == "recover" {
            place.run(&["recover"]).ok();
        } else {
            place.run(&["apply", "--yes"]).ok();
        }
        now += u32::from(new);
        assert_eq!(side(&place, &what), now, "{what}");
        let before = everything(&place);
        sleeper.goes_on();
        let said = sleeper.ends();
        assert_eq!(said.code, 5, "{what}: {}", said.all());
        assert!(said.stderr.contains("stopped for too long"), "{what}: {}", said.all());
        assert_eq!(everything(&place), before, "{what}: {}", said.all());
        // And nothing stands in anybody's way.
        assert_eq!(place.run(&["recover"]).ok().stdout, "Nothing to recover.\n", "{what}");
        place.lab.run(&["drift", "--exit-code"]).ok();
    }
}

fn cut_off() {
    let place = Place::new("cut-off");
    place.make_namespace();
    declare(&place, 0);
    place.lab.apply(&[]);
    declare(&place, 1);
    // What it made stands in no inventory: a plan on the middle of it would be refused for that.
    place.dies("before-commit:1", &["apply", "--yes"]);
    let said = place.run(&["run", "--once", "--log-format", "json"]).ok();
    assert!(said.stderr.contains("\"recovered\"") && said.stderr.contains("it was undone"), "{}", said.all());
    assert_eq!(side(&place, "the loop"), 1);
    declare(&place, 2);
    place.dies("after-commit:1", &["apply", "--yes"]);
    let said = place.run(&["source", "remove", "shop", "--prune", "--yes"]).ok();
    assert!(said.stderr.contains("had been cut off: it was finished"), "{}", said.all());
    for name in ["a", "b", "c", "n1", "n2"] {
        assert_eq!(place.live("configmaps", name), None);
    }
}

fn restarted() {
    let on: &'static ControlPlane = Box::leak(Box::new(ControlPlane::start().unwrap()));
    let place = Place::on(on, "restarted");
    place.make_namespace();
    declare(&place, 0);
    place.lab.apply(&[]);
    let mut now = 0;
    for (point, back) in [
        // The apply goes on before the server is back, and ends without it.
        ("journal-written:1", false),
        ("after-object:2", false),
        ("before-commit:1", false),
        ("after-commit:1", false),
        ("after-delete:1", false),
        // All its connections are dead, and the server is back.
        ("after-object:2", true),
        ("before-commit:1", true),
        ("after-commit:1", true),
    ] {
        let what = format!("{point}, {}", if back { "back at once" } else { "back when it has ended" });
        let next = now + 1;
        declare(&place, next);
        let apply = Stopped::at(&place, point);
        on.stop_api();
        if back {
            on.start_api();
        }
        apply.goes_on();
        let said = apply.ends();
        if !back {
            assert!([1, 4, 5].contains(&said.code), "{what}: {}", said.all());
            on.start_api();
        }
        let recovered = place.run(&["recover"]).ok();
        let found = side(&place, &what);
        println!("{what}: exit code {}, recover: {}; side {found} of {next}", said.code, recovered.stdout.trim_end());
        assert!(found == now || found == next, "{what}");
        if said.code == 0 {
            assert_eq!(found, next, "{what}: it said that it was done");
        }
        let committed = point.starts_with("after-commit") || point.starts_with("after-delete");
        assert!(!committed || found == next, "{what}: it was committed");
        place.lab.run(&["drift", "--exit-code"]).ok();
        assert_eq!(place.run(&["recover"]).ok().stdout, "Nothing to recover.\n", "{what}");
        now = found;
    }
    // A loop hears again what is written once the server is back.
    place.configure("  interval: 1h");
    place.run(&["apply", "--yes"]).ok();
    let mut running = Running::start(&place, &[]);
    running.until("shop", "unchanged");
    // At first it may not even know what it owns; then it watches.
    for watches in [false, true] {
        on.stop_api();
        if watches {
            running.until("shop", "unwatched");
        }
        on.start_api();
        by_hand(&place, "a", "HACKED");
        running.until("shop", "repaired");
        let live = place.live("configmaps", "a").unwrap();
        assert_ne!(live["data"]["v"], json!("HACKED"));
    }
}
