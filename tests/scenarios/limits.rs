//! A disk that takes no more, and two Sources at once: each is old or new, and the message says which.

use std::process::{Command, Stdio};

use crate::lab::{Lab, Said, hermetic, many};

const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";

#[test]
fn a_file_that_may_not_grow_leaves_everything_as_it_was() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    repo.commit("one");
    lab.configure(&[repo.source("shop", SPEC)]);
    lab.apply(&[]);
    repo.write("many.yaml", many("c", 500));
    repo.commit("two");
    lab.run(&["plan", "--out", "many.plan.json"]).ok();
    let before = lab.dump();
    // Blocks of 512 bytes (dash) or of 1024 (bash): less than the apply needs either way. Where nobody ignores the signal, it kills.
    for (blocks, first) in [(40, "trap '' XFSZ"), (400, "trap '' XFSZ"), (800, "trap '' XFSZ"), (400, ":")] {
        let script = format!("{first}; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        hermetic(&mut command, lab.path());
        command.args(["-c", &script, env!("CARGO_BIN_EXE_holdfast"), "apply", "many.plan.json", "--offline"]);
        let said = Said::of(command.current_dir(lab.path()).stdin(Stdio::null()).output().unwrap());
        if first == ":" {
            assert_ne!(said.code, 0, "{said:?}");
        } else {
            assert!(said.all().contains("othing was written"), "{blocks}: {said:?}");
            assert_eq!(said.code, 1, "{blocks}: {said:?}");
        }
        assert_eq!(lab.dump(), before, "{blocks}");
    }
    lab.run(&["apply", "many.plan.json"]).ok();
    assert_eq!(lab.plan(&[])["summary"]["unchanged"], 501);
}

#[test]
fn a_loop_whose_store_may_not_grow_says_so_writes_nothing_of_the_commit_and_goes_on_once_it_may() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    repo.commit("one");
    lab.configure(&[repo.source("shop", SPEC)]);
    lab.run(&["run", "--once"]).ok();
    let before = lab.dump();
    repo.write("many.yaml", many("c", 500));
    repo.commit("two");
    let mut command = Command::new("sh");
    hermetic(&mut command, lab.path());
    // Room for the loop's own record, not for the objects.
    let script = "trap '' XFSZ; ulimit -f 400; exec \"$0\" \"$@\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_holdfast"), "run", "--once", "--log-format", "json"]);
    let said = Said::of(command.current_dir(lab.path()).stdin(Stdio::null()).output().unwrap()).exits(1);
    assert!(said.stderr.contains("\"class\":\"target\"") && said.stderr.contains("othing was written"), "{said:?}");
    assert_eq!(lab.dump(), before);
    crate::loops::let_time_pass(&lab);
    lab.run(&["run", "--once"]).ok();
    assert_eq!(lab.plan(&[])["summary"]["unchanged"], 501);
}

#[test]
fn two_sources_applied_at_once_by_two_processes_are_each_old_or_new() {
    let lab = Lab::new();
    let sources = ["one", "two"].map(|name| {
        let repo = lab.repo(name);
        repo.write("many.yaml", many(name, 150));
        repo.commit("first");
        (repo.source(name, "  namespaces: [shop]"), repo)
    });
    lab.configure(&sources.each_ref().map(|(source, _)| source.clone()));
    lab.put("admin", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    for round in 0..6 {
        let before = lab.dump();
        let start = |name: &str| {
            let mut command = lab.command(&["apply", name, "--yes", "-o", "json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let both = ["one", "two"].map(start).map(|child| Said::of(child.wait_with_output().unwrap()));
        let after = lab.dump();
        for (name, said) in ["one", "two"].iter().zip(&both) {
            let of = |dump: &serde_json::Value| -> Vec<serde_json::Value> {
                let mine = |item: &&serde_json::Value| {
                    item["metadata"]["name"].as_str().unwrap().starts_with(&format!("{name}-"))
                };
                dump["items"].as_array().unwrap().iter().filter(mine).cloned().collect()
            };
            let (old, new) = (of(&before), of(&after));
            match said.code {
                0 => {
                    assert_eq!(new.len(), 150 + round, "{said:?}");
                    assert!(said.json()["sources"][0]["name"] == *name, "{said:?}");
                }
                1 | 4 => {
                    assert!(said.all().contains("othing was written"), "{said:?}");
                    assert_eq!(old, new);
                }
                _ => panic!("{said:?}"),
            }
        }
        // Neither is in the other's way: what each has seen is its own.
        assert_eq!(both.each_ref().map(|said| said.code), [0, 0], "{both:?}");
        for (name, (_, repo)) in ["one", "two"].iter().zip(&sources) {
            repo.write("many.yaml", many(name, 151 + round));
            repo.commit("next");
        }
    }
}
