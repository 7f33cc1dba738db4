//! Random small worlds: whatever happened before, a plan keeps its promises.

use std::collections::{BTreeMap, BTreeSet};

use holdfast::inventory::OWNER_ANNOTATION;
use holdfast::plan::document::{Action, Allowances, PlanDocument};
use holdfast::source::scope::Namespaces;
use holdfast::target::Reader;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::target::Model;
use crate::world::*;

/// The resources of these worlds.
const IDS: [&str; 12] = [
    "ConfigMap/shop/a",
    "ConfigMap/shop/b",
    "ConfigMap/shop/c",
    "ConfigMap/team/a",
    "ConfigMap/team/b",
    "Namespace/team",
    "Deployment.apps/shop/web",
    "PersistentVolumeClaim/shop/d",
    "PersistentVolumeClaim/team/d",
    "Secret/shop/s",
    "CustomResourceDefinition.apiextensions.k8s.io/widgets.example.com",
    "Widget.example.com/team/w",
];

/// A manifest of one of them; `form` says its values and annotations.
fn object(at: usize, form: u8) -> Value {
    let value = (form % 3).to_string();
    let id = id(IDS[at]);
    let namespace = id.namespace.as_deref();
    let object = match id.kind.as_str() {
        // The second value is what a hand sets, too.
        "ConfigMap" if form % 3 == 2 => {
            manifest("v1", "ConfigMap", namespace, &id.name, json!({"data": {"v": "1", "w": "x"}}))
        }
        "ConfigMap" => manifest("v1", "ConfigMap", namespace, &id.name, json!({"data": {"v": value}})),
        "Secret" => {
            manifest("v1", "Secret", namespace, &id.name, json!({"stringData": {"token": format!("s3cret-{value}")}}))
        }
        "Namespace" => manifest("v1", "Namespace", None, &id.name, json!({"metadata": {"labels": {"v": value}}})),
        "Deployment" if form % 3 == 2 => deployment(
            "web",
            json!({"spec": {"selector": {"matchLabels": {"app": "other"}},
            "template": {"metadata": {"labels": {"app": "other"}}}}}),
        ),
        "Deployment" => deployment("web", json!({"metadata": {"labels": {"v": value}}})),
        "PersistentVolumeClaim" => {
            let mut object = claim(&id.name);
            object["metadata"]["namespace"] = json!(namespace);
            object["metadata"]["labels"] = json!({"v": value});
            object
        }
        "Widget" => widget("team", "w", i64::from(form % 3)),
        _ => definition(),
    };
    let mut asked: Vec<(&str, &str)> = Vec::new();
    if id.kind == "Deployment" && form == 2 {
        asked.push(("replace", "true"));
    }
    match form / 3 % 8 {
        1 => asked.push(("prune", "keep")),
        2 => asked.push(("prune", "allow")),
        3 => asked.push(("wave", "2")),
        4 => asked.push(("adopt", "true")),
        5 => asked.push(("replace", "true")),
        6 => asked.push(("use", "true")),
        7 => asked.push(("config.kubernetes.io/depends-on", "/namespaces/shop/ConfigMap/a")),
        _ => {}
    }
    asking(object, &asked)
}

/// What one Source declares: a form for each resource.
type Declared = BTreeMap<usize, u8>;

#[derive(Debug, Clone)]
enum Step {
    /// Both Sources, or one of them alone, are planned and applied, if that is not refused.
    Apply { sources: [Declared; 2], planned: u8 },
    /// Somebody outside does something to a resource.
    Hand { what: u8, at: usize, other: usize },
}

#[derive(Debug, Clone)]
struct Flags {
    prune: [bool; 2],
    budget: (u64, u8),
    deletes: Option<usize>,
    allow: BTreeMap<usize, Option<usize>>,
    adopt: BTreeSet<usize>,
    pattern: bool,
    release: BTreeSet<usize>,
    wanted: BTreeSet<usize>,
    unreadable: bool,
    permit: bool,
}

#[derive(Debug, Clone)]
struct Story {
    steps: Vec<Step>,
    last: [Declared; 2],
    planned: u8,
    flags: Flags,
}

fn declared() -> impl Strategy<Value = Declared> {
    // Mostly plain ones, so that much can be planned.
    let form = prop_oneof![6 => 0..3_u8, 1 => 0..24_u8];
    prop::collection::btree_map(0..IDS.len(), form, 0..9)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // Often somebody changes two values, of which one is declared later.
        1 => (0..2_usize).prop_map(|at| Step::Hand { what: 1, at, other: at }),
        2 => ([declared(), declared()], 0..5_u8).prop_map(|(sources, planned)| Step::Apply { sources, planned }),
        3 => (0..11_u8, 0..IDS.len(), 0..IDS.len()).prop_map(|(what, at, other)| Step::Hand { what, at, other }),
    ]
}

fn flags() -> impl Strategy<Value = Flags> {
    let ids = || prop::collection::btree_set(0..IDS.len(), 0..4);
    let allow = prop::collection::btree_map(0..IDS.len(), prop::option::of(0..4_usize), 0..4);
    (
        ([prop::bool::weighted(0.8), prop::bool::weighted(0.8)], (0..4_u64, 0..60_u8), prop::option::of(0..12_usize)),
        (
            allow,
            prop::collection::btree_set(0..IDS.len(), 0..12),
            any::<bool>(),
            prop_oneof![3 => Just(BTreeSet::new()), 1 => ids()],
        ),
        (prop_oneof![2 => Just(BTreeSet::new()), 1 => ids()], prop::bool::weighted(0.1), any::<bool>()),
    )
        .prop_map(
            |((prune, budget, deletes), (mut allow, adopt, pattern, release), (wanted, unreadable, permit))| {
                // What is let go and then of nobody's can go along with a Namespace next time: two wishes, two plans.
                if !release.is_empty() {
                    allow.clear();
                }
                Flags { prune, budget, deletes, allow, adopt, pattern, release, wanted, unreadable, permit }
            },
        )
}

fn story() -> impl Strategy<Value = Story> {
    (prop::collection::vec(step(), 1..9), [declared(), declared()], 0..5_u8, flags())
        .prop_map(|(steps, last, planned, flags)| Story { steps, last, planned, flags })
}

fn sources(of: &[Declared; 2], planned: u8, number: u8, target: &Model) -> Vec<Source> {
    let names = ["one", "two"];
    let wanted = (0..2).filter(|at| planned >= 2 || usize::from(planned) == *at);
    wanted
        .map(|at| {
            let mut source = Source::new(names[at]);
            source.spec.namespaces = Namespaces::Any;
            let serves = |at: usize| IDS[at].starts_with("Widget");
            let mut of_this = of[at].clone();
            if planned >= 3 && at == 1 {
                of_this.retain(|at, _| !of[0].contains_key(at));
            }
            let served = of_this.contains_key(&10) || target.objects.contains_key(&id(IDS[10]));
            let needs_team = of_this.keys().any(|at| id(IDS[*at]).namespace.as_deref() == Some("team"));
            if needs_team
                && !target.objects.contains_key(&id(IDS[5]))
                && !(planned >= 2 && at == 1 && of[0].contains_key(&5))
            {
                of_this.insert(5, 0);
            }
            let objects = of_this.iter().filter(|(at, _)| served || !serves(**at)).map(|(at, form)| object(*at, *form));
            source.at(number, objects.collect::<Vec<_>>())
        })
        .collect()
}

fn hand(target: &mut Model, what: u8, at: usize, other: usize) {
    let (of, other) = (id(IDS[at]), id(IDS[other]));
    let exists = target.objects.contains_key(&of);
    let marks = |target: &Model, source: &str, of| {
        target.sources.contains_key(&Source::new(source).id()).then(|| Source::new(source).mark(of).to_string())
    };
    match what {
        0 if of.kind != "Widget" || target.objects.contains_key(&id(IDS[10])) => {
            let mut new = object(at, 1);
            new["metadata"].as_object_mut().unwrap().remove("annotations");
            if !exists {
                target.put(new, "hand");
            }
        }
        1 if exists && of.kind == "ConfigMap" => target.edit(&of, "hand", |o| o["data"] = json!({"v": "1", "w": "x"})),
        1 if exists => target.edit(&of, "hand", |o| o["metadata"]["labels"] = json!({"v": "by-hand"})),
        2 if exists => target.recreate(&of),
        3 if exists => target.mark(&of, None),
        4 if exists => target.mark(&of, Some("nonsense")),
        5 if exists => {
            // A mark that was copied from another object.
            let text = target
                .objects
                .get(&other)
                .and_then(|o| o["metadata"]["annotations"][OWNER_ANNOTATION].as_str().map(str::to_owned));
            if let Some(text) = text {
                target.mark(&of, Some(&text));
            }
        }
        6 | 7 if exists => {
            if let Some(text) = marks(target, if what == 6 { "one" } else { "two" }, &of) {
                target.mark(&of, Some(&text));
            }
        }
        8 => drop(target.delete(&of)),
        9 => target.inventories.values_mut().for_each(|i| drop(i.rows.remove(&of))),
        10 if exists
            && target.objects.contains_key(&other)
            && of != other
            && of.namespace.is_some()
            && of.namespace == other.namespace =>
        {
            let owner = target.objects[&other].clone();
            let controller = at.is_multiple_of(2);
            target.edit(&of, "hand", |o| {
                if o["metadata"]["ownerReferences"].as_array().is_none_or(|all| all.len() < 2) {
                    *o = owned_by(o.clone(), &owner, controller);
                }
            });
        }
        _ => {}
    }
}

fn told(story: &Story) -> World {
    let mut world = World::new(Model::with_namespaces(&["shop", "lab"]), []);
    for (number, step) in story.steps.iter().enumerate() {
        match step {
            Step::Hand { what, at, other } => hand(&mut world.target, *what, *at, *other),
            Step::Apply { sources: of, planned } => {
                let number = u8::try_from(number + 1).unwrap();
                world.sources = sources(of, *planned, number, &world.target);
                world.allowances = Allowances { deletes: Some(1000), ..Allowances::default() };
                if world.try_plan().is_ok() {
                    world.apply();
                }
            }
        }
    }
    let flags = &story.flags;
    world.sources = sources(&story.last, story.planned, 99, &world.target);
    for (source, prune) in world.sources.iter_mut().zip(flags.prune) {
        source.spec.prune = prune;
        source.spec.prune_budget =
            holdfast::source::spec::PruneBudget { objects: flags.budget.0, percent: flags.budget.1 };
        if !flags.permit {
            source.spec.permit_in_git.clear();
        }
    }
    let text = |at: &usize| IDS[*at].to_owned();
    let allow = flags.allow.iter().map(|(at, n)| n.map_or_else(|| text(at), |n| format!("{}={n}", IDS[*at])));
    let mut adopt: Vec<String> = flags.adopt.iter().map(text).collect();
    adopt.extend(flags.pattern.then(|| "ConfigMap/shop/*".to_owned()));
    world.allowances = Allowances {
        deletes: flags.deletes,
        allow: allow.collect(),
        adopt,
        adoptions: flags.pattern.then_some(2),
        adopt_from: Vec::new(),
        take_over: Vec::new(),
        release: flags.release.iter().map(text).collect(),
        waive_dry_run: Vec::new(),
    };
    let wanted: Vec<&str> = flags.wanted.iter().map(|at| IDS[*at]).collect();
    world.with_other("third", if flags.unreadable { Err("gone") } else { Ok(wanted) })
}

/// The three proofs, read off the objects themselves.
fn is_proven(world: &World, plan: &PlanDocument, at: usize) -> bool {
    let change = &plan.changes[at];
    let source = world.sources.iter().find(|s| s.spec.name == change.source).unwrap();
    let Some(object) = world.target.objects.get(&change.id) else { return false };
    let mark = object["metadata"]["annotations"][OWNER_ANNOTATION].as_str().unwrap_or_default();
    let inventory = world.target.inventory(&source.id()).unwrap();
    let row = inventory.row(&change.id);
    let mut words = mark.split(' ');
    words.next() == Some(source.id().as_str())
        && words.next() == Some(change.id.to_string().as_str())
        && row.is_some_and(|row| object["metadata"]["uid"] == row.uid.as_str())
}

fn keeps_its_promises(world: &World) -> Result<(), TestCaseError> {
    let refused = match world.try_plan() {
        Ok(plan) => {
            check_plan(world, &plan)?;
            return Ok(());
        }
        Err(refused) => refused,
    };
    prop_assert!(!refused.0.is_empty());
    prop_assert_eq!(refused.rules(), world.try_plan().unwrap_err().rules());
    Ok(())
}

fn check_plan(world: &World, plan: &PlanDocument) -> Result<(), TestCaseError> {
    let bytes = holdfast::plan::stored::write(plan).unwrap();
    prop_assert_eq!(&bytes, &holdfast::plan::stored::write(&world.plan()).unwrap());
    prop_assert!(!String::from_utf8_lossy(&bytes).contains("s3cret"));
    prop_assert_eq!(&holdfast::plan::stored::read(&bytes).unwrap(), plan);
    for (at, change) in plan.changes.iter().enumerate() {
        if change.action == Action::Delete {
            prop_assert!(is_proven(world, plan, at), "{} is deleted without proof", change.id);
            let named = world.sources.iter().any(|s| {
                s.files.iter().any(|(_, text)| crate::target::id_of(&serde_json::from_str(text).unwrap()) == change.id)
            });
            prop_assert!(!named, "{} is deleted although it is declared", change.id);
        }
        if matches!(change.action, Action::Update | Action::Own | Action::Replace) {
            prop_assert!(is_proven(world, plan, at), "{} is written without proof", change.id);
        }
    }
    let listed: BTreeSet<_> = plan.changes.iter().map(|c| &c.id).chain(plan.unchanged.iter().map(|u| &u.id)).collect();
    prop_assert_eq!(listed.len(), plan.changes.len() + plan.unchanged.len());
    for source in &world.sources {
        for row in world.target.inventory(&source.id()).unwrap().rows.keys() {
            prop_assert!(listed.contains(row), "{row} is in no list");
        }
    }
    let mut after = world.clone();
    after.apply();
    // Nothing went that the plan didn't say.
    let said: BTreeSet<_> = plan
        .changes
        .iter()
        .filter(|c| c.action == Action::Delete)
        .flat_map(|c| c.holds.iter().chain([&c.id]))
        .collect();
    for id in world.target.objects.keys().filter(|id| !after.target.objects.contains_key(*id)) {
        prop_assert!(said.contains(id), "{id} went unsaid");
    }
    match after.try_plan() {
        Ok(next) => {
            let pending: Vec<String> = next
                .changes
                .iter()
                .filter(|c| c.action.is_pending() || c.action == Action::Own)
                .map(|c| format!("{} {}", c.action.as_str(), c.id))
                .collect();
            prop_assert!(pending.is_empty(), "pending after an apply of {:?}: {pending:?}", acts(plan));
        }
        Err(refused) => prop_assert!(false, "refused after an apply of {:?}: {:?}", acts(plan), refused.rules()),
    }
    // A plan that holds is not stale, and one that was applied can't be taken for the next.
    prop_assert!(holdfast::plan::binding::moved(plan, &world.plan()).is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_of_any_world_keeps_its_promises(story in story()) {
        keeps_its_promises(&told(&story))?;
    }
}

/// The stories must reach what they are about: else the property above says nothing.
#[test]
fn random_worlds_reach_every_action() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut seen, mut planned) = (BTreeMap::<String, usize>::new(), 0);
    for _ in 0..1000 {
        let story = story().new_tree(&mut runner).unwrap().current();
        match told(&story).try_plan() {
            Ok(plan) => {
                planned += 1;
                for change in &plan.changes {
                    let rule = change.rule.as_deref().unwrap_or("");
                    *seen.entry(format!("{} {rule}", change.action.as_str())).or_default() += 1;
                }
            }
            Err(refused) => refused.0.iter().for_each(|f| *seen.entry(f.rule.as_str().to_owned()).or_default() += 1),
        }
    }
    for expected in [
        "create ",
        "update ",
        "own ",
        "replace ",
        "delete ",
        "adopt ",
        "transfer ",
        "release already-gone",
        "release released",
        "keep prune-off",
        "keep protected-delete",
        "keep uid-mismatch",
        "keep owner-mismatch",
        "keep wanted-by-other",
        "keep prune-keep",
        "keep used-object",
        "exists-unowned",
        "owned-by-other",
        "delete-budget",
        "duplicate-object",
        "immutable-field",
    ] {
        assert!(seen.contains_key(expected), "never {expected}: {seen:?}");
    }
    assert!(planned > 60, "{planned} of 1000 are planned: {seen:?}");
}
