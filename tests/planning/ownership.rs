//! Whose a live object is: every combination of owner mark, UID, wish and permission, against a table written by hand.

use std::collections::BTreeSet;

use crate::target::{Model, now};
use crate::world::*;
use holdfast::base::ids::SourceId;
use holdfast::inventory::OwnerMark;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    None,
    Ours,
    Known,
    Removed,
    Unknown,
    Copied,
    Malformed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uid {
    Equal,
    Different,
    NoRow,
}

pub const MARKS: [Mark; 7] =
    [Mark::None, Mark::Ours, Mark::Known, Mark::Removed, Mark::Unknown, Mark::Copied, Mark::Malformed];
pub const UIDS: [Uid; 3] = [Uid::Equal, Uid::Different, Uid::NoRow];

/// How an adoption is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    No,
    ByName,
    ByPattern,
    ByManifest,
}

pub const ASKS: [Ask; 4] = [Ask::No, Ask::ByName, Ask::ByPattern, Ask::ByManifest];

/// Cells of the table: mark, UID, declared or not, adoption asked or not.
const CELLS: usize = 7 * 3 * 2 * 2;

pub const X: &str = "ConfigMap/shop/x";

/// A world in which `shop` applied x and y, and x is as the case says.
pub fn world(mark: Mark, uid: Uid) -> World {
    let shop = Source::new("shop").declare([config("x", "1"), config("y", "1")]);
    let other = Source::new("other").declare([config("o", "1")]);
    let removed = Source::new("removed").declare([config("r", "1")]);
    let all = [shop.clone(), other.clone(), removed.clone()];
    let mut world = World::new(Model::with_namespaces(&["shop", "lab"]), all).applied();
    world.target.sources.get_mut(&removed.id()).unwrap().removed_at = Some(now());
    world.sources = vec![shop.clone()];
    let stranger = SourceId::parse("6d0d3a6e-5f0b-5c47-9d0e-0b8f5b0e57ce").unwrap();
    let of = |source: &Source| Some(source.mark(&id(X)).to_string());
    let text = match mark {
        Mark::None => None,
        Mark::Ours => of(&shop),
        Mark::Known => of(&other),
        Mark::Removed => of(&removed),
        Mark::Unknown => Some(OwnerMark { source: stranger, ..shop.mark(&id(X)) }.to_string()),
        Mark::Copied => Some(shop.mark(&id("ConfigMap/shop/y")).to_string()),
        Mark::Malformed => Some("shop".to_owned()),
    };
    world.target.mark(&id(X), text.as_deref());
    match uid {
        Uid::Equal => {}
        Uid::Different => world.target.recreate(&id(X)),
        Uid::NoRow => drop(world.target.inventories.get_mut(&shop.id()).unwrap().rows.remove(&id(X))),
    }
    world
}

#[test]
fn what_is_declared_is_written_only_where_it_is_ours_or_nobodys_and_asked_for() {
    let mut cells = BTreeSet::new();
    for mark in MARKS {
        for uid in UIDS {
            for ask in ASKS {
                let mut world = world(mark, uid).asking(ask);
                if ask == Ask::ByManifest {
                    let x = asking(config("x", "1"), &[("adopt", "true")]);
                    world.sources = vec![world.sources[0].at(1, [x, config("y", "1")])];
                }
                let adopt = ask != Ask::No;
                let expected = match (mark, uid, adopt) {
                    (Mark::Ours, Uid::Equal, _) => Ok(None),
                    (Mark::None | Mark::Ours | Mark::Copied, _, true) => Ok(Some("adopt ConfigMap/shop/x")),
                    (Mark::None | Mark::Ours | Mark::Copied, _, false) => Err("exists-unowned ConfigMap/shop/x"),
                    (Mark::Known | Mark::Removed | Mark::Unknown, _, _) => Err("owned-by-other ConfigMap/shop/x"),
                    (Mark::Malformed, _, _) => Err("owner-mismatch ConfigMap/shop/x"),
                };
                match (world.try_plan(), expected) {
                    (Ok(plan), Ok(expected)) => {
                        assert_eq!(acts(&plan), Vec::from_iter(expected), "{mark:?} {uid:?} {ask:?}");
                        assert_eq!(acts(&world.applied().plan()), [] as [&str; 0], "{mark:?} {uid:?} {ask:?}");
                    }
                    (Err(refused), Err(expected)) => {
                        assert_eq!(refused.rules(), [expected], "{mark:?} {uid:?} {ask:?}")
                    }
                    (found, expected) => panic!("{mark:?} {uid:?} {ask:?}: {found:?}, not {expected:?}"),
                }
                cells.insert((mark as u8, uid as u8, adopt));
            }
        }
    }
    assert_eq!(cells.len(), CELLS / 2);
}

impl World {
    fn asking(self, ask: Ask) -> Self {
        match ask {
            Ask::No | Ask::ByManifest => self,
            Ask::ByName => self.grant(|a| a.adopt.push(X.to_owned())),
            Ask::ByPattern => self.grant(|a| {
                a.adopt.push("ConfigMap/shop/*".to_owned());
                a.adoptions = Some(1);
            }),
        }
    }
}

#[test]
fn what_is_no_longer_declared_is_deleted_only_if_name_uid_and_mark_agree_and_else_let_go() {
    let mut cells = BTreeSet::new();
    for mark in MARKS {
        for uid in UIDS {
            for (prune, ask) in [true, false].into_iter().flat_map(|p| ASKS.map(|ask| (p, ask))) {
                let mut world = world(mark, uid).asking(ask);
                world.sources = vec![world.sources[0].at(2, [config("y", "1")])];
                world.sources[0].spec.prune = prune;
                let expected = match (mark, uid) {
                    (_, Uid::NoRow) => None,
                    (Mark::Ours, Uid::Equal) if prune => Some(("delete", "")),
                    (Mark::Ours, Uid::Equal) => Some(("keep", "prune-off")),
                    (Mark::None | Mark::Ours | Mark::Copied, Uid::Different) => Some(("keep", "uid-mismatch")),
                    _ => Some(("keep", "owner-mismatch")),
                };
                let plan = world.plan();
                let case = format!("{mark:?} {uid:?} {prune} {ask:?}");
                cells.insert((mark as u8, uid as u8, ask != Ask::No));
                assert_eq!(plan.changes.len(), usize::from(expected.is_some()), "{case}");
                let Some(expected) = expected else { continue };
                assert_eq!(verdict(&plan, X), expected, "{case}");
                // Of what isn't ours nothing is shown.
                if expected.0 == "keep" {
                    assert!(change(&plan, X).fields.is_empty(), "{case}");
                }
                let after = world.applied();
                let stays = expected == ("keep", "prune-off");
                assert_eq!(after.plan().changes.len(), usize::from(stays), "{case}");
                assert_eq!(after.target.objects.contains_key(&id(X)), expected.0 != "delete", "{case}");
            }
        }
    }
    assert_eq!(cells.len(), CELLS / 2);
}
