//! Which histories are tried: single steps by how much they move, and stories of steps that belong together.

use proptest::prelude::*;

use super::step::{DEATHS, Data, Given, Job, Manifest, MarkEdit, Name, Res, Side, Step, What, Who};

fn side() -> impl Strategy<Value = Side> {
    prop::sample::select(Side::BOTH.to_vec())
}

fn res() -> impl Strategy<Value = Res> {
    prop::sample::select(Res::ALL.to_vec())
}

/// What a Source mostly declares: two that want the same all the time would come to nothing.
fn res_of(side: Side) -> impl Strategy<Value = Res> {
    let (more, less) = match side {
        Side::Alpha => ([Res::X, Res::Y, Res::Claim], Res::Z),
        Side::Beta => ([Res::Z, Res::Z, Res::Claim], Res::Y),
    };
    prop_oneof![4 => prop::sample::select(more.to_vec()), 1 => Just(less), 1 => res()]
}

fn one(side: Side, alone: bool) -> Who {
    if alone { Who::Alone(side) } else { Who::One(side) }
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        5 => side().prop_map(Who::One),
        2 => side().prop_map(Who::Alone),
        3 => Just(Who::Both),
    ]
}

fn job() -> impl Strategy<Value = Job> {
    let single = (side(), any::<bool>()).prop_map(|(side, alone)| one(side, alone));
    let own = prop::sample::select(vec![What::Orphan, What::Prune, What::Rebuild, What::Rebuild]);
    prop_oneof![
        16 => who().prop_map(|who| Job { what: What::Apply, who }),
        3 => who().prop_map(|who| Job { what: What::Repair, who }),
        2 => (own, single).prop_map(|(what, who)| Job { what, who }),
    ]
}

fn key() -> impl Strategy<Value = char> {
    prop::sample::select(vec!['a', 'b', 'c'])
}

/// A name of a Source's other side, mostly the first.
fn name_of(side: Side) -> impl Strategy<Value = Name> {
    let [first, second] = side.names();
    prop_oneof![5 => Just(first), 1 => Just(second)]
}

fn manifest(side: Side) -> impl Strategy<Value = Manifest> {
    let data = prop::collection::btree_map(key(), 0u8..3, 0..3);
    let wave = prop_oneof![4 => Just(0i8), 1 => Just(-1i8), 1 => Just(1i8)];
    let named = || prop::option::weighted(0.2, name_of(side.other()));
    (data, wave, named(), named()).prop_map(|(data, wave, release, from)| Manifest { data, wave, release, from })
}

fn given() -> impl Strategy<Value = Given> {
    let often = || proptest::bool::weighted(0.65);
    (often(), often(), any::<bool>(), proptest::bool::weighted(0.1), proptest::bool::weighted(0.3))
        .prop_map(|(deletes, adopt, allow, release, from)| Given { deletes, adopt, allow, release, from })
}

fn mark() -> impl Strategy<Value = MarkEdit> {
    prop_oneof![
        20 => Just(MarkEdit::Keep),
        5 => Just(MarkEdit::Off),
        2 => res().prop_map(MarkEdit::Copy),
        1 => Just(MarkEdit::Garbage),
    ]
}

fn seconds() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![3, 8, 20])
}

/// Any step
pub fn step() -> impl Strategy<Value = Step> {
    let hand = 0u8..2;
    let declare = side().prop_flat_map(|side| (Just(side), res_of(side), manifest(side)));
    let killed = job().prop_map(|job| Job { who: job.who.sides().first().map_or(job.who, |s| one(*s, false)), ..job });
    let killed = (killed, any::<bool>()).prop_map(|(job, both)| match (job.what, both) {
        (What::Apply | What::Repair, true) => Job { who: Who::Both, ..job },
        _ => job,
    });
    prop_oneof![
        40 => declare.prop_map(|(side, res, manifest)| Step::Declare(side, res, manifest)),
        36 => (side(), res()).prop_map(|(side, res)| Step::Withdraw(side, res)),
        6 => side().prop_map(Step::Rewind),
        8 => (side(), proptest::bool::weighted(0.8)).prop_map(|(side, on)| Step::Prune(side, on)),
        76 => (job(), given()).prop_map(|(job, given)| Step::Apply(job, given)),
        8 => (0u8..2, job(), given()).prop_map(|(slot, job, given)| Step::Save(slot, job, given)),
        12 => (0u8..2).prop_map(Step::ApplySaved),
        4 => (job(), given()).prop_map(|(job, given)| Step::Cut(job, given)),
        1 => (killed, prop::sample::select(DEATHS.to_vec())).prop_map(|(job, at)| Step::Kill(job, at)),
        1 => side().prop_map(Step::Tick),
        24 => (hand.clone(), res(), key(), prop::option::of(0u8..3), mark())
            .prop_map(|(hand, res, key, value, mark)| Step::Put(hand, res, key, value, mark)),
        6 => (hand.clone(), res()).prop_map(|(hand, res)| Step::Delete(hand, res)),
        7 => (hand, res()).prop_map(|(hand, res)| Step::Remake(hand, res)),
        6 => (side(), prop::option::weighted(0.7, seconds())).prop_map(|(side, until)| Step::Pause(side, until)),
        10 => (side(), any::<bool>()).prop_map(|(side, revert)| Step::Resume(side, revert)),
        3 => (side(), prop::option::of(0u8..3), prop::option::weighted(0.7, seconds()))
            .prop_map(|(side, back, until)| Step::Pin(side, back, until)),
        5 => side().prop_map(Step::Unpin),
        3 => side().prop_map(Step::Rename),
        5 => seconds().prop_map(Step::Wait),
    ]
}

fn apply(who: Who, given: Given) -> Step {
    Step::Apply(Job { what: What::Apply, who }, given)
}

/// Steps that belong together, which single ones seldom come by.
fn story() -> impl Strategy<Value = Vec<Step>> {
    let adopt = Given { adopt: true, deletes: true, ..Given::default() };
    let kept = (0u8..2, job(), given())
        .prop_map(|(slot, job, given)| vec![Step::Save(slot, job, given), Step::ApplySaved(slot)]);
    let emergency = (side(), res(), 0u8..2, key(), prop::option::of(0u8..3), any::<bool>());
    let emergency = emergency.prop_map(move |(side, res, hand, key, value, deleted)| {
        let put = if deleted { Step::Delete(hand, res) } else { Step::Put(hand, res, key, value, MarkEdit::Keep) };
        vec![Step::Pause(side, Some(3)), put, Step::Wait(3), apply(Who::One(side), adopt)]
    });
    let restored = (side(), res(), 0u8..2).prop_map(|(side, res, hand)| {
        let rebuild = Job { what: What::Rebuild, who: Who::One(side) };
        vec![Step::Remake(hand, res), Step::Apply(rebuild, Given::default())]
    });
    let handed = (side(), res(), any::<bool>()).prop_flat_map(move |(side, res, withdrawn)| {
        (manifest(side), manifest(side.other())).prop_map(move |(mut gives, mut takes)| {
            (gives.release, takes.from) = (Some(side.other().names()[0]), Some(side.names()[0]));
            let mut steps = vec![Step::Declare(side, res, gives), apply(Who::One(side), adopt)];
            steps.extend(withdrawn.then_some(Step::Withdraw(side, res)));
            steps.push(Step::Declare(side.other(), res, takes));
            steps.push(apply(Who::Alone(side.other()), Given::default()));
            steps
        })
    });
    let moved = (side(), res()).prop_flat_map(move |(side, res)| {
        manifest(side.other()).prop_map(move |manifest| {
            vec![
                apply(Who::One(side), adopt),
                Step::Withdraw(side, res),
                Step::Declare(side.other(), res, manifest),
                apply(Who::Both, adopt),
            ]
        })
    });
    // The loop brings back what a hand takes again.
    let contended = (side(), res(), 0u8..2, key()).prop_map(move |(side, res, hand, key)| {
        let declare =
            |value| Step::Declare(side, res, Manifest { data: Data::from([(key, value)]), ..Manifest::default() });
        let mut steps = vec![declare(0), apply(Who::One(side), adopt)];
        for _ in 0..4 {
            steps.extend([Step::Put(hand, res, key, Some(1), MarkEdit::Keep), Step::Tick(side)]);
        }
        steps.extend([declare(2), Step::Tick(side)]);
        steps
    });
    prop_oneof![10 => kept, 10 => emergency, 8 => restored, 8 => handed, 8 => moved, 1 => contended]
}

/// A history.
pub fn history(steps: usize) -> impl Strategy<Value = Vec<Step>> {
    let some = prop_oneof![20 => step().prop_map(|step| vec![step]), 1 => story()];
    prop::collection::vec(some, steps..=steps).prop_map(move |some| some.into_iter().flatten().take(steps).collect())
}
