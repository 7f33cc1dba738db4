use std::collections::BTreeSet;

use holdfast::base::ids::CommitId;
use holdfast::base::path::RepoPath;
use holdfast::source::mirror::MirrorError;
use holdfast::source::refs::RefSpec;

use super::support::*;

#[test]
fn a_commit_must_be_reached_by_a_branch_or_tag() {
    let repo = Repo::new();
    let first = repo.commit("one");
    let second = repo.commit("two");
    let m = Mirrored::of(&repo);
    assert_eq!(m.fetch(&RefSpec::Commit(first.clone())).unwrap().commit, first);
    repo.git(&["reset", "-q", "--hard", first.as_str()]);
    let third = repo.commit("three");
    let refused = m.fetch(&RefSpec::Commit(second.clone()));
    assert!(matches!(refused, Err(MirrorError::Unreachable { .. })), "{refused:?}");
    assert!(m.mirror.is_reachable(&first).unwrap() && m.mirror.is_reachable(&third).unwrap());
    assert!(!m.mirror.is_reachable(&second).unwrap());
    repo.git(&["tag", "kept", second.as_str()]);
    assert_eq!(m.fetch(&RefSpec::Commit(second.clone())).unwrap().commit, second);
    let nowhere = CommitId::parse(&"1".repeat(40)).unwrap();
    assert!(matches!(m.fetch(&RefSpec::Commit(nowhere.clone())), Err(MirrorError::CommitGone { .. })));
    assert!(matches!(m.mirror.has_commit(&nowhere), Err(MirrorError::CommitGone { .. })));
}

#[test]
fn an_applied_commit_survives_a_force_push_and_a_gc_there() {
    let repo = Repo::new();
    repo.write("a.yaml", "1");
    let first = repo.commit("one");
    repo.write("a.yaml", "2");
    let applied = repo.commit("two");
    let m = Mirrored::of(&repo);
    m.fetch(&branch("main")).unwrap();
    m.mirror.keep_applied(&applied).unwrap();
    m.mirror.keep_applied(&applied).unwrap();
    repo.git(&["reset", "-q", "--hard", first.as_str()]);
    repo.write("a.yaml", "2b");
    let rewritten = repo.commit("two, again");
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(m.fetch(&branch("main")).unwrap().commit, rewritten);
    // Even if somebody collects garbage in the mirror.
    let gc = git_command(repo.path()).args(["gc", "-q", "--prune=now"]).current_dir(m.mirror.folder()).status();
    assert!(gc.unwrap().success());
    let checkout = m.mirror.checkout(&applied, &RepoPath::default(), &limits()).unwrap();
    assert_eq!(checkout.read_one(&RepoPath::from("a.yaml")).unwrap(), b"2");
    assert!(!m.mirror.is_reachable(&applied).unwrap());
    assert!(!m.mirror.descends_from(&rewritten, &applied).unwrap());
    assert!(m.mirror.descends_from(&rewritten, &first).unwrap());
    // The next fetch doesn't take the kept ref away.
    m.fetch(&branch("main")).unwrap();
    m.mirror.has_commit(&applied).unwrap();
}

#[test]
fn a_rewind_is_seen() {
    let repo = Repo::new();
    let first = repo.commit("one");
    let second = repo.commit("two");
    let m = Mirrored::of(&repo);
    m.fetch(&branch("main")).unwrap();
    assert!(m.mirror.descends_from(&second, &first).unwrap());
    assert!(m.mirror.descends_from(&second, &second).unwrap());
    assert!(!m.mirror.descends_from(&first, &second).unwrap());
}

#[test]
fn root_commits_tell_repositories_apart_and_follow_merges() {
    let repo = Repo::new();
    let first = repo.commit("one");
    let m = Mirrored::of(&repo);
    m.fetch(&branch("main")).unwrap();
    let roots = |commit: &CommitId| m.mirror.root_commits(commit).unwrap();
    assert_eq!(roots(&first), BTreeSet::from([first.clone()]));
    let second = repo.commit("two");
    m.fetch(&branch("main")).unwrap();
    assert_eq!(roots(&second), BTreeSet::from([first.clone()]));
    repo.git(&["checkout", "-q", "--orphan", "other"]);
    let other = repo.commit("unrelated");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--allow-unrelated-histories", "-m", "both", "other"]);
    let merged = repo.head();
    m.fetch(&branch("main")).unwrap();
    assert_eq!(roots(&other), BTreeSet::from([other.clone()]));
    assert_eq!(roots(&merged), BTreeSet::from([first.clone(), other.clone()]));
    // An answer that was kept for a later commit doesn't leak into an earlier one.
    assert_eq!(roots(&second), BTreeSet::from([first]));
    assert_eq!(roots(&merged).len(), 2);
}
