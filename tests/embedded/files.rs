//! The file: making it, formats, damage, read-only places, locks, a full disk.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use holdfast::base::ids::TargetIdentity;
use holdfast::target::sqlite::{Access, Embedded};
use holdfast::target::{Contents, History, Target, TargetError};
use serde_json::json;

use crate::conformance::build::{Shop, config, head, id};
use crate::support::{Store, child, options, task, wait_for};

fn identity(target: &Embedded) -> TargetIdentity {
    target.reader().unwrap().identity().unwrap()
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_store_is_the_owners_alone_and_has_an_empty_clusters_namespaces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/cp.db");
    let target = Embedded::open(&path, options(Access::Create)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let reader = target.reader().unwrap();
    let names: Vec<String> = reader
        .list(&Contents::Kind(holdfast::base::resource::GroupKind::new("", "Namespace")))
        .unwrap()
        .into_iter()
        .map(|head| head.id.name)
        .collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    drop(reader);
    let again = Embedded::open(&path, options(Access::Create)).unwrap();
    assert_eq!(identity(&again), identity(&target));
    assert_eq!(names_in(path.parent().unwrap()), ["cp.db"], "no log is left over");
}

#[test]
fn what_is_not_there_is_made_only_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cp.db");
    for access in [Access::Read, Access::Write] {
        let error = Embedded::open(&path, options(access)).unwrap_err();
        assert!(matches!(error, TargetError::Unavailable { .. }), "{error}");
    }
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn two_that_make_it_at_once_get_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x/cp.db");
    let made: Vec<TargetIdentity> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| identity(&Embedded::open(&path, options(Access::Create)).unwrap())))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(made.iter().all(|one| *one == made[0]));
    assert_eq!(names_in(path.parent().unwrap()), ["cp.db"]);
}

/// Opens and reads all; every access must refuse, and the file stays as it is.
fn refused(path: &Path, what: &str) -> TargetError {
    let bytes = fs::read(path).unwrap();
    let mut last = None;
    for access in [Access::Read, Access::Write, Access::Create] {
        last = Some(Embedded::open(path, options(access)).expect_err(what));
        assert_eq!(fs::read(path).unwrap(), bytes, "{what}");
    }
    last.unwrap()
}

#[test]
fn a_file_that_is_cut_or_garbage_is_refused_and_left_alone() {
    let store = Store::new();
    Shop::new(&store.target, "shop").apply(&store.target, &[config("a", "1")]).unwrap();
    let whole = fs::read(store.path()).unwrap();
    let path = store.folder.path().join("bad.db");
    for length in [0, 1, 50, 99, 100, 512, 4096, 8192, whole.len() / 2, whole.len() - 8192, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = refused(&path, &format!("{length} bytes"));
        assert!(matches!(error, TargetError::Damaged { .. }), "{length}: {error}");
    }
    fs::write(&path, "not a database, ".repeat(1000)).unwrap();
    assert!(matches!(refused(&path, "garbage"), TargetError::Damaged { .. }));
    fs::write(&path, [0; 100_000]).unwrap();
    assert!(matches!(refused(&path, "zeros"), TargetError::Damaged { .. }));
}

#[test]
fn a_database_of_something_else_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .unwrap();
    let error = refused(&path, "a foreign database");
    assert!(error.to_string().contains("none of Holdfast's"), "{error}");
    assert!(Embedded::open(folder.path(), options(Access::Create)).is_err(), "a folder");
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let store = Store::new();
    let conn = rusqlite::Connection::open(store.path()).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    conn.close().unwrap();
    assert!(matches!(refused(&store.path(), "newer"), TargetError::Newer { found: 99, .. }));
}

#[test]
fn a_log_without_its_database_is_not_played_into_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cp.db-wal"), "x").unwrap();
    let error = Embedded::open(&folder.path().join("cp.db"), options(Access::Create)).unwrap_err();
    assert!(matches!(error, TargetError::Damaged { .. }), "{error}");
    assert_eq!(names_in(folder.path()), ["cp.db-wal"]);
}

#[test]
fn damage_inside_is_an_error_or_goes_unseen_and_never_reads_as_absent() {
    let store = Store::new();
    let mut shop = Shop::new(&store.target, "shop");
    let objects: Vec<_> = (0..200).map(|n| config(&format!("c{n}"), "v")).collect();
    shop.apply(&store.target, &objects).unwrap();
    let whole = fs::read(store.path()).unwrap();
    let path = store.folder.path().join("bad.db");
    let ids: Vec<_> = objects.iter().map(crate::conformance::build::id_of).collect();
    let ids: Vec<_> = ids.iter().collect();
    let mut refusals = 0;
    for page in 1..whole.len() / 8192 {
        let mut bytes = whole.clone();
        bytes[page * 8192..][..8192].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        let Ok(target) = Embedded::open(&path, options(Access::Read)) else {
            refusals += 1;
            continue;
        };
        let Ok(reader) = target.reader() else {
            refusals += 1;
            continue;
        };
        match (reader.objects(&ids), reader.inventory(&shop.source)) {
            (Ok(found), Ok(inventory)) => assert_eq!((found.len(), inventory.rows.len()), (200, 200), "page {page}"),
            (Err(error), _) | (_, Err(error)) => {
                assert!(matches!(error, TargetError::Damaged { .. }), "{error}");
                refusals += 1;
            }
        }
    }
    assert!(refusals > 5, "{refusals}");
}

/// A database as format 1 had it, made once and kept.
#[test]
fn a_file_of_format_1_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch(include_str!("fixtures/format-1.sql")).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.close().unwrap();
    let target = Embedded::open(&path, options(Access::Write)).unwrap();
    let reader = target.reader().unwrap();
    assert_eq!(reader.identity().unwrap().as_str(), "3f0c1f2e-7a55-4a39-9d6f-2f2e5d1c7b10");
    let sources = reader.sources().unwrap();
    let inventory = reader.inventory(&sources[0].id).unwrap();
    assert_eq!((sources.len(), inventory.serial, inventory.rows.len()), (1, 1, 1));
    let found = head(&*reader, &id("ConfigMap/shop/a")).unwrap();
    assert_eq!(found.uid, inventory.row(&found.id).unwrap().uid);
    assert_eq!(reader.history(&History { limit: 10 }).unwrap().len(), 2);
}

#[test]
fn a_second_process_waits_for_the_lock_and_then_says_who_has_it() {
    let store = Store::new();
    let mut holder = child("files::child_that_holds_the_lock", store.folder.path(), &json!({})).spawn().unwrap();
    wait_for(&mut holder, "holding");
    let error = store.target.writer(&[], Duration::from_millis(50)).err().unwrap();
    let TargetError::Locked { reason, .. } = &error else { panic!("{error}") };
    assert!(reason.contains(&format!("process {}", holder.id())), "{reason}");
    assert!(store.target.reader().unwrap().sources().unwrap().is_empty(), "readers don't wait");
    holder.kill().unwrap();
    holder.wait().unwrap();
    Shop::new(&store.target, "shop").apply(&store.target, &[config("a", "1")]).unwrap();
}

#[test]
#[ignore = "a child of another test"]
fn child_that_holds_the_lock() {
    if task().is_none() {
        return;
    }
    let target = Embedded::open(Path::new("db/cp.db"), options(Access::Write)).unwrap();
    let _writer = target.writer(&[], Duration::from_secs(5)).unwrap();
    println!("holding");
    std::io::stdout().flush().unwrap();
    // Until it is killed.
    let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
}

#[test]
fn who_reads_beside_its_own_write_keeps_its_log_from_others() {
    let store = Store::new();
    let child_name = "files::child_that_reads_beside_its_own_write";
    let mut writer = child(child_name, store.folder.path(), &json!({})).spawn().unwrap();
    wait_for(&mut writer, "holding");
    drop(store.target.reader().unwrap());
    let log = store.folder.path().join("db/cp.db-wal");
    assert!(log.exists(), "the last to close a database clears its log away, and this one isn't the last");
    writer.kill().unwrap();
    writer.wait().unwrap();
}

#[test]
#[ignore = "a child of another test"]
fn child_that_reads_beside_its_own_write() {
    if task().is_none() {
        return;
    }
    let target = Embedded::open(Path::new("db/cp.db"), options(Access::Write)).unwrap();
    let _writer = target.writer(&[], Duration::from_secs(5)).unwrap();
    drop(target.reader().unwrap());
    println!("holding");
    std::io::stdout().flush().unwrap();
    // Until it is killed.
    let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let store = Store::new();
    let mut shop = Shop::new(&store.target, "shop");
    shop.apply(&store.target, &[config("a", "1")]).unwrap();
    let task = json!({});
    // The limit counts blocks of 512 bytes (dash) or of 1024 (bash): less than the apply needs either way.
    for blocks in [70, 120, 400] {
        let inner = child("files::child_on_a_full_disk", store.folder.path(), &task);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(store.folder.path());
        let output = command.output().unwrap();
        let shown = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(shown.contains("nothing was written"), "{shown}");
        let reader = store.target.reader().unwrap();
        assert_eq!(reader.inventory(&shop.source).unwrap().serial, 1);
        assert_eq!(reader.list(&Contents::Namespace("shop".into())).unwrap().len(), 1);
    }
    shop.apply(&store.target, &[config("b", "1")]).unwrap();
}

#[test]
#[ignore = "a child of another test"]
fn child_on_a_full_disk() {
    if task().is_none() {
        return;
    }
    let target = Embedded::open(Path::new("db/cp.db"), options(Access::Write)).unwrap();
    let mut shop = Shop::new(&target, "shop");
    let objects: Vec<_> = (0..2000).map(|n| config(&format!("c{n}"), &"v".repeat(500))).collect();
    let error = shop.apply(&target, &objects).unwrap_err();
    assert!(matches!(error, TargetError::WriteFailed { .. }), "{error}");
    println!("{error}");
}
