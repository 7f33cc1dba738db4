//! Repositories that git itself would not write.

use std::io::Write;
use std::process::Stdio;

use holdfast::source::checkout::CheckoutError;
use holdfast::source::refs::RefSpec;

use super::server::{Manner, Server};
use super::support::*;

/// Writes a tree object with these entries as they are, and a branch `main` at a commit of it.
fn tree(repo: &Repo, entries: &[(&str, &[u8], &str)]) {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend((0..20).map(|i| u8::from_str_radix(&id[i * 2..i * 2 + 2], 16).unwrap()));
    }
    let mut child = git_command(repo.path())
        .current_dir(repo.path())
        .args(["hash-object", "-t", "tree", "-w", "--literally", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let out = child.wait_with_output().unwrap();
    let id = String::from_utf8(out.stdout).unwrap().trim().to_owned();
    let commit = repo.git(&["commit-tree", "-m", "x", &id]);
    repo.git(&["update-ref", "refs/heads/main", &commit]);
}

#[test]
fn entries_that_git_and_others_could_take_for_different_things_are_refused() {
    let repo = Repo::new();
    repo.write("a.yaml", "a");
    repo.commit("one");
    let blob = repo.git(&["rev-parse", "HEAD:a.yaml"]);
    let empty = repo.git(&["mktree"]);
    let cases: [&[(&str, &[u8], &str)]; 8] = [
        &[("100644", b"../evil.yaml", &blob)],
        &[("40000", b"..", &empty)],
        &[("100644", b".", &blob)],
        &[("100644", b"a.yaml", &blob), ("100644", b"a.yaml", &blob)],
        &[("100644", b"b.yaml", &blob), ("100644", b"a.yaml", &blob)],
        // A folder, a submodule and a link to git.
        &[("40755", b"d", &empty)],
        &[("0", b"d", &empty)],
        &[("120777", b"a.yaml", &blob)],
    ];
    for entries in cases {
        tree(&repo, entries);
        let server = Server::start(Manner::Serve(repo.path().to_owned()));
        let m = Mirrored::of_url(&url(&server.url(".git")));
        let refused = m.checkout("").unwrap_err();
        assert!(matches!(refused, CheckoutError::Malformed { .. } | CheckoutError::Object { .. }), "{refused:?}");
    }
}

#[test]
fn a_tree_that_holds_itself_many_times_is_refused_in_time() {
    let repo = Repo::new();
    repo.write("a.yaml", "a");
    repo.commit("one");
    // Each level holds the one below ten times: 10^12 files in twelve small objects.
    let mut below = repo.git(&["rev-parse", "HEAD^{tree}"]);
    for _ in 0..12 {
        let names: Vec<String> = (0..10).map(|i| format!("d{i}")).collect();
        let entries: Vec<(&str, &[u8], &str)> =
            names.iter().map(|name| ("40000", name.as_bytes(), below.as_str())).collect();
        tree(&repo, &entries);
        below = repo.git(&["rev-parse", "main^{tree}"]);
    }
    let refused = Mirrored::of(&repo).checkout("").unwrap_err();
    assert_eq!(refused.fault().rule.as_str(), "size-limit");
}

#[test]
fn a_missing_object_is_an_error_and_no_absent_file() {
    let repo = Repo::new();
    repo.write("a.yaml", "a");
    repo.commit("one");
    tree(&repo, &[("100644", b"a.yaml", &"1".repeat(40))]);
    let m = Mirrored::of(&repo);
    let outcome = m.fetch(&RefSpec::Head).map_err(|e| e.to_string()).and_then(|fetched| {
        let checkout = m.mirror.checkout(&fetched.commit, &Default::default(), &limits()).map_err(|e| e.to_string())?;
        checkout.map_blobs(|_| true, |_, _| ()).map_err(|e| e.to_string())
    });
    assert!(outcome.is_err());
}

#[test]
fn a_branch_whose_name_is_no_text_does_no_harm() {
    let repo = Repo::new();
    let commit = repo.commit("one");
    repo.git(&[os(b"branch"), os(b"caf\xe9")]);
    repo.git(&[os(b"tag"), os(b"\xff\xfe")]);
    let server = Server::start(Manner::Serve(repo.path().to_owned()));
    for m in [Mirrored::of(&repo), Mirrored::of_url(&url(&server.url(".git")))] {
        assert_eq!(m.fetch(&branch("main")).unwrap().commit, commit);
        assert_eq!(m.fetch(&RefSpec::Head).unwrap().commit, commit);
        assert!(m.mirror.is_reachable(&commit).unwrap());
    }
}
