//! The loop hears what is written to the objects that its Sources own, long before their interval; and its own writes, and
//! what others do beside them, are nothing to it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::on_cluster;
use crate::place::{Place, config};
use crate::proxy::{Proxy, Watch};

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("a_write_by_hand_is_healed_at_once_and_a_loop_at_rest_does_nothing", heals_at_once),
        on_cluster("a_watch_that_ends_or_is_refused_loses_no_write", loses_none),
    ]
}

/// A loop that runs, and what it says.
pub struct Running {
    child: Child,
    lines: Receiver<Value>,
    pub said: Vec<Value>,
}

impl Running {
    pub fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.lab.command(&[&["run", "--log-format", "json", "-v"], args].concat());
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (say, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = say.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        Self { child, lines, said: Vec::new() }
    }

    /// Waits for a line of a Source.
    #[track_caller]
    pub fn until(&mut self, source: &str, event: &str) -> Value {
        let end = std::time::Instant::now() + Duration::from_secs(60);
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(std::time::Instant::now())) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if line["event"] == event && line["source"] == source {
                        return line;
                    }
                }
                Err(_) => panic!("no {event} of {source} in {:#?}", self.said),
            }
        }
    }

    /// How often a Source was looked at.
    fn ticks(&self, source: &str) -> usize {
        let is_tick = |line: &&Value| {
            let event = line["event"].as_str().unwrap_or_default();
            line["source"] == source && ["unchanged", "applied", "repaired"].contains(&event)
        };
        self.said.iter().filter(is_tick).count()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Somebody changes a field.
pub fn by_hand(place: &Place, name: &str, value: &str) {
    let patch = json!({"data": {"v": value}});
    let url = format!("/api/v1/namespaces/{}/configmaps/{name}?fieldManager=kubectl-edit", place.namespace);
    let (code, said) =
        place.on.hand().ask(http::Method::PATCH, &url, "application/merge-patch+json", Some(&patch)).unwrap();
    assert_eq!(code, 200, "{said}");
}

fn heals_at_once() {
    let place = Place::new("watched");
    place.make_namespace();
    // Beside it another Source that looks at its one object every second: a clock.
    let clock = place.lab.repo("clock");
    clock.write("deploy/c.yaml", config("c"));
    clock.commit("one");
    place.configure("  interval: 1h");
    let file = place.lab.path().join("holdfast.yaml");
    let spec = "  path: deploy\n  namespaces: [watched]\n  interval: 1s";
    let text = format!("{}---\n{}", clock.source("clock", spec), std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, text).unwrap();
    for name in ["a", "b"] {
        place.declare(name, &config(name));
    }
    // Its controller writes its status, and an annotation.
    place.declare(
        "web",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: nginx}]}\n",
    );
    let mut running = Running::start(&place, &[]);
    running.until("shop", "applied");
    let value = |name: &str| place.live("configmaps", name).map_or(Value::Null, |live| live["data"]["v"].clone());
    let rests = |running: &mut Running| {
        // As long as two ticks that were brought forward would take.
        for _ in 0..12 {
            running.until("clock", "unchanged");
        }
    };
    rests(&mut running);
    let before = running.ticks("shop");
    for round in 1..=2 {
        by_hand(&place, "a", "HACKED");
        running.until("shop", "repaired");
        assert_eq!(value("a"), "1");
        place.on.hand().delete("/api/v1/namespaces/watched/configmaps/b");
        running.until("shop", "repaired");
        assert_eq!(value("b"), "1");
        assert_eq!(running.ticks("shop"), before + 2 * round, "{:#?}", running.said);
    }
    // What isn't its own is nothing to it, nor is what it wrote itself.
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"v": "0"}});
    place.on.hand().put("somebody", "/api/v1/namespaces/watched/configmaps", &other);
    for n in 0..20 {
        by_hand(&place, "other", &n.to_string());
    }
    rests(&mut running);
    assert_eq!(running.ticks("shop"), before + 4, "{:#?}", running.said);
}

fn loses_none() {
    let place = Place::new("unwatched");
    place.make_namespace();
    place.configure("  interval: 1h");
    for name in ["a", "b"] {
        place.declare(name, &config(name));
    }
    let proxy = Proxy::before(&place.on.kubeconfig);
    let (file, proxied) = (place.lab.path().join("holdfast.yaml"), place.lab.path().join("proxied"));
    std::fs::write(&proxied, crate::control_plane::config(&proxy.url, "", "t")).unwrap();
    let direct = place.on.kubeconfig.display().to_string();
    let text = std::fs::read_to_string(&file).unwrap().replace(&direct, &proxied.display().to_string());
    std::fs::write(place.lab.path().join("proxied.yaml"), text).unwrap();
    place.lab.apply(&[]);
    // Somebody writes while nothing can be heard: what was forgotten is listed anew, the rest is heard later.
    let namespace = place.namespace.clone();
    let on = place.on;
    let writes = move |nth: usize| {
        let patch = json!({"data": {"v": format!("HACKED {nth}")}});
        let name = if nth.is_multiple_of(2) { "a" } else { "b" };
        let url = format!("/api/v1/namespaces/{namespace}/configmaps/{name}?fieldManager=kubectl-edit");
        on.hand().ask(http::Method::PATCH, &url, "application/merge-patch+json", Some(&patch)).unwrap();
    };
    let value = |name: &str| place.live("configmaps", name).map_or(Value::Null, |live| live["data"]["v"].clone());
    let healed = |what: &str| {
        place.on.hand().until(what, || (value("a"), value("b")) == (json!("1"), json!("1")));
    };
    proxy.ends_watches(&[Watch::Forgotten, Watch::Cut, Watch::Code(500), Watch::Forgotten], writes);
    let mut running = Running::start(&place, &["-f", "proxied.yaml"]);
    let said = running.until("shop", "unwatched");
    assert!(said["message"].as_str().unwrap().contains("ConfigMap in unwatched"), "{said}");
    running.until("shop", "watched");
    healed("what was written while it was deaf");
    by_hand(&place, "b", "HACKED");
    running.until("shop", "repaired");
    healed("and what is written later");
}
