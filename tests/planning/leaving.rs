//! Plans of Sources that are removed or rebuilt, and the lint that finds every one that breaks a promise.

use crate::ownership::{MARKS, Mark, UIDS, Uid, X};
use crate::world::*;
use holdfast::plan::document::{PlanDocument, Purpose};
use holdfast::plan::lint::lint;
use serde_json::{Value, json};

fn of(purpose: Purpose, mark: Mark, uid: Uid) -> World {
    let mut world = crate::ownership::world(mark, uid);
    let files = match purpose {
        Purpose::Rebuild => world.sources[0].files.clone(),
        _ => Vec::new(),
    };
    world.sources[0] = Source { files, purpose, ..world.sources[0].clone() };
    world
}

#[test]
fn a_removal_lets_go_or_deletes_only_what_name_uid_and_mark_prove_and_every_cell_is_said() {
    for mark in MARKS {
        for uid in UIDS {
            let ours = (mark, uid) == (Mark::Ours, Uid::Equal);
            let case = format!("{mark:?} {uid:?}");
            let plan = of(Purpose::Orphan, mark, uid).plan();
            assert_eq!(verdict(&plan, "ConfigMap/shop/y"), ("release", "orphaned"), "{case}");
            let others = match uid {
                _ if ours => Some(("release", "orphaned")),
                Uid::NoRow => None,
                Uid::Different if matches!(mark, Mark::None | Mark::Ours | Mark::Copied) => {
                    Some(("keep", "uid-mismatch"))
                }
                _ => Some(("keep", "owner-mismatch")),
            };
            let found = plan.changes.iter().find(|c| c.id == id(X)).map(|_| verdict(&plan, X));
            assert_eq!(found, others, "{case}");
            // With its objects: all or nothing.
            let pruned = of(Purpose::Prune, mark, uid).grant(|a| a.deletes = Some(2));
            match pruned.try_plan() {
                Ok(plan) if ours => assert_eq!(acts(&plan).len(), 2, "{case}"),
                Ok(plan) => {
                    assert_eq!((uid, acts(&plan)), (Uid::NoRow, vec!["delete ConfigMap/shop/y".to_owned()]), "{case}")
                }
                Err(refused) => assert_eq!(refused.rules(), [format!("{} {X}", others.unwrap().1)], "{case}"),
            }
        }
    }
}

#[test]
fn a_rebuild_takes_back_only_what_bears_the_mark_for_its_resource() {
    for mark in MARKS {
        for uid in UIDS {
            let plan = of(Purpose::Rebuild, mark, uid).plan();
            let back = mark == Mark::Ours && uid != Uid::Equal;
            let expected: &[&str] = if back { &["adopt ConfigMap/shop/x"] } else { &[] };
            assert_eq!(acts(&plan), expected, "{mark:?} {uid:?}");
            let warned = plan.warnings.iter().any(|w| w.id == Some(id(X)));
            assert_eq!(warned, mark != Mark::Ours && uid != Uid::NoRow, "{mark:?} {uid:?}");
        }
    }
}

fn linted(world: &World, edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let found = world.with(|made| {
        let mut plan = serde_json::to_value(&made.plan).unwrap();
        edit(&mut plan);
        let plan: PlanDocument = serde_json::from_value(plan).unwrap();
        lint(&plan, made.inputs, &world.others, made.observed)
    });
    found.unwrap_or_else(|refused| panic!("{refused:?}"))
}

#[track_caller]
fn breaks(world: &World, text: &str, edit: impl FnOnce(&mut Value)) {
    let found = linted(world, edit);
    assert!(found.iter().any(|line| line.contains(text)), "{text:?} is not in {found:#?}");
}

#[test]
fn the_lint_finds_removals_and_rebuilds_that_do_what_was_not_asked() {
    let sound = |purpose| of(purpose, Mark::Ours, Uid::Equal);
    let orphan = sound(Purpose::Orphan);
    let prune = sound(Purpose::Prune).grant(|a| a.deletes = Some(2));
    let rebuild = of(Purpose::Rebuild, Mark::Ours, Uid::Different);
    for world in [&orphan, &prune, &rebuild] {
        assert_eq!(linted(world, |_| {}), Vec::<String>::new());
    }
    let set = |action: &'static str, rule: Option<&'static str>| {
        move |plan: &mut Value| {
            plan["changes"][0]["action"] = action.into();
            plan["changes"][0]["rule"] = json!(rule);
            plan["changes"][0]["reason"] = json!(rule);
            plan["changes"][0]["fields"] = json!([]);
        }
    };
    breaks(&orphan, "would be deleted though it is to be let go", set("delete", None));
    breaks(&orphan, "would stay marked though its Source is removed", set("keep", Some("prune-off")));
    breaks(&orphan, "would be written though its Source is removed", set("update", None));
    breaks(&orphan, "doesn't name the Sources", |plan| plan["sources"][0]["purpose"] = "prune".into());
    breaks(&prune, "would stay though its Source is removed with its objects", set("keep", Some("prune-off")));
    breaks(&prune, "would stay though nobody let it go", set("release", Some("orphaned")));
    breaks(&prune, "let go unasked", set("release", Some("orphaned")));
    breaks(&prune, "2 deletes, and 1 are allowed", |plan| plan["allowances"]["deletes"] = 1.into());
    breaks(&rebuild, "would be taken back though", set("update", None));
    breaks(&rebuild, "would be taken back though", |plan| plan["changes"][0]["uid"] = "another".into());
    // A rebuild that takes what is its own already, or doesn't bear its mark.
    for mark in [Mark::None, Mark::Known, Mark::Copied, Mark::Malformed] {
        let world = of(Purpose::Rebuild, mark, Uid::Different);
        let taken = rebuild.plan();
        let entry = serde_json::to_value(&taken.changes[0]).unwrap();
        breaks(&world, "would be taken back though", |plan| {
            plan["changes"] = json!([entry]);
            plan["summary"]["adopt"] = 1.into();
        });
    }
}
