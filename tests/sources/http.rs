use std::ffi::OsStr;
use std::time::{Duration, Instant};

use holdfast::base::fault::Class;
use holdfast::base::path::RepoPath;
use holdfast::source::limits::Limits;
use holdfast::source::mirror::{Credentials, Mirror, MirrorError, NoProgress};
use holdfast::source::refs::RefSpec;

use super::server::{Manner, Server};
use super::support::*;

fn served(repo: &Repo) -> (Server, Mirrored) {
    let server = Server::start(Manner::Serve(repo.path().to_owned()));
    let m = Mirrored::of_url(&url(&server.url(".git")));
    (server, m)
}

#[test]
fn a_repository_is_fetched_over_the_smart_protocol_and_only_what_is_new() {
    let repo = Repo::new();
    repo.write("a.yaml", "1");
    repo.commit("one");
    repo.git(&["tag", "-a", "-m", "x", "v1"]);
    let (server, m) = served(&repo);
    let checkout = m.checkout("").unwrap();
    assert_eq!(checkout.read_one(&RepoPath::from("a.yaml")).unwrap(), b"1");
    repo.write("a.yaml", "2");
    let second = repo.commit("two");
    assert_eq!(m.fetch(&branch("main")).unwrap().commit, second);
    assert!(m.mirror.resolve(&RefSpec::Tag("v1".into())).is_ok());
    // With nothing new, the refs alone are asked for.
    let before = server.requests();
    m.fetch(&branch("main")).unwrap();
    assert_eq!(server.requests() - before, 1);
}

#[test]
fn a_server_that_says_nothing_is_given_up_at_the_deadline() {
    let repo = Repo::new();
    repo.write("a.yaml", "1");
    repo.commit("one");
    for manner in [Manner::Silent, Manner::SilentPack(repo.path().to_owned())] {
        let server = Server::start(manner);
        let m = Mirrored::of_url(&url(&server.url(".git")));
        let limits = Limits { deadline: Duration::from_millis(400), ..limits() };
        let started = Instant::now();
        let error = m.mirror.fetch(&RefSpec::Head, &limits, &NoProgress, moment()).unwrap_err();
        assert!(matches!(error, MirrorError::Deadline { .. }), "{error}");
        assert!(started.elapsed() < Duration::from_secs(10));
        assert_eq!(error.class(), Class::Target);
        assert!(matches!(m.mirror.resolve(&RefSpec::Head), Err(MirrorError::NeverFetched(_))));
        // Whoever comes next waits for the lock no longer than its own deadline.
        let again = m.mirror.fetch(&RefSpec::Head, &limits, &NoProgress, moment());
        assert!(matches!(again, Err(MirrorError::Deadline { .. })));
    }
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

#[test]
fn a_repository_over_the_byte_limit_is_refused_and_nothing_of_it_is_kept() {
    let repo = Repo::new();
    repo.write("big.bin", noise(600_000));
    repo.commit("one");
    let (_server, over_http) = served(&repo);
    for m in [over_http, Mirrored::of(&repo)] {
        let small = Limits { bytes: 100_000, ..limits() };
        let error = m.mirror.fetch(&RefSpec::Head, &small, &NoProgress, moment()).unwrap_err();
        assert!(matches!(error, MirrorError::TooLarge { limit: 100_000, .. }), "{error}");
        let few = Limits { objects: 2, ..limits() };
        let error = m.mirror.fetch(&RefSpec::Head, &few, &NoProgress, moment()).unwrap_err();
        assert!(matches!(error, MirrorError::TooLarge { limit: 2, .. }), "{error}");
        assert!(m.mirror.resolve(&RefSpec::Head).is_err());
        m.fetch(&RefSpec::Head).unwrap();
    }
}

#[test]
fn a_shallow_repository_is_refused_over_http_too() {
    let repo = Repo::new();
    repo.commit("one");
    repo.commit("two");
    let dir = tempfile::tempdir().unwrap();
    let from = format!("file://{}", repo.path().display());
    repo.git(&["clone", "-q", "--bare", "--depth", "1", &from, dir.path().join("s.git").to_str().unwrap()]);
    let server = Server::start(Manner::Serve(dir.path().to_owned()));
    let m = Mirrored::of_url(&url(&server.url("s.git")));
    for _ in 0..2 {
        match m.fetch(&RefSpec::Head) {
            // The library doesn't read such a server's answer.
            Err(MirrorError::Shallow(_) | MirrorError::Unreadable { .. }) => {}
            // Or as soon as its history is asked for, which every binding does.
            Ok(fetched) => {
                assert!(matches!(m.mirror.root_commits(&fetched.commit), Err(MirrorError::Shallow(_))));
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_redirect_to_another_host_is_not_followed() {
    let repo = Repo::new();
    repo.commit("one");
    let other = Server::start(Manner::Serve(repo.path().to_owned()));
    let server = Server::start(Manner::Redirect(format!("http://localhost:{}", other.port)));
    let m = Mirrored::of_url(&url(&server.url(".git")));
    assert!(m.fetch(&RefSpec::Head).is_err());
    assert_eq!(other.requests(), 0);
}

#[test]
fn garbage_is_an_error() {
    let answers: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        b"\0\0\0\0",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: 8\r\n\r\nfffffff!",
    ];
    for text in answers {
        let server = Server::start(Manner::Say(text.to_vec()));
        let m = Mirrored::of_url(&url(&server.url(".git")));
        assert!(matches!(m.fetch(&RefSpec::Head), Err(MirrorError::Unreadable { .. })));
    }
}

#[test]
fn helpers_of_git_are_asked_and_their_output_is_never_shown() {
    let repo = Repo::new();
    repo.write("a.yaml", "1");
    repo.commit("one");
    // me:S3CRET
    let server = Server::start(Manner::Ask(repo.path().to_owned(), "Basic bWU6UzNDUkVU".to_owned()));
    let address = server.url(".git");
    for (password, outcome) in [("S3CRET", "fetched"), ("S3CRET-WRONG", "refused"), ("", "refused")] {
        let home = cache();
        let helper = format!(
            "!f() {{ echo username=me; test -n '{password}' && echo 'password={password}'; echo S3CRET >&2; }}; f"
        );
        let set = git_command(home.path())
            .env_remove("GIT_CONFIG_GLOBAL")
            .args(["config", "--global", "credential.helper", &helper])
            .status();
        assert!(set.unwrap().success());
        let env =
            [("HOME", home.path().as_os_str()), ("REPOSITORY", OsStr::new(&address)), ("OUTCOME", OsStr::new(outcome))];
        run_alone("http::helper_child", &env);
    }
}

#[test]
#[ignore = "run by helpers_of_git_are_asked_and_their_output_is_never_shown, with a HOME of its own"]
#[allow(clippy::disallowed_methods)]
fn helper_child() {
    let address = url(&std::env::var("REPOSITORY").unwrap());
    let m = Mirrored::of_url(&address);
    match std::env::var("OUTCOME").unwrap().as_str() {
        "fetched" => assert!(m.fetch(&RefSpec::Head).is_ok()),
        _ => {
            let error = m.fetch(&RefSpec::Head).unwrap_err();
            assert!(matches!(error, MirrorError::Credentials { .. }), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("S3CRET"), "{error:?}");
        }
    }
    let cache = cache();
    let anonymous = Mirror::open(cache.path(), &address, Credentials::Anonymous).unwrap();
    let refused = anonymous.fetch(&RefSpec::Head, &limits(), &NoProgress, moment());
    assert!(matches!(refused, Err(MirrorError::Credentials { .. })), "{refused:?}");
}
