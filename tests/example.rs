//! The worked example in `plans/shop`: its saved plan and its table are what the program makes of its manifests today.
//! `HOLDFAST_BLESS=1` writes both anew.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "whether to write the files anew is asked of the environment")]

#[path = "support/schema.rs"]
mod schema;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use git2::{IndexEntry, IndexTime, Repository, Signature, Time};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Where the example stands, here as in the repository that the test makes.
const SHOP: &str = "plans/shop";
/// Every control plane has its own; the example's is always this one.
const IDENTITY: &str = "5d6f2f0e-3c1b-4a57-9a83-6f0d1c2b3a49";
/// Outside the plan's digests.
const CREATED: &str = "2026-01-02T03:04:05Z";

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A repository that holds the example's manifests in one commit whose ID depends on them alone.
fn repository() -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut options = git2::RepositoryInitOptions::new();
    let repository =
        Repository::init_opts(folder.path(), options.initial_head("main").external_template(false)).unwrap();
    let mut index = repository.index().unwrap();
    let mut files: Vec<PathBuf> =
        fs::read_dir(top().join(SHOP).join("manifests")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = format!("{SHOP}/manifests/{}", file.file_name().unwrap().to_str().unwrap());
        index.add_frombuffer(&entry(&name), &fs::read(&file).unwrap()).unwrap();
    }
    let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
    let author = Signature::new("shop", "shop@example.com", &Time::new(1_767_225_600, 0)).unwrap();
    repository.commit(Some("HEAD"), &author, &author, "The shop\n", &tree, &[]).unwrap();
    repository.checkout_head(Some(git2::build::CheckoutBuilder::new().force())).unwrap();
    fs::copy(top().join(SHOP).join("holdfast.yaml"), folder.path().join(SHOP).join("holdfast.yaml")).unwrap();
    folder
}

fn entry(name: &str) -> IndexEntry {
    let zero = IndexTime::new(0, 0);
    IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: git2::Oid::ZERO_SHA1,
        flags: 0,
        flags_extended: 0,
        path: name.as_bytes().to_vec(),
    }
}

fn holdfast(folder: &Path, home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    command.args(args).current_dir(folder).env_clear().env("HOME", home).env("USER", "ada").env("TMPDIR", home);
    command.output().unwrap()
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The committed file must be this text, or becomes it where that is asked for.
fn is_committed(name: &str, text: &str) {
    let path = top().join(SHOP).join(name);
    if std::env::var_os("HOLDFAST_BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{SHOP}/{name} is not what the program makes now; HOLDFAST_BLESS=1 cargo test --test example writes it anew:\n{text}"
    );
}

#[test]
fn the_worked_example_is_what_the_program_makes_of_its_manifests() {
    let (here, home) = (repository(), TempDir::new().unwrap());
    let run = |args: &[&str]| holdfast(here.path(), home.path(), args);
    let saved = format!("{SHOP}/shop.plan.json");

    // A first plan makes the control plane; the identity that it gave itself becomes the example's.
    done(&run(&["plan", "-f", SHOP]));
    let database = rusqlite::Connection::open(here.path().join(SHOP).join(".holdfast/control-plane.db")).unwrap();
    assert_eq!(database.execute("UPDATE meta SET identity = ?1", [IDENTITY]).unwrap(), 1);
    drop(database);

    let table = done(&run(&["plan", "-f", SHOP, "--out", &saved]));
    let made = fs::read_to_string(here.path().join(&saved)).unwrap();
    let created = serde_json::from_str::<Value>(&made).unwrap()["createdAt"].as_str().unwrap().to_owned();
    let plan = made.replacen(&created, CREATED, 1);
    let value: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(value["createdAt"], CREATED);
    assert_eq!(schema::judge(&value), Vec::<String>::new());
    for text in [&plan, &table] {
        for outside in [here.path(), home.path(), top()] {
            assert!(!text.contains(outside.to_str().unwrap()), "{text}");
        }
        assert!(!text.contains("not-a-real-key"), "{text}");
    }
    is_committed("shop.plan.json", &plan);
    is_committed("shop.table.txt", &table);

    // It applies as it stands, once, and leaves nothing to do.
    fs::write(here.path().join(&saved), &plan).unwrap();
    done(&run(&["apply", "-f", SHOP, &saved]));
    let after: Value = serde_json::from_str(&done(&run(&["plan", "-f", SHOP, "-o", "json"]))).unwrap();
    assert_eq!(after["changes"], json!([]));
}

#[test]
fn the_committed_plan_can_be_shown_without_its_repository_and_its_target() {
    let elsewhere = TempDir::new().unwrap();
    let plan = top().join(SHOP).join("shop.plan.json");
    for format in ["table", "diff", "json", "markdown"] {
        let shown =
            done(&holdfast(elsewhere.path(), elsewhere.path(), &["show", plan.to_str().unwrap(), "-o", format]));
        assert!(shown.contains("Deployment"), "{format}: {shown}");
    }
}
