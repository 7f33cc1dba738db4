//! The repositories of a world.

use git2::{Oid, Signature, Time};
use holdfast::base::clock::Clock as _;
use holdfast::base::ids::CommitId;

use super::super::step::{Side, Tree};
use super::Engine;
use super::objects::manifest_of;

impl Engine {
    /// Commits a whole tree to the branch.
    pub fn commit(&mut self, side: Side, declared: &Tree) {
        let repository = &self.repositories[&side];
        let mut tree = repository.treebuilder(None).unwrap();
        for (res, manifest) in declared {
            let blob = repository.blob(manifest_of(*res, manifest).to_string().as_bytes()).unwrap();
            tree.insert(format!("{}.json", res.name()), blob, 0o100_644).unwrap();
        }
        let tree = repository.find_tree(tree.write().unwrap()).unwrap();
        let parent = repository.find_reference("refs/heads/main").ok().map(|head| head.peel_to_commit().unwrap());
        let now = Time::new(self.clock.now().as_millis() / 1000, 0);
        let by = Signature::new("lab", "lab@example.com", &now).unwrap();
        let parents: Vec<_> = parent.iter().collect();
        // Two commits of one moment are two.
        let message = self.commits.len().to_string();
        let commit = repository.commit(Some("refs/heads/main"), &by, &by, &message, &tree, &parents).unwrap();
        self.commits.push(CommitId::parse(&commit.to_string()).unwrap());
        self.fetched.borrow_mut().remove(&side);
    }

    /// The branch goes back to its newest commit's parent.
    pub fn rewind(&self, side: Side) {
        let repository = &self.repositories[&side];
        let head = repository.find_reference("refs/heads/main").unwrap().peel_to_commit().unwrap();
        let parent: Oid = head.parent_id(0).unwrap();
        repository.reference("refs/heads/main", parent, true, "back").unwrap();
        self.fetched.borrow_mut().remove(&side);
    }
}
