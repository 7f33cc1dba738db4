use holdfast::base::path::RepoPath;
use holdfast::source::checkout::CheckoutError;
use holdfast::source::limits::Limits;
use holdfast::source::refs::RefSpec;

use super::support::*;

#[test]
fn a_missing_path_is_an_error_and_an_empty_folder_is_not() {
    let repo = Repo::new();
    repo.write("deploy/prod/a.yaml", "a");
    repo.write("deploy/empty/.gitkeep", "");
    repo.commit("one");
    let m = Mirrored::of(&repo);
    let missing = m.checkout("deploy/prd").unwrap_err();
    assert!(matches!(missing, CheckoutError::MissingPath { .. }));
    assert_eq!(missing.fault().rule.as_str(), "empty-source");
    assert!(matches!(m.checkout("deploy/prod/a.yaml/b"), Err(CheckoutError::MissingPath { .. })));
    assert_eq!(m.checkout("deploy/empty").unwrap().counted(), 0);
    assert_eq!(m.checkout("deploy/prod").unwrap().counted(), 1);
}

#[test]
fn one_file_of_any_name_can_be_a_source() {
    let repo = Repo::new();
    repo.write("deploy/all.txt", "a: 1");
    repo.write("deploy/b.yaml", "b");
    repo.commit("one");
    let m = Mirrored::of(&repo);
    let checkout = m.checkout("deploy/all.txt").unwrap();
    assert_eq!((paths(&checkout), checkout.counted()), (vec!["deploy/all.txt".to_owned()], 1));
}

#[test]
fn names_are_bytes_and_the_order_is_that_of_their_bytes() {
    let repo = Repo::new();
    let names: [&[u8]; 9] = [
        b"caf\xc3\xa9.yaml",
        b"a b.yaml",
        b"-x.yaml",
        b"q\"uote.yaml",
        b"new\nline.yaml",
        b"\xff\xfe.yaml",
        b"UPPER.YAML",
        b"a.yaml",
        b"a/z.yml",
    ];
    for name in names {
        repo.write(os(name), name);
    }
    for other in ["deployment.yaml.BAK", "readme.md", ".yaml", "x.yamlx"] {
        repo.write(other, "no");
    }
    repo.commit("one");
    let m = Mirrored::of(&repo);
    let checkout = m.checkout("").unwrap();
    let mut sorted: Vec<&[u8]> = names.to_vec();
    sorted.sort();
    let read = checkout.map_blobs(|f| f.counted, |f, bytes| (f.path.as_bytes().to_vec(), bytes.to_vec())).unwrap().read;
    assert_eq!(read.iter().map(|(path, _)| path.as_slice()).collect::<Vec<_>>(), sorted);
    assert!(read.iter().all(|(path, bytes)| path == bytes));
    assert!(paths(&checkout).contains(&"deployment.yaml.BAK".to_owned()));
    assert_eq!(checkout.read_one(&RepoPath::new(b"\xff\xfe.yaml")).unwrap(), b"\xff\xfe.yaml");
}

#[test]
fn folders_that_begin_with_a_dot_are_outside_and_counted() {
    let repo = Repo::new();
    for path in [
        ".github/workflows/ci.yaml",
        ".archive/old.yaml",
        ".archive/.deep/x.json",
        ".archive/note",
        "a/.b/c.yml",
        ".sops.yaml",
    ] {
        repo.write(path, "x");
    }
    repo.commit("one");
    let m = Mirrored::of(&repo);
    let checkout = m.checkout("").unwrap();
    assert_eq!(paths(&checkout), [".sops.yaml"]);
    assert_eq!((checkout.hidden_folders, checkout.hidden_files), (3, 4));
    // Named itself, such a folder is as good as any.
    assert_eq!(paths(&m.checkout(".archive").unwrap()), [".archive/note", ".archive/old.yaml"]);
}

#[test]
fn submodules_and_lfs_pointers_under_the_path_are_refused() {
    let repo = Repo::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    repo.write("deploy/dash.yaml", pointer);
    repo.write("deploy/own.yaml", "a: 1");
    repo.write("deploy/picture.png", pointer);
    repo.git(&["add", "-A"]);
    for path in ["deploy/vendor", "other"] {
        repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},{path}", "1".repeat(40))]);
    }
    repo.commit_index("one");
    let m = Mirrored::of(&repo);
    let checkout = m.checkout("deploy").unwrap();
    assert_eq!(faults(&checkout.faults), [("submodule".to_owned(), "deploy/vendor".to_owned())]);
    assert!(checkout.faults[0].text.contains(&"1".repeat(40)));
    let blobs = checkout.map_blobs(|f| f.counted, |f, _| f.path.to_string()).unwrap();
    assert_eq!(blobs.read, ["deploy/own.yaml"]);
    assert_eq!(faults(&blobs.faults), [("lfs-pointer".to_owned(), "deploy/dash.yaml".to_owned())]);
    assert_eq!(blobs.faults[0].at.as_ref().unwrap().line, 1);
    assert!(blobs.faults[0].text.contains("size 12345"));
    assert!(matches!(m.checkout("other"), Err(CheckoutError::Submodule { .. })));
    assert!(matches!(m.checkout("deploy/vendor/x"), Err(CheckoutError::Submodule { .. })));
}

#[test]
fn ignore_files_are_read_wherever_they_stand() {
    let repo = Repo::new();
    repo.write("deploy/.holdfastignore", "a\n");
    repo.write("deploy/x/.holdfastignore", "b\n");
    repo.write(".holdfastignore", "outside\n");
    repo.commit("one");
    let found = Mirrored::of(&repo).checkout("deploy").unwrap().ignore_files;
    assert_eq!(found, [(RepoPath::from("deploy"), b"a\n".to_vec()), (RepoPath::from("deploy/x"), b"b\n".to_vec())]);
    let at_top = Mirrored::of(&repo).checkout("").unwrap().ignore_files;
    assert_eq!(at_top[0], (RepoPath::default(), b"outside\n".to_vec()));
}

#[test]
fn limits_refuse_what_is_too_large_too_deep_or_too_much() {
    let repo = Repo::new();
    repo.write("big.yaml", "x".repeat(2000));
    repo.write("small.yaml", "x");
    repo.write("a/b/c/d/e.yaml", "x");
    repo.commit("one");
    let m = Mirrored::of(&repo);
    let commit = m.fetch(&RefSpec::Head).unwrap().commit;
    let list = |limits: Limits| m.mirror.checkout(&commit, &RepoPath::default(), &limits);
    let blobs =
        list(Limits { file_bytes: 1999, ..limits() }).unwrap().map_blobs(|_| true, |f, _| f.path.to_string()).unwrap();
    assert_eq!(faults(&blobs.faults), [("size-limit".to_owned(), "big.yaml".to_owned())]);
    assert_eq!(blobs.read.len(), 2);
    assert!(
        list(Limits { file_bytes: 2000, ..limits() })
            .unwrap()
            .map_blobs(|_| true, |_, _| ())
            .unwrap()
            .faults
            .is_empty()
    );
    for small in [Limits { path_depth: 3, ..limits() }, Limits { tree_entries: 5, ..limits() }] {
        assert_eq!(list(small).unwrap_err().fault().rule.as_str(), "size-limit");
    }
    let together = list(Limits { total_bytes: 2001, ..limits() }).unwrap();
    assert!(matches!(together.map_blobs(|_| true, |_, _| ()), Err(CheckoutError::Limit { .. })));
}

#[test]
fn a_work_tree_that_differs_is_never_read() {
    let repo = Repo::new();
    repo.write("a.yaml", "committed");
    repo.write(".gitattributes", "*.yaml text eol=crlf filter=evil\n");
    repo.commit("one");
    repo.git(&["config", "filter.evil.smudge", "echo smudged"]);
    repo.write("a.yaml", "not committed");
    let m = Mirrored::of(&repo);
    let checkout = m.checkout("").unwrap();
    assert_eq!(checkout.read_one(&RepoPath::from("a.yaml")).unwrap(), b"committed");
}
