//! A commit's trees, whatever their bytes: all files, each link, each submodule is told, or the commit is refused.
//!
//! The input is a Source's path (one byte) and objects (kind, length in two bytes, content), the last of them the root.
//! A tree's entries name earlier objects by their place, in one byte; a raw tree's stand as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use git2::{ObjectType, Oid, Repository};
use holdfast::base::clock::Moment;
use holdfast::base::ids::CommitId;
use holdfast::base::path::RepoPath;
use holdfast::manifest::{Counted, IgnoreRules};
use holdfast::source::checkout::Checkout;
use holdfast::source::limits::Limits;
use holdfast::source::mirror::{Credentials, Mirror, NoProgress};
use holdfast::source::refs::RefSpec;
use holdfast::source::url::RepositoryUrl;
use tempfile::TempDir;

const PATHS: [&str; 4] = ["", "d", "d/e", "a.yaml"];
/// After so many inputs the mirror is made anew: each leaves objects in it.
const INPUTS: usize = 20_000;

/// A mirror to put objects into, and how many inputs it had.
struct Stage {
    _folder: TempDir,
    mirror: Mirror,
    used: usize,
}

impl Stage {
    fn new() -> Self {
        let fast = Path::new("/dev/shm");
        let folder = if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() }.unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let origin = Repository::init(folder.path().join("origin")).unwrap();
        let tree = origin.find_tree(origin.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let by = git2::Signature::new("fuzz", "fuzz@example.com", &git2::Time::new(0, 0)).unwrap();
        origin.commit(Some("HEAD"), &by, &by, "empty", &tree, &[]).unwrap();
        let url = RepositoryUrl::parse(folder.path().join("origin").to_str().unwrap(), Path::new("/")).unwrap();
        let mirror = Mirror::open(&folder.path().join("cache"), &url, Credentials::Ambient).unwrap();
        mirror.fetch(&RefSpec::Head, &Limits::default(), &NoProgress, Moment::from_millis(0)).unwrap();
        Self { _folder: folder, mirror, used: 0 }
    }
}

static STAGE: LazyLock<Mutex<Stage>> = LazyLock::new(|| Mutex::new(Stage::new()));

type Objects = BTreeMap<Oid, (ObjectType, Vec<u8>)>;

/// Puts the objects into a mirror and lists the commit.
pub fn holds(data: &[u8]) {
    let Some((&path, rest)) = data.split_first() else { return };
    let mut stage = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    if stage.used >= INPUTS {
        *stage = Stage::new();
    }
    stage.used += 1;
    let repository = Repository::open(stage.mirror.folder()).unwrap();
    let mut objects = Objects::new();
    let Some(root) = write(&repository, rest, &mut objects) else { return };
    let commit = format!("tree {root}\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nm\n");
    let commit = repository.odb().unwrap().write(ObjectType::Commit, commit.as_bytes()).unwrap();
    let commit = CommitId::parse(&commit.to_string()).unwrap();
    let path = PATHS[usize::from(path) % PATHS.len()];
    let Ok(checkout) = stage.mirror.checkout(&commit, &RepoPath::from(path), &Limits::default()) else { return };
    agrees(&checkout, &objects, root, path);
    read(&checkout);
}

/// Contents are what the objects are, and the ignore files are read.
fn read(checkout: &Checkout) {
    let mut rules = IgnoreRules::new(&checkout.path, &[] as &[&str]).unwrap();
    for (folder, text) in &checkout.ignore_files {
        for fault in rules.add_file(folder, text) {
            assert!(fault.at.is_some(), "{fault:?}");
        }
    }
    for file in &checkout.files {
        assert!(file.counted || rules.classify(&file.path) != Counted::Manifest, "{:?}", file.path);
    }
    if let Ok(blobs) = checkout.map_blobs(|file| file.counted, |file, bytes| (file.blob_id(), bytes.to_vec())) {
        for (id, bytes) in &blobs.read {
            assert_eq!(*id, Oid::hash_object(ObjectType::Blob, bytes).unwrap().to_string());
        }
        let counted = checkout.files.iter().filter(|file| file.counted).count();
        assert_eq!(blobs.read.len() + blobs.faults.len(), counted);
    }
}

/// The objects of an input; the last one's ID.
fn write(repository: &Repository, mut rest: &[u8], objects: &mut Objects) -> Option<Oid> {
    let odb = repository.odb().unwrap();
    let mut ids: Vec<Oid> = Vec::new();
    while let [kind, low, high, after @ ..] = rest {
        let (content, more) = after.split_at(after.len().min(usize::from(u16::from_le_bytes([*low, *high]))));
        rest = more;
        let (kind, content) = match kind % 3 {
            0 => (ObjectType::Blob, content.to_vec()),
            1 => (ObjectType::Tree, named(content, &ids)),
            _ => (ObjectType::Tree, content.to_vec()),
        };
        let id = odb.write(kind, &content).ok()?;
        objects.insert(id, (kind, content));
        ids.push(id);
    }
    ids.last().copied()
}

/// A tree whose entries have IDs in place of numbers.
fn named(content: &[u8], ids: &[Oid]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = content;
    while let Some(end) = rest.iter().position(|&b| b == 0) {
        out.extend_from_slice(&rest[..=end]);
        let Some(&at) = rest.get(end + 1) else { break };
        let missing = Oid::from_bytes(&[at; 20]).unwrap();
        out.extend_from_slice(ids.get(usize::from(at)).unwrap_or(&missing).as_bytes());
        rest = &rest[end + 2..];
    }
    out
}

/// What git would take an entry for (`canon_mode` of its source).
#[derive(Clone, Copy, PartialEq)]
enum Is {
    File,
    Folder,
    Link,
    Submodule,
}

fn entries(tree: &[u8]) -> Option<Vec<(Is, Vec<u8>, Oid)>> {
    let mut found = Vec::new();
    let mut rest = tree;
    while !rest.is_empty() {
        let end = rest.iter().position(|&b| b == 0)?;
        let blank = rest[..end].iter().position(|&b| b == b' ')?;
        let mode = u32::from_str_radix(std::str::from_utf8(&rest[..blank]).ok()?, 8).ok()?;
        let is = match mode & 0o170_000 {
            0o100_000 => Is::File,
            0o120_000 => Is::Link,
            0o040_000 => Is::Folder,
            _ => Is::Submodule,
        };
        let id = Oid::from_bytes(rest.get(end + 1..end + 21)?).ok()?;
        found.push((is, rest[blank + 1..end].to_vec(), id));
        rest = &rest[end + 21..];
    }
    Some(found)
}

/// A second reader of the same trees finds the same files, links and submodules.
fn agrees(checkout: &Checkout, objects: &Objects, root: Oid, path: &str) {
    let mut at = root;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        let (_, tree) = &objects[&at];
        let entry =
            entries(tree).expect("a listed tree can be read").into_iter().find(|(_, name, _)| name == part.as_bytes());
        match entry.expect("a listed path is there") {
            (Is::Folder, _, id) => at = id,
            // The path is a file, or a link to one.
            _ => return assert_eq!(checkout.files.len() + checkout.faults.len(), 1, "{checkout:?}"),
        }
    }
    let mut wanted = Found::default();
    wanted.folder(objects, at, &RepoPath::from(path));
    let files: BTreeSet<_> =
        checkout.files.iter().filter(|f| f.link_target.is_none()).map(|f| (f.path.clone(), f.blob_id())).collect();
    let mut others: Vec<RepoPath> =
        checkout.files.iter().filter(|f| f.link_target.is_some()).map(|f| f.path.clone()).collect();
    let too_large = |rule: &str| ["size-limit", "lfs-pointer"].contains(&rule);
    let faults = checkout.faults.iter().filter(|fault| !too_large(fault.rule.as_str()));
    others.extend(faults.map(|fault| fault.at.clone().expect("it has a place").file));
    others.sort();
    wanted.others.sort();
    assert_eq!(files, wanted.files);
    assert_eq!(others, wanted.others);
}

#[derive(Default)]
struct Found {
    files: BTreeSet<(RepoPath, String)>,
    /// Links and submodules.
    others: Vec<RepoPath>,
}

impl Found {
    fn folder(&mut self, objects: &Objects, id: Oid, path: &RepoPath) {
        let (kind, tree) = &objects[&id];
        assert_eq!(*kind, ObjectType::Tree, "a listed folder is a tree");
        for (is, name, id) in entries(tree).expect("a listed tree can be read") {
            let below = path.join(&name);
            match is {
                Is::Folder if name.starts_with(b".") => {}
                Is::Folder => self.folder(objects, id, &below),
                Is::File => drop(self.files.insert((below, id.to_string()))),
                Is::Link | Is::Submodule => self.others.push(below),
            }
        }
    }
}
