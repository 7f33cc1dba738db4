//! A mirror whose files were damaged: an error, never other content and never an absent file.

use std::fs;
use std::path::PathBuf;

use holdfast::base::ids::CommitId;
use holdfast::base::path::RepoPath;
use holdfast::source::mirror::{Credentials, Mirror};
use holdfast::source::refs::RefSpec;
use holdfast::source::url::RepositoryUrl;
use tempfile::TempDir;

use super::support::*;

/// A mirror's folder, its cache and commit; nothing holds its files open any more, as the library shares open packs.
struct Closed {
    cache: TempDir,
    url: RepositoryUrl,
    folder: PathBuf,
    commit: CommitId,
}

impl Closed {
    fn of(repo: &Repo) -> Self {
        let m = Mirrored::of(repo);
        let commit = m.fetch(&RefSpec::Head).unwrap().commit;
        Self { url: m.mirror.url().clone(), folder: m.mirror.folder().to_owned(), commit, cache: m.cache }
    }

    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.join("objects/pack")).unwrap();
        entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == ending)).collect()
    }

    fn read(&self) -> Result<Vec<Vec<u8>>, String> {
        let mirror = Mirror::open(self.cache.path(), &self.url, Credentials::Ambient).map_err(|e| e.to_string())?;
        let checkout = mirror.checkout(&self.commit, &RepoPath::default(), &limits()).map_err(|e| e.to_string())?;
        assert_eq!(checkout.counted(), 8);
        Ok(checkout.map_blobs(|_| true, |_, b| b.to_vec()).map_err(|e| e.to_string())?.read)
    }
}

fn eight_files() -> Repo {
    let repo = Repo::new();
    for i in 0..8 {
        repo.write(format!("f{i}.yaml"), format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{i}}}\n"));
    }
    repo.commit("one");
    repo
}

#[test]
fn a_flipped_bit_in_a_pack_is_an_error_or_no_change_and_never_other_content() {
    let closed = Closed::of(&eight_files());
    let good = closed.read().unwrap();
    let mut errors = 0;
    for file in closed.files("pack").into_iter().chain(closed.files("idx")) {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        for at in (0..bytes.len()).step_by(13) {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            fs::write(&file, &bad).unwrap();
            match closed.read() {
                Ok(same) => assert_eq!(same, good, "{}: byte {at}", file.display()),
                Err(_) => errors += 1,
            }
            fs::remove_file(&file).unwrap();
        }
        fs::write(&file, &bytes).unwrap();
    }
    assert!(errors > 20, "{errors}");
    assert_eq!(closed.read().unwrap(), good);
}

#[test]
fn an_object_that_is_gone_is_an_error() {
    let closed = Closed::of(&eight_files());
    for file in closed.files("pack").into_iter().chain(closed.files("idx")) {
        fs::remove_file(file).unwrap();
    }
    assert!(closed.read().is_err());
}
