//! A process that stands at one of its sync points: then it is killed, or asked twice to stop.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::crash::failpoints;
use crate::handover::{ACTS, Stage};
use crate::hold_crash::{ALL, Shop, by_log};
use crate::lab::{Lab, Said};

/// Starts a command that stops at the `nth` passing of a point; `None` if it ends without coming there.
fn stopped_at(mut command: Command, point: &str, nth: usize) -> Option<Child> {
    command.env("HOLDFAST_FAILPOINT", format!("{point}:{nth}:stop"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    loop {
        let said = Command::new("ps").args(["-o", "stat=", "-p", &id]).output().unwrap();
        match said.stdout.first() {
            Some(b'T') => return Some(child),
            Some(b'Z') | None => {
                child.wait().unwrap();
                return None;
            }
            _ => std::thread::yield_now(),
        }
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_handover_that_is_killed_at_any_sync_point_is_all_old_or_all_new_and_the_next_try_works_unaided() {
    let stage = Stage::new();
    let mut killed = 0;
    for (act, (name, _)) in ACTS.iter().enumerate() {
        let start = Stage::start(&[act]);
        stage.reset(start);
        let old = stage.shape();
        stage.run(act).exits(0);
        let new = stage.shape();
        for point in failpoints(&stage.lab) {
            stage.reset(start);
            let Some(child) = stopped_at(stage.command(act), &point, 1) else { continue };
            kill(child);
            let when = format!("{name} killed at {point}");
            let is_new = point == "after-commit";
            assert_eq!(&stage.shape(), if is_new { &new } else { &old }, "{when}");
            let again = stage.run(act);
            assert!(if is_new { [0, 1, 4].contains(&again.code) } else { again.code == 0 }, "{when}: {again:?}");
            assert_eq!(stage.shape().0, new.0, "{when}, and once more");
            killed += 1;
        }
    }
    println!("stopped: {killed} kills at sync points of handovers");
    assert!(killed >= 6 * 7, "{killed}");
}

#[test]
fn a_pause_pin_or_retry_that_is_killed_at_any_sync_point_is_there_with_its_line_of_the_log_or_not_at_all() {
    let mut shop = Shop::new();
    let mut killed = 0;
    for point in failpoints(&shop.lab) {
        for command in ALL {
            shop.commit();
            let Some(child) = stopped_at(shop.lab.command(command), &point, 1) else { continue };
            kill(child);
            assert_eq!(shop.held(), by_log(&shop.operations()), "{command:?} killed at {point}");
            shop.lab.run(command).ok();
            assert_eq!(shop.held(), by_log(&shop.operations()), "{command:?} after {point}");
            killed += 1;
        }
    }
    println!("stopped: {killed} kills at sync points of pauses, pins and retries");
    assert!(killed >= 5 * 6, "{killed}");
}

#[test]
fn a_repair_and_a_loop_that_are_killed_at_any_sync_point_go_on_where_they_were() {
    let mut killed = 0;
    for point in failpoints(&Shop::new().lab) {
        for (drifts, args) in
            [(true, &["repair", "--yes"][..]), (true, &["run", "--once"]), (false, &["run", "--once"])]
        {
            // The loop's own record is a write of its own.
            for nth in 1..=3 {
                let mut shop = Shop::new();
                let old = if drifts {
                    shop.lab.by_hand("bob", "ConfigMap/shop/a", |object| object["data"]["v"] = "HACKED".into());
                    "HACKED".to_owned()
                } else {
                    shop.value()
                };
                let new = if drifts { "1".to_owned() } else { shop.commit() };
                let Some(child) = stopped_at(shop.lab.command(args), &point, nth) else { break };
                kill(child);
                let found = shop.value();
                assert!([&old, &new].contains(&&found), "{args:?} at {point}:{nth}: {found}");
                shop.lab.run(args).ok();
                assert_eq!(shop.value(), new, "{args:?} at {point}:{nth}");
                let applies = shop.operations().iter().filter(|operation| *operation == "apply").count();
                // What a person asks for again is done again.
                let most = if args[0] == "repair" && point == "after-commit" { 3 } else { 2 };
                assert!(applies <= most, "{args:?} at {point}:{nth}: applied {applies} times");
                killed += 1;
            }
        }
    }
    println!("stopped: {killed} kills at sync points of repairs and of the loop");
    assert!(killed >= 3 * 7, "{killed}");
}

/// A loop that stands in the middle of writing a commit's second object.
fn writing() -> (Lab, Child) {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    let config = |name: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata: {{v: \"{value}\"}}\n"
        )
    };
    repo.write("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    for value in ["1", "2"] {
        for name in ["a", "b", "c"] {
            repo.write(&format!("{name}.yaml"), config(name, value));
        }
        repo.commit(value);
        if value == "1" {
            lab.configure(&[repo.source("shop", "  namespaces: [shop]\n  clusterKinds: [Namespace]\n  interval: 1s")]);
            lab.run(&["run", "--once"]).ok();
        }
    }
    let child = stopped_at(lab.command(&["run", "--log-format", "json"]), "after-object", 2);
    (lab, child.expect("it writes three objects"))
}

fn values(lab: &Lab) -> Vec<Value> {
    ["a", "b", "c"].map(|name| lab.live(&format!("ConfigMap/shop/{name}")).unwrap()["data"]["v"].clone()).to_vec()
}

#[test]
fn the_first_signal_lets_what_is_written_end_whole_and_says_so() {
    let (lab, child) = writing();
    signal(&child, "TERM");
    signal(&child, "CONT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.lines().last().unwrap().contains("nothing is half done"), "{said:?}");
    let found = values(&lab);
    assert!(found == ["2", "2", "2"] || found == ["1", "1", "1"], "{found:?}");
    lab.run(&["run", "--once"]).ok();
    assert_eq!(values(&lab), ["2", "2", "2"]);
}

#[test]
fn a_second_signal_while_stopping_ends_it_at_once_and_leaves_all_old() {
    let (lab, child) = writing();
    // Two of one kind would count as one while it stands.
    signal(&child, "TERM");
    signal(&child, "INT");
    signal(&child, "CONT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:?}");
    assert_eq!(values(&lab), ["1", "1", "1"]);
    lab.run(&["run", "--once"]).ok();
    assert_eq!(values(&lab), ["2", "2", "2"]);
}
