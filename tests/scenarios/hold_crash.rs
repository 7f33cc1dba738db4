//! Pauses, pins and the loop's own records: cut off at every sync point, killed, and raced in pairs.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::crash::failpoints;
use crate::lab::{Lab, Repo, Said};

const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";

pub struct Shop {
    pub lab: Lab,
    repo: Repo,
    commits: u32,
}

impl Shop {
    pub fn new() -> Self {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        repo.write("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        lab.configure(&[repo.source("shop", SPEC)]);
        let mut shop = Self { lab, repo, commits: 0 };
        shop.commit();
        shop.lab.apply(&[]);
        shop
    }

    /// The next commit; its value.
    pub fn commit(&mut self) -> String {
        self.commits += 1;
        let value = self.commits.to_string();
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {v: \"VALUE\"}\n";
        self.repo.write("a.yaml", text.replace("VALUE", &value));
        self.repo.commit(&value);
        value
    }

    pub fn value(&self) -> String {
        self.lab.live("ConfigMap/shop/a").unwrap()["data"]["v"].as_str().unwrap().to_owned()
    }

    /// Operations of the log, oldest first.
    pub fn operations(&self) -> Vec<String> {
        let history = self.lab.run(&["history", "--limit", "10000", "-o", "json"]).ok().json();
        let mut all: Vec<String> = history["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["operation"].as_str().unwrap().to_owned())
            .collect();
        all.reverse();
        all
    }

    /// Whether it is paused and pinned, as the store has it.
    pub fn held(&self) -> (bool, bool) {
        let conn = rusqlite::Connection::open(self.lab.database()).unwrap();
        let found = conn.query_row("SELECT controls FROM control", (), |row| row.get::<_, String>(0));
        let controls: Value = found.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
        (controls["pause"].is_object(), controls["pin"].is_object())
    }
}

/// What the log says must be so.
pub fn by_log(operations: &[String]) -> (bool, bool) {
    let last = |on: &str, off: &str| {
        operations.iter().rev().find(|operation| *operation == on || *operation == off).is_some_and(|last| last == on)
    };
    (last("pause", "resume"), last("pin", "unpin"))
}

const PAUSE: &[&str] = &["source", "pause", "shop", "--reason", "incident 7"];
const RESUME: &[&str] = &["source", "resume", "shop", "--revert"];
const PIN: &[&str] = &["source", "pin", "shop", "--reason", "hold"];
const UNPIN: &[&str] = &["source", "unpin", "shop"];
const RETRY: &[&str] = &["source", "retry", "shop"];
/// What people say of a Source.
pub const ALL: [&[&str]; 5] = [PAUSE, PIN, RETRY, UNPIN, RESUME];
const APPLY: &[&str] = &["apply", "--yes", "shop"];
const RUN: &[&str] = &["run", "--once"];

#[test]
fn a_pause_or_pin_that_dies_anywhere_is_there_with_its_line_of_the_log_or_not_at_all() {
    let mut shop = Shop::new();
    let mut died = 0;
    for point in failpoints(&shop.lab) {
        for command in ALL {
            // Something to pin to another commit than the newest.
            shop.commit();
            let said = Said::of(shop.lab.command(command).env("HOLDFAST_FAILPOINT", &point).output().unwrap());
            died += usize::from(said.code != 0);
            let operations = shop.operations();
            assert_eq!(shop.held(), by_log(&operations), "{command:?} at {point}: {operations:?}");
            // The next command needs no help, and ends up where an undisturbed one would.
            shop.lab.run(command).ok();
            assert_eq!(shop.held(), by_log(&shop.operations()), "{command:?} after {point}");
        }
    }
    assert!(died >= 5 * 6, "only {died} died");
}

#[test]
fn a_loop_that_dies_anywhere_goes_on_where_it_was() {
    for point in failpoints(&Shop::new().lab) {
        for nth in 1..=3 {
            let mut shop = Shop::new();
            let old = shop.value();
            let new = shop.commit();
            let point = format!("{point}:{nth}");
            let said = Said::of(shop.lab.command(RUN).env("HOLDFAST_FAILPOINT", &point).output().unwrap());
            assert!([old, new.clone()].contains(&shop.value()), "{point}");
            shop.lab.run(RUN).ok();
            assert_eq!(shop.value(), new, "{point}");
            let applies = shop.operations().iter().filter(|operation| *operation == "apply").count();
            assert_eq!(applies, 2, "{point}: applied once more than needed");
            if said.code == 0 {
                break;
            }
        }
    }
}

#[test]
fn a_pause_that_is_killed_at_any_moment_is_there_or_not() {
    let shop = Shop::new();
    for millis in [0, 2, 4, 6, 8, 10, 12, 15, 20, 30] {
        for command in [PAUSE, RESUME] {
            let mut child = shop.lab.command(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_millis(millis) && child.try_wait().unwrap().is_none() {
                std::hint::spin_loop();
            }
            let _ = child.kill();
            child.wait().unwrap();
            assert_eq!(shop.held().0, by_log(&shop.operations()).0, "after {millis} ms");
        }
    }
}

#[test]
fn two_processes_at_once_come_to_one_order() {
    let all = [PAUSE, RESUME, PIN, UNPIN, RETRY, APPLY, RUN];
    let mut shop = Shop::new();
    for (n, first) in all.iter().enumerate() {
        for second in &all[n..] {
            shop.commit();
            let start = |command: &[&str]| {
                shop.lab.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            };
            let children = [start(first), start(second)];
            for (child, command) in children.into_iter().zip([first, second]) {
                let said = Said::of(child.wait_with_output().unwrap());
                let stale = said.code == 4 && command[0] == "apply";
                let held = said.code == 1 && (said.all().contains("paused") || said.all().contains("pinned"));
                assert!(said.code == 0 || stale || held, "{first:?} and {second:?}: {said:?}");
            }
            let operations = shop.operations();
            assert_eq!(shop.held(), by_log(&operations), "{first:?} and {second:?}");
            let mut paused = false;
            for operation in &operations {
                match operation.as_str() {
                    "pause" => paused = true,
                    "resume" => paused = false,
                    "apply" => assert!(!paused, "applied while paused: {operations:?}"),
                    _ => {}
                }
            }
            shop.lab.run(RESUME).ok();
            shop.lab.run(UNPIN).ok();
        }
    }
    let last = shop.commit();
    shop.lab.run(RUN).ok();
    assert_eq!(shop.value(), last);
    assert_eq!(shop.lab.plan(&[])["changes"], json!([]) as Value);
}
