//! Places that can't be written or are full, by the command line: everything stays as it was, and the message says so.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::lab::{Lab, Said, hermetic, many};
use crate::{needs_program, trial};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("disks::a_full_file_system_leaves_everything_as_it_was", needs_mounts, a_full_file_system),
        trial("disks::a_read_only_file_system_is_read_and_not_written", needs_mounts, a_read_only_file_system),
        trial("disks::a_target_that_cannot_be_written_is_read_and_its_bytes_stay", needs_mounts, its_bytes_stay),
        trial("disks::a_read_only_store_file_is_refused_and_left_as_it_is", needs_modes, a_read_only_file),
        trial("disks::a_read_only_store_folder_is_refused_and_left_as_it_is", needs_modes, a_read_only_folder),
    ]
}

fn needs_mounts() -> Option<String> {
    needs_program("unshare", &["-rm", "sh", "-c", "mount -t tmpfs none /mnt"])
}

/// What makes modes of files count for root too; nothing for others.
fn bound_by_modes() -> &'static [&'static str] {
    match root() {
        true => &[
            "setpriv",
            "--bounding-set",
            "-dac_override,-dac_read_search",
            "--inh-caps",
            "-dac_override,-dac_read_search",
        ],
        false => &[],
    }
}

/// Whether this user may write what is read-only.
fn root() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a");
    fs::write(&file, "").unwrap();
    set_mode(&file, 0o400);
    fs::OpenOptions::new().write(true).open(file).is_ok()
}

fn needs_modes() -> Option<String> {
    if !root() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a");
    fs::write(&file, "").unwrap();
    set_mode(&file, 0o400);
    let (program, arguments) = bound_by_modes().split_first().unwrap();
    let script = format!("! {{ echo x > {}; }} 2>/dev/null", file.display());
    let arguments: Vec<&str> = arguments.iter().copied().chain(["sh", "-c", &script]).collect();
    needs_program(program, &arguments).map(|why| format!("this user may write what is read-only, and {why}"))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

/// A store with the first commit applied, and a saved plan that adds much more.
struct Stage {
    lab: Lab,
    before: Value,
}

impl Stage {
    fn new() -> Self {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        repo.commit("one");
        lab.configure(&[repo.source("shop", "  namespaces: [shop]\n  clusterKinds: [Namespace]")]);
        lab.apply(&[]);
        repo.write("many.yaml", many("c", 500));
        repo.commit("two");
        lab.run(&["plan", "--out", "many.plan.json"]).ok();
        let before = lab.dump();
        Self { lab, before }
    }

    /// Runs a shell script with mounts of its own; `$0` is the program.
    fn mounted(&self, script: &str) -> Said {
        let mut command = Command::new("unshare");
        hermetic(&mut command, self.lab.path());
        command.args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_holdfast")]).current_dir(self.lab.path());
        Said::of(command.output().unwrap())
    }

    /// Nothing has changed, and the same plan is applied as soon as there is room.
    fn is_as_before_and_goes_on(&self) {
        assert_eq!(self.lab.dump(), self.before);
        assert_eq!(self.lab.run(&["verify", "many.plan.json"]).code, 0);
        self.lab.run(&["apply", "many.plan.json"]).ok();
        assert_eq!(self.lab.plan(&[])["summary"]["unchanged"], 501);
    }
}

fn a_full_file_system() {
    let stage = Stage::new();
    let said = stage.mounted(
        "cp -r .holdfast saved && mount -t tmpfs -o size=900k,mode=700 none .holdfast && cp saved/* .holdfast/ && \
         { \"$0\" apply many.plan.json --offline; code=$?; rm saved/*; cp .holdfast/* saved/; exit $code; }",
    );
    let said = said.exits(1);
    assert!(said.all().contains("full") && said.all().contains("othing was written"), "{said:?}");
    fs::remove_file(stage.lab.database()).unwrap();
    for entry in fs::read_dir(stage.lab.path().join("saved")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), stage.lab.path().join(".holdfast").join(entry.file_name())).unwrap();
    }
    stage.is_as_before_and_goes_on();
}

/// Mounts the store's folder read-only.
const READ_ONLY: &str = "mount --bind .holdfast .holdfast && mount -o remount,bind,ro .holdfast";

fn a_read_only_file_system() {
    let stage = Stage::new();
    let said = stage.mounted(&format!(
        "{READ_ONLY} && \
         \"$0\" object list -o json > list.json && \"$0\" plan --offline --exit-code > plan.txt; echo \"plan $?\"; \
         exec \"$0\" apply many.plan.json --offline",
    ));
    let said = said.exits(1);
    assert!(said.stdout.contains("plan 3"), "{said:?}");
    assert!(said.all().contains("read-only") && said.all().contains("othing was written"), "{said:?}");
    let listed = fs::read_to_string(stage.lab.path().join("list.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap(), stage.before);
    stage.is_as_before_and_goes_on();
}

fn its_bytes_stay() {
    let stage = Stage::new();
    let lab = &stage.lab;
    lab.run(&["apply", "many.plan.json"]).ok();
    lab.by_hand("ada", "ConfigMap/shop/c-7", |object| object["data"]["v"] = "other".into());
    let before = fs::read(lab.database()).unwrap();
    for (command, text) in [("drift", "/data/v"), ("status", "Drifted")] {
        let said = stage.mounted(&format!("{READ_ONLY} && exec \"$0\" {command} --exit-code"));
        assert!(said.exits(3).stdout.contains(text));
    }
    assert_eq!(fs::read(lab.database()).unwrap(), before);
    let wal = fs::metadata(lab.database().with_extension("db-wal")).map_or(0, |m| m.len());
    assert_eq!(wal, 0);
}

fn read_only(path: &Path, mode: u32, back: u32) {
    let stage = Stage::new();
    let path = stage.lab.path().join(path);
    set_mode(&path, mode);
    let run = |arguments: &[&str]| {
        let words: Vec<&str> = bound_by_modes().iter().copied().chain([env!("CARGO_BIN_EXE_holdfast")]).collect();
        let (program, rest) = words.split_first().unwrap();
        let mut command = Command::new(program);
        hermetic(&mut command, stage.lab.path());
        Said::of(command.args(rest).args(arguments).current_dir(stage.lab.path()).output().unwrap())
    };
    let said = run(&["apply", "many.plan.json"]);
    let listed = run(&["object", "list", "-o", "json"]);
    set_mode(&path, back);
    let said = said.exits(1);
    assert!(said.all().contains("othing was written"), "{said:?}");
    assert_eq!(listed.ok().json(), stage.before);
    stage.is_as_before_and_goes_on();
}

fn a_read_only_file() {
    read_only(Path::new(".holdfast/control-plane.db"), 0o400, 0o600);
}

fn a_read_only_folder() {
    read_only(Path::new(".holdfast"), 0o500, 0o700);
}
