//! Of a commit that follows another one, a running loop reads only what changed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::Lab;
use crate::reconcile::Running;

const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]\n  interval: 1s";
const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
const FILES: usize = 20;

fn config(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata: {{v: \"{value}\"}}\n")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    found.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Every mirror, those that were put aside as damaged too.
fn mirrors(lab: &Lab) -> Vec<PathBuf> {
    let found = files(&lab.path().join("cache")).into_iter().filter(|path| path.ends_with("HEAD"));
    found.map(|head| head.parent().unwrap().to_owned()).filter(|folder| folder.join("objects").is_dir()).collect()
}

fn loose(mirror: &Path, blob: &str) -> PathBuf {
    mirror.join("objects").join(&blob[..2]).join(&blob[2..])
}

/// Takes blobs out of a mirror; everything else stays.
fn forget(lab: &Lab, mirror: &Path, blobs: &[String]) {
    lab.repo("loosened");
    let packs: Vec<PathBuf> = files(&mirror.join("objects/pack"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "pack" || e == "idx"))
        .collect();
    for pack in packs.iter().filter(|path| path.extension().is_some_and(|e| e == "pack")) {
        let script = format!("git unpack-objects -q < '{}'", pack.display());
        let status =
            std::process::Command::new("sh").args(["-c", &script]).current_dir(lab.path().join("loosened")).status();
        assert!(status.unwrap().success());
    }
    let from = lab.path().join("loosened/.git/objects");
    for object in files(&from) {
        let within = object.strip_prefix(&from).unwrap();
        let name = within.to_string_lossy().replace('/', "");
        if !blobs.contains(&name) && name.len() == 40 {
            let to = mirror.join("objects").join(within);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&object, &to).unwrap();
        }
    }
    packs.iter().for_each(|pack| fs::remove_file(pack).unwrap());
    assert!(blobs.iter().all(|blob| !loose(mirror, blob).exists()));
}

#[test]
fn of_a_changed_commit_a_running_loop_reads_only_the_changed_blobs_again() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("namespace.yaml", NAMESPACE);
    let name = |at: usize| format!("file-{at}.yaml");
    (0..FILES).for_each(|at| repo.write(&name(at), config(&format!("c{at}"), "1")));
    repo.commit("first");
    lab.configure(&[repo.source("shop", SPEC)]);
    let running = Running::start(&lab, &["-v"]);
    running.until("applied");
    running.until("unchanged");

    // What didn't change can't be read any more.
    let unchanged: Vec<String> = (1..FILES).map(|at| repo.git(&["rev-parse", &format!("HEAD:{}", name(at))])).collect();
    let [mirror] = <[PathBuf; 1]>::try_from(mirrors(&lab)).unwrap();
    forget(&lab, &mirror, &unchanged);
    repo.write(&name(0), config("c0", "2"));
    let second = repo.commit("second");
    assert_eq!(running.until("applied")["commit"], second.as_str());
    assert_eq!(lab.live("ConfigMap/shop/c0").unwrap()["data"]["v"], "2");
    running.until("unchanged");
    assert!(unchanged.iter().all(|blob| !loose(&mirror, blob).exists()), "they were fetched again");
    assert_eq!(running.stop(), 0);

    // Whoever begins reads everything, and so makes a mirror anew that lacks something.
    assert!(lab.plan(&[])["changes"].as_array().unwrap().is_empty());
    assert_eq!(mirrors(&lab).len(), 2);
}
