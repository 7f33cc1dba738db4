//! A commit that fails, on a store that can't be asked afterwards whether it took place: that is said, and never guessed.

use std::fs;
use std::process::{Child, Command, Stdio};

use libtest_mimic::Trial;

use crate::lab::{Lab, Said, hermetic, many};
use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "unknown::whether_a_commit_took_place_is_not_guessed_where_the_store_cannot_be_asked",
            needs,
            not_guessed,
        ),
        trial("unknown::a_failed_commit_of_a_store_that_can_be_asked_wrote_nothing", needs, asked),
    ]
}

/// `/proc` tells when a process has stopped.
fn needs() -> Option<String> {
    (!fs::exists("/proc/self/stat").unwrap_or(false)).then(|| "there is no /proc to see a process stop by".to_owned())
}

fn lab() -> Lab {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    repo.write("many.yaml", many("c", 100));
    repo.commit("one");
    lab.configure(&[repo.source("shop", "  namespaces: [shop]\n  clusterKinds: [Namespace]")]);
    lab.run(&["plan", "--out", "a.plan.json"]).ok();
    lab
}

/// An apply that stands just before its commit, which will fail: its log may grow no further than this.
fn before_commit(lab: &Lab) -> Child {
    let mut command = Command::new("sh");
    hermetic(&mut command, lab.path());
    let script = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_holdfast"), "apply", "a.plan.json", "--offline", "-o", "json"]);
    command.env("HOLDFAST_FAILPOINT", "before-commit:1:stop").current_dir(lab.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        match stat.rsplit_once(") ").unwrap().1.chars().next().unwrap() {
            'T' => return child,
            'Z' => panic!("{:?}", Said::of(child.wait_with_output().unwrap())),
            _ => std::thread::yield_now(),
        }
    }
}

fn goes_on(child: Child) -> Said {
    let kill = Command::new("kill").args(["-s", "CONT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    Said::of(child.wait_with_output().unwrap())
}

fn not_guessed() {
    let lab = lab();
    let good = fs::read(lab.database()).unwrap();
    let child = before_commit(&lab);
    fs::write(lab.database(), vec![0x5a; good.len()]).unwrap();
    let said = goes_on(child).exits(5);
    assert!(!said.all().contains("othing was written"), "{said:?}");
    assert!(
        said.all().contains("to learn whether the apply took place") && said.all().contains("holdfast history"),
        "{said:?}"
    );
    // Here it did not take place.
    fs::write(lab.database(), good).unwrap();
    for log in ["control-plane.db-wal", "control-plane.db-shm"] {
        let _ = fs::remove_file(lab.path().join(".holdfast").join(log));
    }
    lab.run(&["apply", "a.plan.json"]).ok();
}

fn asked() {
    let lab = lab();
    let before = lab.dump();
    let said = goes_on(before_commit(&lab)).exits(1);
    assert!(said.all().contains("othing was written"), "{said:?}");
    assert_eq!(lab.dump(), before);
    lab.run(&["apply", "a.plan.json"]).ok();
}
