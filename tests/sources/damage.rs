//! A mirror whose files were damaged: an error, never other content and never an absent file.

use std::fs;
use std::path::PathBuf;

use holdfast::base::ids::CommitId;
use holdfast::base::path::RepoPath;
use holdfast::source::mirror::{Credentials, Mirror, MirrorError, Progress};
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

/// Hears what is said of a fetch.
#[derive(Default)]
struct Notes(std::sync::Mutex<Vec<String>>);

impl Progress for Notes {
    fn received(&self, _: u64, _: u64, _: u64) {}

    fn noted(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// What it is called, and how it is done.
type Damage<'a> = (&'a str, &'a dyn Fn(&Closed));

#[test]
fn a_damaged_mirror_is_moved_aside_and_fetched_anew_and_that_is_said() {
    let damages: [Damage<'_>; 6] = [
        ("an index that was changed", &|closed| {
            let index = closed.files("idx").remove(0);
            let mut bytes = fs::read(&index).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::remove_file(&index).unwrap();
            fs::write(index, bytes).unwrap();
        }),
        ("no HEAD", &|closed| fs::remove_file(closed.folder.join("HEAD")).unwrap()),
        ("a configuration that is none", &|closed| fs::write(closed.folder.join("config"), "[").unwrap()),
        ("a list of packs that is none", &|closed| fs::write(closed.folder.join("holdfast-packs"), "x\n").unwrap()),
        ("a ref that is none", &|closed| fs::write(closed.folder.join("refs/heads/main"), "x\n").unwrap()),
        ("objects that are gone", &|closed| {
            closed.files("pack").into_iter().chain(closed.files("idx")).for_each(|file| fs::remove_file(file).unwrap());
        }),
    ];
    for (what, damage) in damages {
        let repo = eight_files();
        let closed = Closed::of(&repo);
        let good = closed.read().unwrap();
        let mirror = || Mirror::open(closed.cache.path(), &closed.url, Credentials::Ambient).unwrap();
        mirror().keep_applied(&closed.commit).unwrap();
        damage(&closed);
        // A reader may have to find it first; what it says is an error, never that a commit or file isn't there.
        let read = mirror().resolve(&branch("main")).and_then(|commit| mirror().has_commit(&commit));
        assert!(read.as_ref().is_err_and(|error| !error.is_gone() && !error.is_missing_ref()), "{what}: {read:?}");
        let notes = Notes::default();
        let fetched = mirror().fetch(&branch("main"), &limits(), &notes, moment()).unwrap();
        assert_eq!(fetched.commit, closed.commit, "{what}");
        let notes = notes.0.into_inner().unwrap();
        assert!(
            notes.len() == 1 && notes[0].contains("damaged") && notes[0].contains("fetched anew"),
            "{what}: {notes:?}"
        );
        assert_eq!(closed.read().unwrap(), good, "{what}");
        assert!(closed.folder.with_extension("damaged").is_dir(), "{what}");
        assert!(closed.folder.join(format!("refs/holdfast/applied/{}", closed.commit)).exists(), "{what}");
        // And once is enough.
        let again = Notes::default();
        mirror().fetch(&branch("main"), &limits(), &again, moment()).unwrap();
        assert!(again.0.into_inner().unwrap().is_empty() && !mirror().is_distrusted(), "{what}");
    }
}

#[test]
fn a_damaged_mirror_of_a_repository_that_cannot_be_read_stays_an_error() {
    let repo = eight_files();
    let closed = Closed::of(&repo);
    fs::remove_file(closed.folder.join("HEAD")).unwrap();
    drop(repo);
    let mirror = Mirror::open(closed.cache.path(), &closed.url, Credentials::Ambient).unwrap();
    for _ in 0..2 {
        let error = mirror.fetch(&branch("main"), &limits(), &Notes::default(), moment()).unwrap_err();
        assert!(matches!(error, MirrorError::Unreadable { .. }), "{error}");
        let error = mirror.resolve(&branch("main")).unwrap_err();
        assert!(matches!(error, MirrorError::Damaged { .. }), "{error}");
    }
}
