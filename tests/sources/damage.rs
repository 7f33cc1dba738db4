//! A mirror whose files were damaged: an error, never other content and never an absent file.

use std::fs;
use std::path::PathBuf;

use holdfast::base::path::RepoPath;
use holdfast::source::refs::RefSpec;

use super::support::*;

fn packs(m: &Mirrored, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(m.mirror.folder().join("objects/pack")).unwrap();
    entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == ending)).collect()
}

#[test]
fn a_flipped_bit_in_a_pack_is_an_error_or_no_change_and_never_other_content() {
    let repo = Repo::new();
    for i in 0..8 {
        repo.write(format!("f{i}.yaml"), format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{i}}}\n"));
    }
    repo.commit("one");
    let m = Mirrored::of(&repo);
    let commit = m.fetch(&RefSpec::Head).unwrap().commit;
    let read = || -> Result<Vec<Vec<u8>>, String> {
        let fresh = holdfast::source::mirror::Mirror::open(m.cache.path(), m.mirror.url(), Default::default());
        let fresh = fresh.map_err(|e| e.to_string())?;
        let checkout = fresh.checkout(&commit, &RepoPath::default(), &limits()).map_err(|e| e.to_string())?;
        assert_eq!(checkout.counted(), 8);
        Ok(checkout.map_blobs(|_| true, |_, b| b.to_vec()).map_err(|e| e.to_string())?.read)
    };
    let good = read().unwrap();
    let mut errors = 0;
    for file in packs(&m, "pack").into_iter().chain(packs(&m, "idx")) {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        for at in (0..bytes.len()).step_by(7) {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            fs::write(&file, &bad).unwrap();
            match read() {
                Ok(same) => assert_eq!(same, good, "{}: byte {at}", file.display()),
                Err(_) => errors += 1,
            }
        }
        fs::write(&file, &bytes).unwrap();
    }
    assert!(errors > 20, "{errors}");
    assert_eq!(read().unwrap(), good);
}

#[test]
fn an_object_that_is_gone_is_an_error() {
    let repo = Repo::new();
    repo.write("a.yaml", "a");
    repo.commit("one");
    let m = Mirrored::of(&repo);
    let checkout = m.checkout("").unwrap();
    for file in packs(&m, "pack").into_iter().chain(packs(&m, "idx")) {
        fs::remove_file(file).unwrap();
    }
    assert!(checkout.map_blobs(|_| true, |_, _| ()).is_err());
    assert!(m.mirror.checkout(&checkout.commit, &RepoPath::default(), &limits()).is_err());
}
