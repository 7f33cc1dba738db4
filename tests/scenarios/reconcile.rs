//! The loop: sync, self-heal, prune, waves, refusals, several Sources, stops and restarts.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Lab, Repo, Said, source};

const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";
const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";

fn config(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata: {{v: \"{value}\"}}\n")
}

struct Shop {
    lab: Lab,
    repo: Repo,
}

impl Shop {
    fn new(more: &str) -> Self {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        repo.write("namespace.yaml", NAMESPACE);
        repo.write("a.yaml", config("a", "1"));
        repo.commit("first");
        lab.configure(&[repo.source("shop", &format!("{SPEC}\n{more}"))]);
        Self { lab, repo }
    }

    #[track_caller]
    fn tick(&self) -> Vec<Value> {
        lines(&self.lab.run(&["run", "--once", "--log-format", "json"]).ok())
    }

    fn commit(&self, file: &str, text: &str) -> String {
        self.repo.write(file, text);
        self.repo.commit(file)
    }

    fn value(&self, name: &str) -> Option<String> {
        value(&self.lab, name)
    }

    #[track_caller]
    fn by_hand(&self, name: &str, value: &str) {
        self.lab.by_hand("bob", &format!("ConfigMap/shop/{name}"), |object| object["data"]["v"] = value.into());
    }

    fn applies(&self) -> usize {
        let history = self.lab.run(&["history", "--limit", "1000", "-o", "json"]).ok().json();
        history["entries"].as_array().unwrap().iter().filter(|entry| entry["operation"] == "apply").count()
    }
}

fn value(lab: &Lab, name: &str) -> Option<String> {
    Some(lab.live(&format!("ConfigMap/shop/{name}"))?["data"]["v"].as_str().unwrap().to_owned())
}

pub fn lines(said: &Said) -> Vec<Value> {
    said.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

pub fn events<'l>(lines: &'l [Value], event: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

#[test]
fn a_tick_creates_and_the_next_one_finds_nothing_to_do() {
    let shop = Shop::new("");
    let lines = shop.tick();
    let applied = events(&lines, "applied");
    assert_eq!((applied.len(), &applied[0]["source"]), (1, &json!("shop")), "{lines:?}");
    assert!(applied[0]["commit"].is_string() && applied[0]["plan"].is_string());
    assert_eq!(shop.value("a").unwrap(), "1");
    let before = shop.lab.dump();
    for _ in 0..3 {
        assert!(events(&shop.tick(), "applied").is_empty());
    }
    assert_eq!((shop.lab.dump(), shop.applies()), (before, 1));
}

#[test]
fn a_tick_updates_when_git_changes() {
    let shop = Shop::new("");
    shop.tick();
    let second = shop.commit("a.yaml", &config("a", "2"));
    let lines = shop.tick();
    assert_eq!(events(&lines, "applied")[0]["commit"], json!(second));
    assert_eq!(shop.value("a").unwrap(), "2");
}

#[test]
fn a_tick_brings_back_what_was_changed_or_deleted_by_hand() {
    let shop = Shop::new("");
    shop.tick();
    shop.by_hand("a", "HACKED");
    let lines = shop.tick();
    assert_eq!(events(&lines, "repaired").len(), 1, "{lines:?}");
    assert_eq!(shop.value("a").unwrap(), "1");
    shop.lab.run(&["object", "delete", "ConfigMap/shop/a", "--as", "bob"]).ok();
    assert_eq!(events(&shop.tick(), "repaired").len(), 1);
    assert_eq!(shop.value("a").unwrap(), "1");
}

#[test]
fn drift_is_only_told_where_the_source_says_warn() {
    let shop = Shop::new("  drift: warn");
    shop.tick();
    shop.by_hand("a", "HACKED");
    let lines = shop.tick();
    assert_eq!((events(&lines, "drift").len(), events(&lines, "repaired").len()), (1, 0), "{lines:?}");
    assert_eq!(shop.value("a").unwrap(), "HACKED");
    assert!(events(&shop.tick(), "drift").is_empty(), "told once");
}

#[test]
fn what_git_dropped_goes_only_with_prune() {
    for (spec, left) in [("", true), ("  prune: true\n  pruneBudget: {objects: 100, percent: 100}", false)] {
        let shop = Shop::new(spec);
        shop.commit("b.yaml", &config("b", "1"));
        shop.tick();
        shop.repo.remove("b.yaml");
        shop.repo.commit("without b");
        shop.tick();
        assert_eq!(shop.value("b").is_some(), left, "{spec}");
        assert!(events(&shop.tick(), "applied").is_empty());
    }
}

#[test]
fn waves_are_written_in_order_whatever_the_order_of_the_files() {
    let shop = Shop::new("");
    for (file, name, wave) in [("a-last.yaml", "deploy", "2"), ("b.yaml", "crd", "0"), ("c.yaml", "config", "1")] {
        let text = config(name, "1")
            .replace("namespace: shop}", &format!("namespace: shop, annotations: {{holdfast.dev/wave: \"{wave}\"}}}}"));
        shop.repo.write(file, text);
    }
    shop.repo.commit("waves");
    shop.tick();
    let versions: Vec<u64> = ["crd", "config", "deploy"]
        .iter()
        .map(|name| {
            let live = shop.lab.live(&format!("ConfigMap/shop/{name}")).unwrap();
            live["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
        })
        .collect();
    assert!(versions.is_sorted(), "{versions:?}");
}

/// The second seed's first exercise.
#[test]
fn a_hand_that_drifts_at_random_is_answered_within_one_tick() {
    let shop = Shop::new("");
    for n in 0..8 {
        shop.repo.write(&format!("m{n}.yaml"), config(&format!("m{n}"), "git"));
    }
    shop.repo.commit("many");
    shop.tick();
    let mut random: u64 = 0x5eed;
    for _ in 0..6 {
        // Each field only twice: a third repair would be contested.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let n = (random >> 33) % 8;
        if shop.lab.run(&["history", "--limit", "1000", "-o", "json"]).stdout.matches(&format!("\"m{n}\"")).count() > 2
        {
            continue;
        }
        if random & 1 == 0 {
            shop.by_hand(&format!("m{n}"), "drifted");
        } else {
            shop.lab.run(&["object", "delete", &format!("ConfigMap/shop/m{n}"), "--as", "bob"]).ok();
        }
        shop.tick();
        assert!((0..8).all(|n| shop.value(&format!("m{n}")).as_deref() == Some("git")));
    }
}

/// The second seed's second exercise.
#[test]
fn an_emergency_change_survives_while_paused_and_the_drift_is_told() {
    let shop = Shop::new("");
    shop.tick();
    shop.lab.run(&["source", "pause", "shop", "--reason", "incident 7"]).ok();
    shop.by_hand("a", "emergency");
    let told = shop.tick();
    assert_eq!(events(&told, "drift")[0]["reason"], "emergency", "{told:?}");
    shop.commit("b.yaml", &config("b", "1"));
    let lines = shop.tick();
    assert!(!events(&lines, "drift").is_empty() || !events(&lines, "waiting").is_empty(), "{lines:?}");
    assert_eq!((shop.value("a").unwrap().as_str(), shop.value("b")), ("emergency", None));
    shop.lab.run(&["source", "resume", "shop"]).ok();
    shop.tick();
    assert_eq!((shop.value("a").unwrap().as_str(), shop.value("b").as_deref()), ("emergency", Some("1")));
    shop.lab.run(&["source", "resume", "shop", "--revert"]).ok();
    shop.tick();
    assert_eq!(shop.value("a").unwrap(), "1");
}

/// The second seed's third exercise.
#[test]
fn a_source_with_a_wrong_scope_prunes_nothing_of_another_one() {
    // Whichever of the two is looked at first.
    for name in ["first", "the-last"] {
        let shop = Shop::new("");
        shop.tick();
        let other = shop.lab.repo("other");
        other.write("b.yaml", config("b", "1"));
        other.commit("first");
        let prune = "  namespaces: [\"*\"]\n  prune: true\n  pruneBudget: {objects: 100, percent: 100}";
        shop.lab.configure(&[shop.repo.source("shop", SPEC), other.source(name, prune)]);
        shop.tick();
        other.remove("b.yaml");
        other.write("c.yaml", config("c", "1"));
        other.commit("second");
        shop.tick();
        assert_eq!(
            (shop.value("a").is_some(), shop.value("b"), shop.value("c").is_some()),
            (true, None, true),
            "{name}"
        );
    }
}

#[test]
fn a_field_that_is_repaired_three_times_is_left_alone_and_another_one_is_not() {
    let shop = Shop::new("");
    shop.commit("b.yaml", &config("b", "1"));
    shop.tick();
    for _ in 0..3 {
        shop.by_hand("a", "mine");
        shop.tick();
        assert_eq!(shop.value("a").unwrap(), "1");
    }
    shop.by_hand("a", "mine");
    shop.by_hand("b", "too");
    let lines = shop.tick();
    assert_eq!(events(&lines, "contested").len(), 1, "{lines:?}");
    assert_eq!((shop.value("a").unwrap(), shop.value("b").unwrap()), ("mine".to_owned(), "1".to_owned()));
    // A person's repair ends it.
    shop.lab.run(&["repair", "--yes"]).ok();
    assert_eq!(shop.value("a").unwrap(), "1");
}

#[test]
fn a_commit_that_is_refused_waits_for_a_change_and_drift_is_repaired_meanwhile() {
    let shop = Shop::new("");
    shop.tick();
    shop.commit("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\ndatas: {}\n");
    let refused = shop.lab.run(&["run", "--once", "--log-format", "json"]).exits(1);
    let told = lines(&refused);
    assert_eq!(
        (&events(&told, "refused")[0]["rule"], &events(&told, "refused")[0]["class"]),
        (&json!("unknown-field"), &json!("commit"))
    );
    let entries = || shop.lab.run(&["history", "-o", "json"]).ok().json()["entries"].as_array().unwrap().len();
    let before = entries();
    shop.lab.run(&["run", "--once"]).exits(1);
    assert_eq!(entries(), before, "it is not judged and noted again");
    shop.by_hand("a", "HACKED");
    let again = shop.lab.run(&["run", "--once", "--log-format", "json"]).exits(1);
    assert_eq!(events(&lines(&again), "repaired").len(), 1, "{again:?}");
    assert_eq!(shop.value("a").unwrap(), "1");
    shop.commit("b.yaml", &config("b", "1"));
    shop.tick();
    assert_eq!(shop.value("b").unwrap(), "1");
}

#[test]
fn reviewed_and_never_leave_new_commits_to_people_and_repair_drift() {
    for apply in ["reviewed", "never"] {
        let shop = Shop::new(&format!("  apply: {apply}"));
        let lines = shop.tick();
        assert_eq!((events(&lines, "waiting").len(), shop.value("a")), (1, None), "{lines:?}");
        assert_eq!(events(&lines, "waiting")[0]["reason"], json!(apply));
        shop.lab.apply(&[]);
        shop.commit("a.yaml", &config("a", "2"));
        shop.by_hand("a", "HACKED");
        let lines = shop.tick();
        assert_eq!((events(&lines, "waiting").len(), events(&lines, "repaired").len()), (1, 1), "{lines:?}");
        assert_eq!(shop.value("a").unwrap(), "1");
        // Without the drift it is another plan; the same one is told once.
        shop.tick();
        assert!(events(&shop.tick(), "waiting").is_empty(), "told once");
    }
}

#[test]
fn a_rewind_waits_unless_the_source_allows_it() {
    let shop = Shop::new("");
    let first = shop.repo.git(&["rev-parse", "HEAD"]);
    shop.commit("a.yaml", &config("a", "2"));
    shop.tick();
    shop.repo.git(&["reset", "-q", "--hard", &first]);
    let lines = shop.tick();
    assert_eq!((&events(&lines, "waiting")[0]["reason"], shop.value("a").unwrap()), (&json!("rewind"), "2".to_owned()));
    shop.lab.configure(&[shop.repo.source("shop", &format!("{SPEC}\n  allowRewind: true"))]);
    shop.tick();
    assert_eq!(shop.value("a").unwrap(), "1");
}

#[test]
fn a_failing_source_holds_up_no_other() {
    let shop = Shop::new("");
    let dead = shop.lab.repo("dead");
    shop.lab.configure(&[
        shop.repo.source("shop", SPEC),
        dead.source("broken", "  namespaces: [shop]"),
        shop.repo.source("wrong-path", "  namespaces: [other]\n  path: nowhere"),
    ]);
    let said = shop.lab.run(&["run", "--once", "--log-format", "json"]).exits(1);
    assert_eq!(shop.value("a").unwrap(), "1");
    let told = lines(&said);
    assert!(events(&told, "unreachable").iter().any(|line| line["source"] == "broken"), "{told:?}");
    assert!(events(&told, "refused").iter().any(|line| line["source"] == "wrong-path"), "{told:?}");
}

/// A running loop that is ended by its process ID.
pub struct Running {
    child: Child,
    lines: std::sync::mpsc::Receiver<Value>,
}

impl Running {
    pub fn start(lab: &Lab, args: &[&str]) -> Self {
        let mut all = vec!["run", "--log-format", "json"];
        all.extend(args);
        let mut child = lab.command(&all).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (say, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = say.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        Self { child, lines }
    }

    /// Waits for a line.
    #[track_caller]
    pub fn until(&self, event: &str) -> Value {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(60)) {
                Ok(line) if line["event"] == event => return line,
                Ok(line) => seen.push(line),
                Err(_) => panic!("no {event} in {seen:?}"),
            }
        }
    }

    #[track_caller]
    pub fn stop(mut self) -> i32 {
        signal(&self.child, "TERM");
        let begun = Instant::now();
        let status = self.child.wait().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(30));
        status.code().unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

impl Shop {
    fn wait_for(&self, name: &str, wanted: Option<&str>) {
        let begun = Instant::now();
        while self.value(name).as_deref() != wanted {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name} is {:?}", self.value(name));
        }
    }
}

#[test]
fn a_running_loop_follows_git_heals_and_stops_when_asked() {
    let shop = Shop::new("  interval: 1s");
    let running = Running::start(&shop.lab, &[]);
    running.until("applied");
    shop.commit("a.yaml", &config("a", "2"));
    shop.wait_for("a", Some("2"));
    shop.by_hand("a", "HACKED");
    shop.wait_for("a", Some("2"));
    assert_eq!(running.stop(), 0);
}

#[test]
fn a_git_host_that_says_nothing_holds_up_neither_the_others_nor_a_stop() {
    let shop = Shop::new("  interval: 1s");
    // It takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x.git", silent.local_addr().unwrap());
    let hanging = source(&url, "hanging", "  namespaces: [other]");
    shop.lab.configure(&[shop.repo.source("shop", &format!("{SPEC}\n  interval: 1s")), hanging]);
    let running = Running::start(&shop.lab, &[]);
    running.until("applied");
    shop.commit("a.yaml", &config("a", "2"));
    shop.wait_for("a", Some("2"));
    assert_eq!(running.stop(), 0);
}

#[test]
fn a_retry_from_another_process_is_served_at_once() {
    let shop = Shop::new("  interval: 1h");
    shop.lab.run(&["run", "--once"]).ok();
    let running = Running::start(&shop.lab, &[]);
    running.until("started");
    shop.commit("a.yaml", &config("a", "2"));
    let said = shop.lab.run(&["source", "retry", "shop", "--as", "ada"]).ok();
    assert!(said.stdout.contains("within a second"), "{said:?}");
    shop.wait_for("a", Some("2"));
    let history = shop.lab.run(&["history", "-o", "json"]).ok().json();
    let retry = history["entries"].as_array().unwrap().iter().find(|entry| entry["operation"] == "retry").unwrap();
    assert_eq!(retry["actor"], "lab (claims to be ada)");
    assert_eq!(running.stop(), 0);
}

#[test]
fn an_object_that_moves_between_sources_is_transferred_with_its_uid() {
    for first in ["shop", "other"] {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        repo.write("shop/namespace.yaml", NAMESPACE);
        repo.write("shop/a.yaml", config("a", "1"));
        repo.write("other/b.yaml", config("b", "1"));
        repo.commit("first");
        let prune = "  prune: true\n  pruneBudget: {objects: 100, percent: 100}";
        lab.configure(&[
            repo.source("shop", &format!("{SPEC}\n{prune}\n  path: shop")),
            repo.source("other", &format!("{SPEC}\n{prune}\n  path: other")),
        ]);
        // The Namespace is shop's: the other one waits for it, and a single look may come too early.
        lab.run(&["run", "--once", "shop"]).ok();
        lab.run(&["run", "--once"]).ok();
        let uid = lab.live("ConfigMap/shop/a").unwrap()["metadata"]["uid"].clone();
        repo.remove("shop/a.yaml");
        repo.write("other/a.yaml", config("a", "1"));
        repo.commit("moved");
        lab.run(&["run", "--once", first]).ok();
        lab.run(&["run", "--once"]).ok();
        assert_eq!(lab.live("ConfigMap/shop/a").unwrap()["metadata"]["uid"], uid, "{first} first");
        assert_eq!(lab.plan(&[])["changes"], json!([]));
    }
}

#[test]
fn a_loop_that_starts_anew_remembers_what_was_refused() {
    let shop = Shop::new("");
    shop.tick();
    shop.commit("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\ndatas: {}\n");
    shop.lab.run(&["run", "--once"]).exits(1);
    let said = shop.lab.run(&["run", "--once", "--log-format", "json"]).exits(1);
    let told = lines(&said);
    assert!(events(&told, "refused")[0]["message"].as_str().unwrap().starts_with("still unknown-field"), "{told:?}");
}

#[test]
fn recover_says_that_nothing_is_half_done() {
    let shop = Shop::new("");
    shop.tick();
    let said = shop.lab.run(&["recover"]).ok();
    assert!(said.stdout.contains("Nothing is half done"), "{said:?}");
    assert_eq!(shop.lab.run(&["recover", "-o", "json"]).ok().json()["halfDone"], json!([]));
}
