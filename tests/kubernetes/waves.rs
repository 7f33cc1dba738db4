//! Waves with health: what a wave changed is healthy before the next one, and before anything is deleted; else all is
//! taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::lab::Said;
use crate::on_controllers;
use crate::place::{Place, config};

pub fn trials() -> Vec<Trial> {
    vec![
        on_controllers("a_later_wave_waits_until_the_earlier_one_is_healthy", waits),
        on_controllers("a_wave_that_does_not_become_healthy_is_taken_back", taken_back),
        on_controllers("nothing_is_deleted_before_what_was_changed_is_healthy", before_prune),
        on_controllers("a_rollout_that_fails_is_not_waited_for_to_the_end", fails_at_once),
        on_controllers("an_apply_that_is_stopped_while_it_waits_takes_everything_back", stopped),
    ]
}

fn deployment(image: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n{more}  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - {{name: web, image: \"{image}\"}}\n"
    )
}

fn later(name: &str) -> String {
    config(name).replace("metadata:\n", "metadata:\n  annotations: {holdfast.dev/wave: \"1\"}\n")
}

fn begun(name: &str, timeout: &str) -> Place {
    let place = Place::new(name);
    place.configure(&format!("  healthTimeout: {timeout}\n"));
    place.declare("ns", &format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n"));
    place
}

/// Says of every Pod of a Namespace that it runs and is ready, as a kubelet would, until it is dropped.
struct Kubelet {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Kubelet {
    fn of(place: &Place) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, namespace, on) = (stop.clone(), place.namespace.clone(), place.on);
        let thread = std::thread::spawn(move || {
            let hand = on.hand();
            let pods = format!("/api/v1/namespaces/{namespace}/pods");
            let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
            while !seen.load(Ordering::SeqCst) {
                let all = hand.get(&pods).unwrap_or_default();
                for pod in all["items"].as_array().into_iter().flatten() {
                    let name = pod["metadata"]["name"].as_str().unwrap();
                    if pod["status"]["phase"] != "Running" {
                        let url = format!("{pods}/{name}/status");
                        hand.ask(http::Method::PATCH, &url, "application/merge-patch+json", Some(&ready));
                    }
                }
                hand.rest();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(self.thread.take().map(std::thread::JoinHandle::join));
    }
}

fn web(place: &Place) -> Option<Value> {
    place.on.hand().get(&format!("/apis/apps/v1/namespaces/{}/deployments/web", place.namespace))
}

fn image(place: &Place) -> Value {
    web(place).map_or(Value::Null, |web| web["spec"]["template"]["spec"]["containers"][0]["image"].clone())
}

fn waits() {
    let place = begun("patient", "60s");
    place.declare("web", &deployment("web:1", ""));
    place.declare("a", &later("a"));
    let _kubelet = Kubelet::of(&place);
    place.lab.apply(&[]);
    let web = web(&place).unwrap();
    let conditions = web["status"]["conditions"].as_array().unwrap();
    let available = conditions.iter().find(|c| c["type"] == "Available").unwrap();
    let made = place.live("configmaps", "a").unwrap()["metadata"]["creationTimestamp"].clone();
    assert_eq!(available["status"], "True");
    assert!(made.as_str() >= available["lastTransitionTime"].as_str(), "{made} {available}");
}

fn taken_back() {
    let place = begun("impatient", "2s");
    place.declare("web", &deployment("web:1", ""));
    place.declare("a", &later("a"));
    let said = place.lab.run(&["apply", "--yes", "-o", "json"]).exits(1);
    let refusal = said.json()["refusals"][0].clone();
    assert_eq!((&refusal["rule"], &refusal["class"]), (&json!("unhealthy"), &json!("target")), "{refusal}");
    assert!(refusal["id"].to_string().contains("web") && refusal["text"].to_string().contains("2 s"), "{refusal}");
    let hand = place.on.hand();
    hand.until("the Namespace is gone again", || hand.get("/api/v1/namespaces/impatient").is_none());
    assert_eq!(place.lab.run(&["recover"]).ok().stdout, "Nothing to recover.\n");
    // Who doesn't want to wait says so.
    place.configure("  healthTimeout: 0s\n");
    place.lab.apply(&[]);
    assert!(place.live("configmaps", "a").is_some());
    // Nor is anything waited for after the last wave.
    place.configure("  healthTimeout: 2s\n");
    place.declare("web", &deployment("web:2", ""));
    place.lab.apply(&[]);
    assert_eq!(image(&place), "web:2");
}

fn before_prune() {
    let place = begun("pruned", "30s");
    place.declare("web", &deployment("web:1", ""));
    place.declare("a", &config("a"));
    place.lab.apply(&[]);
    place.repo.remove("deploy/a.yaml");
    place.declare("web", &deployment("web:2", ""));
    place.configure("  healthTimeout: 2s\n");
    place.lab.run(&["apply", "--yes"]).exits(1);
    assert_eq!((image(&place), place.live("configmaps", "a").is_some()), (json!("web:1"), true));
    // Killed while it waits, the next command that writes takes it back first.
    place.configure("  healthTimeout: 60s\n");
    place.dies("waiting", &["apply", "--yes"]);
    assert_eq!(image(&place), "web:2");
    let said = place.run(&["recover"]).ok();
    assert!(said.stdout.contains("undone"), "{}", said.all());
    assert_eq!((image(&place), place.live("configmaps", "a").is_some()), (json!("web:1"), true));
    let _kubelet = Kubelet::of(&place);
    place.lab.apply(&[]);
    assert_eq!((image(&place), place.live("configmaps", "a").is_some()), (json!("web:2"), false));
}

fn fails_at_once() {
    let place = begun("failing", "10m");
    place.declare("web", &deployment("web:1", "  progressDeadlineSeconds: 1\n"));
    place.declare("a", &later("a"));
    let began = Instant::now();
    let said = place.lab.run(&["apply", "--yes"]).exits(1);
    assert!(said.stderr.contains("ProgressDeadlineExceeded"), "{}", said.all());
    assert!(began.elapsed() < Duration::from_secs(120));
}

fn stopped() {
    let place = begun("stopped", "10m");
    place.declare("web", &deployment("web:1", ""));
    place.declare("a", &later("a"));
    let mut command = place.lab.command(&["apply", "--yes"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    place.on.hand().until("it waits", || web(&place).is_some());
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let said = Said::of(child.wait_with_output().unwrap()).exits(1);
    assert!(said.stderr.contains("asked to stop"), "{}", said.all());
    let hand = place.on.hand();
    hand.until("everything is gone again", || hand.get("/api/v1/namespaces/stopped").is_none());
}
