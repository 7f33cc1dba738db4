use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use holdfast::base::path::RepoPath;
use holdfast::source::mirror::{Credentials, Mirror, MirrorError, NoProgress, Progress};
use holdfast::source::refs::RefSpec;
use holdfast::source::worktree;

use super::support::*;

#[test]
fn branches_tags_and_head_are_found() {
    let repo = Repo::new();
    repo.write("a.yaml", "a");
    let first = repo.commit("one");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "-m", "x", "heavy"]);
    repo.git(&["checkout", "-q", "-b", "side/deep"]);
    repo.write("a.yaml", "b");
    let second = repo.commit("two");
    repo.git(&["checkout", "-q", "main"]);
    let m = Mirrored::of(&repo);
    assert_eq!(m.fetch(&RefSpec::Head).unwrap().commit, first);
    assert_eq!(m.mirror.resolve(&branch("side/deep")).unwrap(), second);
    assert_eq!(m.mirror.resolve(&RefSpec::Tag("light".into())).unwrap(), first);
    assert_eq!(m.mirror.resolve(&RefSpec::Tag("heavy".into())).unwrap(), first);
    assert_eq!(m.mirror.resolve(&RefSpec::Commit(second.clone())).unwrap(), second);
    assert_eq!(m.mirror.fetched_at(), Some(moment()));
}

#[test]
fn a_ref_that_is_not_there_is_an_error_and_never_another_commit() {
    let repo = Repo::new();
    repo.commit("one");
    repo.git(&["branch", "gone"]);
    let m = Mirrored::of(&repo);
    assert!(matches!(m.fetch(&branch("missing")), Err(MirrorError::NoBranch { .. })));
    assert!(m.fetch(&branch("gone")).is_ok());
    repo.git(&["branch", "-D", "gone"]);
    assert!(matches!(m.fetch(&branch("gone")), Err(MirrorError::NoBranch { .. })));
    assert!(matches!(m.fetch(&RefSpec::Tag("main".into())), Err(MirrorError::NoTag { .. })));
    // A folder in the place of a branch that was one.
    repo.git(&["branch", "x"]);
    m.fetch(&branch("x")).unwrap();
    repo.git(&["branch", "-m", "x", "x/y"]);
    m.fetch(&branch("x/y")).unwrap();
    assert!(matches!(m.mirror.resolve(&branch("x")), Err(MirrorError::NoBranch { .. })));
}

#[test]
fn an_empty_repository_and_a_head_without_a_branch_are_errors() {
    let repo = Repo::new();
    let m = Mirrored::of(&repo);
    assert!(matches!(m.fetch(&RefSpec::Head), Err(MirrorError::NoHead(_))));
    let first = repo.commit("one");
    repo.commit("two");
    repo.git(&["checkout", "-q", "--detach", first.as_str()]);
    assert!(matches!(m.fetch(&RefSpec::Head), Err(MirrorError::NoHead(_))));
    assert!(m.fetch(&branch("main")).is_ok());
}

#[test]
fn a_tag_on_something_else_than_a_commit_is_no_commit() {
    let repo = Repo::new();
    repo.write("a.yaml", "a");
    repo.commit("one");
    let blob = repo.git(&["rev-parse", "HEAD:a.yaml"]);
    repo.git(&["tag", "blob", &blob]);
    let m = Mirrored::of(&repo);
    assert!(matches!(m.fetch(&RefSpec::Tag("blob".into())), Err(MirrorError::NoCommit { .. })));
    assert!(m.fetch(&branch("main")).is_ok());
}

#[test]
fn nothing_is_known_offline_before_the_first_fetch() {
    let repo = Repo::new();
    let commit = repo.commit("one");
    let m = Mirrored::of(&repo);
    assert!(matches!(m.mirror.resolve(&RefSpec::Head), Err(MirrorError::NeverFetched(_))));
    m.fetch(&RefSpec::Head).unwrap();
    drop(repo);
    let offline = Mirror::open(m.cache.path(), m.mirror.url(), Credentials::Ambient).unwrap();
    assert_eq!(offline.resolve(&RefSpec::Head).unwrap(), commit);
    // And a fetch that fails changes nothing of that.
    assert!(matches!(m.fetch(&RefSpec::Head), Err(MirrorError::Unreadable { .. })));
    assert_eq!(offline.resolve(&RefSpec::Head).unwrap(), commit);
}

#[test]
fn other_refs_than_branches_and_tags_are_not_taken() {
    let repo = Repo::new();
    repo.commit("one");
    repo.git(&["update-ref", "refs/pull/1/head", "HEAD"]);
    repo.git(&["update-ref", "refs/replace/1111111111111111111111111111111111111111", "HEAD"]);
    let m = Mirrored::of(&repo);
    m.fetch(&RefSpec::Head).unwrap();
    assert!(!m.mirror.folder().join("refs/pull").exists());
    assert!(!m.mirror.folder().join("refs/replace").exists());
}

#[test]
fn a_cache_that_others_can_read_is_refused() {
    let repo = Repo::new();
    repo.commit("one");
    let dir = tempfile::tempdir().unwrap();
    for mode in [0o755, 0o750, 0o701] {
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
        let refused = Mirror::open(dir.path(), &path_url(repo.path()), Credentials::Ambient);
        assert!(matches!(refused, Err(MirrorError::CacheOpen(_))), "{mode:o}");
    }
    let made = dir.path().join("made/by/us");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    Mirror::open(&made, &path_url(repo.path()), Credentials::Ambient).unwrap();
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn mirrors_are_kept_apart_by_url_and_credential() {
    let (one, two) = (Repo::new(), Repo::new());
    let cache = cache();
    let folder = |repo: &Repo, credentials| {
        Mirror::open(cache.path(), &path_url(repo.path()), credentials).unwrap().folder().to_owned()
    };
    assert_eq!(folder(&one, Credentials::Ambient), folder(&one, Credentials::Ambient));
    assert_ne!(folder(&one, Credentials::Ambient), folder(&two, Credentials::Ambient));
    assert_ne!(folder(&one, Credentials::Ambient), folder(&one, Credentials::Anonymous));
}

#[test]
fn a_shallow_repository_is_refused() {
    let repo = Repo::new();
    repo.commit("one");
    repo.commit("two");
    let dir = tempfile::tempdir().unwrap();
    let from = format!("file://{}", repo.path().display());
    let to = dir.path().join("shallow");
    repo.git(&["clone", "-q", "--depth", "1", &from, to.to_str().unwrap()]);
    let m = Mirrored::of_url(&path_url(&to));
    assert!(matches!(m.fetch(&RefSpec::Head), Err(MirrorError::Shallow(_))));
}

#[test]
fn alternates_grafts_and_replace_refs_are_refused_in_a_mirror_and_ignored_or_refused_outside() {
    let repo = Repo::new();
    repo.write("a.yaml", "true");
    let first = repo.commit("one");
    repo.write("a.yaml", "false");
    let second = repo.commit("two");
    repo.git(&["replace", second.as_str(), first.as_str()]);
    let m = Mirrored::of(&repo);
    assert_eq!(m.fetch(&RefSpec::Head).unwrap().commit, second);
    let checkout = m.checkout("").unwrap();
    assert_eq!(checkout.read_one(&RepoPath::from("a.yaml")).unwrap(), b"false");
    repo.write(".git/info/grafts", format!("{second}\n"));
    assert!(matches!(m.fetch(&RefSpec::Head), Err(MirrorError::Grafts(_))));
    for (file, text) in
        [("objects/info/alternates", "/elsewhere\n"), ("info/grafts", ""), ("shallow", ""), ("refs/replace/x", "")]
    {
        let m = Mirrored::of(&repo);
        let path = m.mirror.folder().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let refused = Mirror::open(m.cache.path(), m.mirror.url(), Credentials::Ambient);
        assert!(matches!(refused, Err(MirrorError::Foreign(..))), "{file}");
    }
}

#[test]
fn a_users_insteadof_does_not_redirect() {
    let (right, wrong) = (Repo::new(), Repo::new());
    right.write("which.yaml", "right");
    wrong.write("which.yaml", "wrong");
    right.commit("right");
    wrong.commit("wrong");
    let home = cache();
    let config = format!("[url \"{}\"]\n\tinsteadOf = {}\n", wrong.path().display(), right.path().display());
    fs::write(home.path().join(".gitconfig"), config).unwrap();
    // That the configuration would redirect, were it read.
    let by_git = Command::new("git")
        .args(["ls-remote", right.path().to_str().unwrap(), "HEAD"])
        .env("HOME", home.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&by_git.stdout).starts_with(wrong.head().as_str()));
    let env: [(&str, &OsStr); 3] = [
        ("HOME", home.path().as_os_str()),
        ("REPOSITORY", right.path().as_os_str()),
        ("COMMIT", OsStr::new(&right.head().to_string()).to_owned().leak()),
    ];
    run_alone("mirror::insteadof_child", &env);
}

#[test]
#[ignore = "run by a_users_insteadof_does_not_redirect, with a HOME of its own"]
#[allow(clippy::disallowed_methods)]
fn insteadof_child() {
    let m = Mirrored::of_url(&url(&std::env::var("REPOSITORY").unwrap()));
    assert_eq!(m.fetch(&RefSpec::Head).unwrap().commit.as_str(), std::env::var("COMMIT").unwrap());
}

#[test]
fn what_a_killed_fetch_left_behind_is_no_hindrance() {
    let repo = Repo::new();
    repo.write("a.yaml", "a");
    let commit = repo.commit("one");
    let m = Mirrored::of(&repo);
    // As after a kill in the first clone: locks, half a pack, a folder that never got its name.
    let folder = m.mirror.folder();
    fs::create_dir_all(folder.join("refs/heads/a")).unwrap();
    fs::create_dir_all(folder.join("objects/pack")).unwrap();
    for left in
        ["refs/heads/main.lock", "refs/heads/a/b.lock", "HEAD.lock", "packed-refs.lock", "objects/pack/pack_git2_1"]
    {
        fs::write(folder.join(left), "left").unwrap();
    }
    fs::create_dir_all(m.cache.path().join("new-abc/mirror.git")).unwrap();
    assert_eq!(m.fetch(&RefSpec::Head).unwrap().commit, commit);
    assert!(!folder.join("objects/pack/pack_git2_1").exists());
}

#[test]
fn kill_minus_nine_during_the_first_clone_leaves_a_usable_cache() {
    let repo = Repo::new();
    for i in 0..300 {
        repo.write(format!("d{}/f{i}.yaml", i % 7), format!("n: {i}\n").repeat(50));
    }
    let commit = repo.commit("many");
    let cache = cache();
    for wait in [0, 1, 3, 5, 8, 12, 20, 35] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "mirror::clone_child", "--ignored"])
            .env("CACHE", cache.path())
            .env("REPOSITORY", repo.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // The moment is random on purpose; the outcome must not depend on it.
        let started = std::time::Instant::now();
        while started.elapsed().as_millis() < wait && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
    }
    let mirror = Mirror::open(cache.path(), &path_url(repo.path()), Credentials::Ambient).unwrap();
    assert_eq!(mirror.fetch(&RefSpec::Head, &limits(), &NoProgress, moment()).unwrap().commit, commit);
    let checkout = mirror.checkout(&commit, &RepoPath::default(), &limits()).unwrap();
    assert_eq!(checkout.map_blobs(|_| true, |_, b| b.len()).unwrap().read.len(), 300);
}

#[test]
#[ignore = "run and killed by kill_minus_nine_during_the_first_clone_leaves_a_usable_cache"]
#[allow(clippy::disallowed_methods)]
fn clone_child() {
    let cache = std::env::var("CACHE").unwrap();
    let mirror =
        Mirror::open(cache.as_ref(), &url(&std::env::var("REPOSITORY").unwrap()), Credentials::Ambient).unwrap();
    mirror.fetch(&RefSpec::Head, &limits(), &NoProgress, moment()).unwrap();
}

#[test]
fn two_at_once_share_one_mirror() {
    let repo = Repo::new();
    repo.write("a.yaml", "a");
    let commit = repo.commit("one");
    let cache = cache();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mirror = Mirror::open(cache.path(), &path_url(repo.path()), Credentials::Ambient).unwrap();
                assert_eq!(mirror.fetch(&RefSpec::Head, &limits(), &NoProgress, moment()).unwrap().commit, commit);
            });
        }
    });
}

fn packs(folder: &std::path::Path) -> usize {
    let entries = fs::read_dir(folder.join("objects/pack")).unwrap();
    entries.filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|e| e == "pack")).count()
}

#[test]
fn packs_of_many_fetches_become_one_and_no_object_is_lost() {
    let repo = Repo::new();
    let m = Mirrored::of(&repo);
    let mut commits = Vec::new();
    let mut most = 0;
    // A reader that opened the mirror long ago isn't disturbed.
    let mut early = None;
    for n in 0..170 {
        repo.write("a.yaml", format!("{n}"));
        if n % 40 == 7 {
            // What no ref reaches any more stays: a reviewed plan may name it.
            repo.git(&["commit", "-q", "--allow-empty", "--amend", "-m", "rewritten"]);
        }
        commits.push(repo.commit("next"));
        m.fetch(&branch("main")).unwrap();
        most = most.max(packs(m.mirror.folder()));
        if n == 10 {
            let reader = Mirror::open(m.cache.path(), m.mirror.url(), Credentials::Ambient).unwrap();
            reader.has_commit(&commits[0]).unwrap();
            early = Some(reader);
        }
        if n == 60 {
            let reader = early.take().unwrap();
            commits[..=10].iter().for_each(|commit| reader.has_commit(commit).unwrap());
        }
    }
    assert!(most <= 103 && packs(m.mirror.folder()) < 103, "{most} packs");
    for (n, commit) in commits.iter().enumerate() {
        let checkout = m.mirror.checkout(commit, &RepoPath::default(), &limits()).unwrap();
        assert_eq!(checkout.read_one(&RepoPath::from("a.yaml")).unwrap(), n.to_string().as_bytes());
    }
}

#[test]
fn kill_minus_nine_while_packs_become_one_leaves_a_usable_mirror() {
    let repo = Repo::new();
    let m = Mirrored::of(&repo);
    let mut commits = Vec::new();
    for n in 0..51 {
        repo.write(format!("f{n}.yaml"), format!("n: {n}\n").repeat(500));
        commits.push(repo.commit("next"));
        if n < 50 {
            m.fetch(&branch("main")).unwrap();
        }
    }
    // The next fetch makes one of them; each child is killed a little later than the one before.
    let mut wait = 4;
    loop {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "mirror::clone_child", "--ignored"])
            .env("CACHE", m.cache.path())
            .env("REPOSITORY", repo.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let started = std::time::Instant::now();
        let mut ended = None;
        while started.elapsed().as_millis() < wait && ended.is_none() {
            ended = child.try_wait().unwrap();
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
        let reader = Mirror::open(m.cache.path(), m.mirror.url(), Credentials::Ambient).unwrap();
        commits[..50].iter().for_each(|commit| reader.has_commit(commit).unwrap());
        if ended.is_some() {
            break;
        }
        wait += 4;
    }
    m.fetch(&branch("main")).unwrap();
    commits.iter().for_each(|commit| m.mirror.has_commit(commit).unwrap());
    assert!(!m.cache.path().read_dir().unwrap().any(|e| e.unwrap().file_name().to_string_lossy().contains("damaged")));
}

#[derive(Default)]
struct Most(AtomicU64);

impl Progress for Most {
    fn received(&self, objects: u64, _: u64, _: u64) {
        self.0.fetch_max(objects, Ordering::Relaxed);
    }
}

#[test]
fn progress_is_told() {
    let repo = Repo::new();
    for i in 0..200 {
        repo.write(format!("f{i}.yaml"), format!("{i}"));
    }
    repo.commit("many");
    let m = Mirrored::of(&repo);
    let most = Most::default();
    m.mirror.fetch(&RefSpec::Head, &limits(), &most, moment()).unwrap();
    assert!(most.0.into_inner() > 0);
}

#[test]
fn uncommitted_changes_under_the_path_are_named() {
    let repo = Repo::new();
    repo.write("deploy/a.yaml", "a");
    repo.write("deploy/[x].yaml", "a");
    repo.write("other/b.yaml", "b");
    repo.write(".gitignore", "*.tmp\n");
    repo.commit("one");
    let dirty = |path: &str| worktree::uncommitted(repo.path(), &RepoPath::from(path)).unwrap();
    assert!(dirty("deploy").is_empty() && worktree::warning(&dirty("")).is_none());
    repo.write("deploy/a.yaml", "changed");
    repo.write("deploy/new/c.yaml", "new");
    repo.write("deploy/x.tmp", "ignored");
    repo.write("other/b.yaml", "changed");
    fs::remove_file(repo.path().join("deploy/[x].yaml")).unwrap();
    let named: Vec<String> = dirty("deploy").iter().map(ToString::to_string).collect();
    assert_eq!(named, ["deploy/[x].yaml", "deploy/a.yaml", "deploy/new/c.yaml"]);
    assert_eq!(dirty("").len(), 4);
    assert!(worktree::warning(&dirty("deploy")).unwrap().text.contains("deploy/new/c.yaml"));
    let bare = tempfile::tempdir().unwrap();
    repo.git(&["clone", "-q", "--bare", ".", bare.path().join("b").to_str().unwrap()]);
    assert!(worktree::uncommitted(&bare.path().join("b"), &RepoPath::default()).unwrap().is_empty());
}
