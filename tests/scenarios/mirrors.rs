//! A damaged mirror is fetched anew within the same command, and that is said; offline it is an error.

use std::fs;
use std::path::PathBuf;

use crate::lab::Lab;

fn mirror(lab: &Lab) -> PathBuf {
    let entries = fs::read_dir(lab.path().join("cache/holdfast")).unwrap();
    let mut found = entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "git"));
    found.next().unwrap()
}

#[test]
fn a_damaged_mirror_is_made_anew_by_the_command_that_finds_it_and_never_prunes() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    for n in 0..5 {
        repo.write(&format!("c{n}.yaml"), format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\n"));
    }
    repo.commit("one");
    let spec =
        "  namespaces: [shop]\n  clusterKinds: [Namespace]\n  prune: true\n  pruneBudget: {objects: 100, percent: 100}";
    lab.configure(&[repo.source("shop", spec)]);
    lab.apply(&[]);
    // The pack's objects, its end, and all of it.
    for cut in [300, 30, usize::MAX] {
        let packs = mirror(&lab).join("objects/pack");
        for entry in fs::read_dir(packs).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "pack") {
                let mut bytes = fs::read(&path).unwrap();
                let length = bytes.len();
                bytes[length.saturating_sub(cut)..].fill(0xa5);
                fs::remove_file(&path).unwrap();
                fs::write(&path, bytes).unwrap();
            }
        }
        let offline = lab.run(&["plan", "--offline", "-o", "json"]);
        if offline.code == 0 {
            assert_eq!(offline.json()["summary"]["unchanged"], 6, "{cut}");
        } else {
            assert_eq!(offline.exits(1).json()["refusals"].as_array().unwrap().len(), 1, "{cut}");
        }
        let said = lab.run(&["plan", "-o", "json"]).ok();
        assert_eq!(said.json()["summary"]["unchanged"], 6, "{cut}");
        let offline = lab.run(&["plan", "--offline", "-o", "json"]).ok();
        assert_eq!(offline.json()["summary"]["unchanged"], 6, "{cut}");
        if said.stderr.contains("fetched anew") {
            assert!(mirror(&lab).with_extension("damaged").is_dir(), "{said:?}");
        }
        if cut != 30 {
            assert!(said.stderr.contains("its mirror was damaged"), "{cut}: {said:?}");
        }
    }
}
