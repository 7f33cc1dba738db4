use holdfast::source::checkout::CheckoutError;

use super::support::*;

#[test]
fn links_are_followed_inside_the_path_only() {
    let repo = Repo::new();
    repo.write("deploy/real.yaml", "real");
    repo.write("deploy/sub/other.txt", "other");
    repo.write("outside/x.yaml", "outside");
    let links = [
        ("deploy/ok.yaml", "real.yaml"),
        ("deploy/chain.yaml", "ok.yaml"),
        ("deploy/sub/up.yaml", "../real.yaml"),
        ("deploy/by-other-name.yaml", "./sub//other.txt"),
        ("deploy/out.yaml", "../outside/x.yaml"),
        ("deploy/out-nothing.yaml", "../outside/nothing.yaml"),
        ("deploy/absolute.yaml", "/etc/passwd"),
        ("deploy/above.yaml", "../../../../etc/passwd"),
        ("deploy/chain-out.yaml", "../outside-link.yaml"),
        ("outside-link.yaml", "deploy/real.yaml"),
        ("deploy/loop-a.yaml", "loop-b.yaml"),
        ("deploy/loop-b.yaml", "loop-a.yaml"),
        ("deploy/self.yaml", "self.yaml"),
        ("deploy/dangling.yaml", "nothing.yaml"),
        ("deploy/through-file.yaml", "real.yaml/x"),
        ("deploy/folder.yaml", "sub"),
        ("deploy/folder", "sub"),
        ("deploy/here", "."),
        ("deploy/out-folder", ".."),
        ("deploy/through-link.yaml", "folder/other.txt"),
    ];
    for (path, target) in links {
        repo.link(path, target);
    }
    repo.git(&["add", "-A"]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},deploy/mod", "1".repeat(40))]);
    repo.link("deploy/into-mod.yaml", "mod/x.yaml");
    repo.git(&["add", "deploy/into-mod.yaml"]);
    repo.commit_index("one");
    let m = Mirrored::of(&repo);
    let checkout = m.checkout("deploy").unwrap();
    let expected = [
        ("link-dangling", "dangling.yaml"),
        ("link-dangling", "through-file.yaml"),
        ("link-folder", "folder"),
        ("link-folder", "folder.yaml"),
        ("link-folder", "here"),
        ("link-loop", "loop-a.yaml"),
        ("link-loop", "loop-b.yaml"),
        ("link-loop", "self.yaml"),
        ("link-outside", "above.yaml"),
        ("link-outside", "absolute.yaml"),
        ("link-outside", "chain-out.yaml"),
        ("link-outside", "into-mod.yaml"),
        ("link-outside", "out-folder"),
        ("link-outside", "out-nothing.yaml"),
        ("link-outside", "out.yaml"),
        ("submodule", "mod"),
    ]
    .map(|(rule, path)| (rule.to_owned(), format!("deploy/{path}")));
    assert_eq!(faults(&checkout.faults), expected);
    let read = checkout.map_blobs(|f| f.counted, |f, b| (f.path.to_string(), String::from_utf8_lossy(b).into_owned()));
    let read: Vec<_> = read.unwrap().read;
    let expected = [
        ("by-other-name.yaml", "other"),
        ("chain.yaml", "real"),
        ("ok.yaml", "real"),
        ("real.yaml", "real"),
        ("sub/up.yaml", "real"),
        ("through-link.yaml", "other"),
    ]
    .map(|(path, text)| (format!("deploy/{path}"), text.to_owned()));
    assert_eq!(read, expected);
    let chain = checkout.files.iter().find(|f| f.path.to_string() == "deploy/chain.yaml").unwrap();
    assert_eq!(chain.link_target.as_ref().unwrap().to_string(), "deploy/real.yaml");
}

#[test]
fn a_path_that_goes_through_a_link_is_an_error() {
    let repo = Repo::new();
    repo.write("v1/prod/a.yaml", "a");
    repo.link("current", "v1");
    repo.commit("one");
    let m = Mirrored::of(&repo);
    for path in ["current", "current/prod"] {
        assert!(matches!(m.checkout(path), Err(CheckoutError::LinkedPath(_))), "{path}");
    }
}
