//! Locked and damaged stores, and plan files that aren't what was saved: refused with the reason, nothing written.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::lab::Lab;

const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";

fn lab() -> Lab {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    repo.commit("one");
    lab.configure(&[repo.source("shop", SPEC)]);
    lab.run(&["plan", "--out", "a.plan.json"]).ok();
    lab
}

#[test]
fn a_store_that_another_process_holds_is_refused_after_the_time_out_and_nothing_is_written() {
    let lab = lab();
    let before = lab.dump();
    let conn = Connection::open(lab.database()).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut child = lab.command(&["apply", "a.plan.json", "-o", "json", "--lock-timeout", "50ms"]);
    let child = child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    // The refusal is noted in the log as soon as that can be written.
    std::thread::park_timeout(std::time::Duration::from_secs(2));
    conn.execute_batch("ROLLBACK").unwrap();
    let said = crate::lab::Said::of(child.wait_with_output().unwrap()).exits(1).json();
    assert_eq!(said["refusals"][0]["rule"], "locked", "{said:#}");
    assert_eq!(lab.dump(), before);
    lab.run(&["apply", "a.plan.json"]).ok();
}

#[test]
fn a_store_that_is_cut_garbage_foreign_or_newer_is_refused_and_left_byte_for_byte() {
    let lab = lab();
    let good = fs::read(lab.database()).unwrap();
    let foreign = lab.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let bad =
        [good[..good.len() - 100].to_vec(), good[..50].to_vec(), vec![7; 9000], fs::read(foreign).unwrap(), newer];
    for (n, bytes) in bad.iter().enumerate() {
        fs::write(lab.database(), bytes).unwrap();
        for args in [["apply", "a.plan.json"], ["apply", "--yes"], ["object", "list"]] {
            let said = lab.run(&args).exits(1);
            assert!(
                said.all().contains("nothing was written") || said.all().contains("left as it is"),
                "{n}: {said:?}"
            );
        }
        assert!(fs::read(lab.database()).unwrap() == *bytes, "{n} was changed");
    }
    fs::write(lab.database(), good).unwrap();
    lab.run(&["apply", "a.plan.json"]).ok();
}

#[test]
fn a_plan_file_that_was_edited_cut_or_is_huge_is_refused_and_nothing_is_written() {
    let lab = lab();
    let before = lab.dump();
    let text = fs::read_to_string(lab.path().join("a.plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    let mut bad: Vec<(String, Vec<u8>)> = Vec::new();
    for key in plan.as_object().unwrap().keys().filter(|key| *key != "createdAt") {
        let mut edited = plan.clone();
        edited[key] = json!("x");
        bad.push((key.clone(), edited.to_string().into()));
        edited.as_object_mut().unwrap().remove(key);
        bad.push((format!("no {key}"), edited.to_string().into()));
    }
    for (pointer, value) in
        [("/formatVersion", json!(2)), ("/allowances", json!({"deletes": 9})), ("/changes", json!([]))]
    {
        let mut edited = plan.clone();
        *edited.pointer_mut(pointer).unwrap() = value;
        bad.push((pointer.to_owned(), edited.to_string().into()));
    }
    bad.extend([0, 1, text.len() / 2, text.len() - 3].map(|n| (format!("cut at {n}"), text.as_bytes()[..n].to_vec())));
    let file = lab.path().join("bad.plan.json");
    for (what, bytes) in &bad {
        fs::write(&file, bytes).unwrap();
        let said = lab.run(&["apply", "bad.plan.json"]);
        assert!(said.code == 1 && said.all().contains("othing was written"), "{what}: {said:?}");
    }
    fs::File::create(&file).unwrap().set_len(65 << 20).unwrap();
    assert!(lab.run(&["apply", "bad.plan.json"]).exits(1).all().contains("larger than 64 MiB"));
    let other = lab.run(&["apply", "a.plan.json", "--target", "embedded:other.db"]).exits(1);
    assert!(other.all().contains("othing was written"), "{other:?}");
    assert_eq!(lab.dump(), before);
    lab.run(&["apply", "a.plan.json"]).ok();
}

#[test]
fn two_applies_of_one_source_at_once_leave_one_applied_and_the_other_applied_or_refused_cleanly() {
    let lab = lab();
    let apply = || {
        let mut command = lab.command(&["apply", "a.plan.json"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let both = [apply(), apply()].map(|child| crate::lab::Said::of(child.wait_with_output().unwrap()));
    let mut codes = both.each_ref().map(|said| said.code);
    codes.sort_unstable();
    assert_eq!(codes, [0, 4], "{both:?}");
    let refused = both.iter().find(|said| said.code == 4).unwrap();
    assert!(refused.all().contains("othing was written"), "{refused:?}");
    assert_eq!(lab.plan(&[])["summary"]["unchanged"], 1);
}

#[test]
fn a_signal_during_an_apply_leaves_it_done_or_says_that_nothing_was_written() {
    for signal in ["INT", "TERM"] {
        for wait in [5, 20, 40, 80, 120] {
            let lab = lab();
            let before = lab.dump();
            let mut command = lab.command(&["apply", "a.plan.json"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            let child = command.spawn().unwrap();
            std::thread::park_timeout(std::time::Duration::from_millis(wait));
            let kill = std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).output();
            kill.unwrap();
            let said = crate::lab::Said::of(child.wait_with_output().unwrap());
            match said.code {
                0 => assert_ne!(lab.dump(), before),
                // -1: before anything was opened the signal ends the process.
                1 => assert!(said.all().contains("othing was written"), "{said:?}"),
                code => assert_eq!(code, -1, "{said:?}"),
            }
            if said.code != 0 {
                assert_eq!(lab.dump(), before, "SIG{signal} after {wait} ms: {said:?}");
            }
        }
    }
}
