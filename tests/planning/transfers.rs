//! Objects that change hands: within one plan, across configurations, and after they were let go.

use crate::ownership::X;
use crate::target::Model;
use crate::world::*;
use holdfast::base::fault::Fault;
use serde_json::Value;

fn x(annotations: &[(&str, &str)]) -> Value {
    asking(config("x", "1"), annotations)
}

fn kept() -> Value {
    config("a-own", "1")
}

/// A world in which `alpha` applied x, with these annotations; nothing of `beta` was applied.
fn of_alpha(annotations: &[(&str, &str)]) -> (World, Source) {
    let alpha = Source::new("alpha").declare([x(annotations), kept()]);
    let world = World::new(Model::with_namespaces(&["shop", "lab"]), [alpha.clone()]).applied();
    (world, alpha)
}

fn beta(annotations: &[(&str, &str)]) -> Source {
    Source::new("beta").declare([x(annotations)])
}

fn alone(world: &World, source: &Source) -> World {
    World { sources: vec![source.clone()], ..world.clone() }
}

fn uid(world: &World) -> String {
    world.target.objects[&id(X)]["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn the_fault(world: &World) -> Fault {
    let faults = world.try_plan().unwrap_err().0;
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.into_iter().next().unwrap()
}

#[test]
fn across_configurations_both_sides_must_say_so() {
    for (gives, takes, by_grant) in [
        (None, false, false),
        (None, true, false),
        (None, true, true),
        (Some("gamma"), true, false),
        (Some("beta"), false, false),
        (Some("beta"), true, false),
        (Some("beta"), true, true),
    ] {
        let (world, _) = of_alpha(&gives.map(|to| ("release-to", to)).into_iter().collect::<Vec<_>>());
        let manifest: &[(&str, &str)] = if takes && !by_grant { &[("adopt-from", "alpha")] } else { &[] };
        let mut world = alone(&world, &beta(manifest));
        if takes && by_grant {
            world = world.grant(|a| a.adopt_from.push("alpha".to_owned()));
        }
        let case = format!("{gives:?} {takes} {by_grant}");
        if gives == Some("beta") && takes {
            let plan = world.plan();
            assert_eq!(acts(&plan), ["transfer ConfigMap/shop/x"], "{case}");
            assert_eq!(change(&plan, X).from.as_ref().unwrap().as_str(), "alpha");
            assert_eq!(plan.allowances.adopt_from, if by_grant { vec!["alpha"] } else { vec![] }, "{case}");
            let after = world.applied();
            assert_eq!(uid(&after), uid(&world));
            assert_eq!(acts(&after.plan()), [] as [&str; 0]);
        } else {
            let fault = the_fault(&world);
            assert_eq!(fault.rule.as_str(), "owned-by-other", "{case}");
            assert_eq!(fault.owner.as_ref().unwrap().as_str(), "alpha");
            // Both places: this manifest, and where the other Source declared it.
            assert_eq!((fault.at.unwrap().file.to_string(), fault.also.len()), ("000.yaml".to_owned(), 1), "{case}");
            assert_eq!((fault.also[0].file.to_string(), fault.also[0].line), ("000.yaml".to_owned(), 1), "{case}");
        }
    }
}

#[test]
fn adopt_from_counts_in_a_manifest_only_where_the_source_permits_it() {
    let (world, _) = of_alpha(&[("release-to", "beta")]);
    let mut source = beta(&[("adopt-from", "alpha")]);
    source.spec.permit_in_git.clear();
    assert_eq!(alone(&world, &source).refused(), ["owned-by-other ConfigMap/shop/x"]);
}

#[test]
fn what_is_released_to_another_source_waits_for_it_prune_or_not() {
    let (world, alpha) = of_alpha(&[("release-to", "beta")]);
    for prune in [true, false] {
        let mut left = alpha.at(2, [kept()]);
        left.spec.prune = prune;
        let world = alone(&world, &left);
        assert_eq!(verdict(&world.plan(), X), ("keep", "released-to"));
        // Waiting, it is applied and planned again as often as anybody likes.
        let world = world.applied().applied();
        assert_eq!(verdict(&world.plan(), X), ("keep", "released-to"));
        let taken = alone(&world, &beta(&[("adopt-from", "alpha")]));
        assert_eq!(acts(&taken.plan()), ["transfer ConfigMap/shop/x"]);
        assert_eq!(uid(&taken.applied()), uid(&world));
        assert_eq!(acts(&alone(&taken.applied(), &left).plan()), [] as [&str; 0], "the row ended with the transfer");
    }
    let left = alpha.at(2, [kept()]);
    assert_eq!(acts(&alone(&world, &left).allow(X).plan()), ["delete ConfigMap/shop/x"]);
    let released = alone(&world, &left).grant(|a| a.release.push(X.to_owned()));
    assert_eq!(verdict(&released.plan(), X), ("release", "released"));
}

#[test]
fn a_manifest_that_gives_its_object_away_counts_for_nothing_once_the_other_has_it() {
    let (world, alpha) = of_alpha(&[("release-to", "beta")]);
    let taken = alone(&world, &beta(&[("adopt-from", "alpha")])).applied();
    let plan = alone(&taken, &alpha).plan();
    assert_eq!(acts(&plan), [] as [&str; 0]);
    assert!(plan.warnings.iter().any(|w| w.rule == "released-to" && w.id == Some(id(X))), "{:?}", plan.warnings);
    // Planned together while both declare it: the transfer needs no adopt-from.
    let both = World { sources: vec![alpha.clone(), beta(&[])], ..world.clone() };
    assert_eq!(acts(&both.plan()), ["transfer ConfigMap/shop/x"]);
    assert_eq!(acts(&both.applied().plan()), [] as [&str; 0]);
    assert_eq!(uid(&both.applied()), uid(&world));
    // Released to somebody else it is still a second claim.
    let (world, alpha) = of_alpha(&[("release-to", "gamma")]);
    let both = World { sources: vec![alpha, beta(&[])], ..world };
    assert_eq!(both.refused(), ["owned-by-other ConfigMap/shop/x"]);
}

#[test]
fn what_its_source_let_go_is_taken_from_it_by_name() {
    let (world, alpha) = of_alpha(&[]);
    let left = alpha.at(2, [kept()]);
    let world = alone(&world, &left).grant(|a| a.release.push(X.to_owned())).applied();
    let plain = World { allowances: Default::default(), ..alone(&world, &beta(&[])) };
    assert_eq!(plain.refused(), ["exists-unowned ConfigMap/shop/x"]);
    assert!(the_fault(&plain).hint.unwrap().contains("--adopt-from alpha"));
    let taken = World { sources: vec![beta(&[("adopt-from", "alpha")])], ..plain.clone() };
    assert_eq!(acts(&taken.plan()), ["adopt ConfigMap/shop/x"]);
    let granted = plain.clone().grant(|a| a.adopt_from.push("alpha".to_owned()));
    assert_eq!(granted.plan().allowances.adopt_from, ["alpha"]);
    // Made again by somebody else it is not what was let go.
    let mut again = taken.clone();
    again.target.recreate(&id(X));
    assert_eq!(again.refused(), ["exists-unowned ConfigMap/shop/x"]);
}
