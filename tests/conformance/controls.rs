//! What people tell a target about a Source, what the loop remembers, and what the log says about pauses.

use holdfast::base::clock::Moment;
use holdfast::base::ids::SourceId;
use holdfast::inventory::{Actor, Controls, Emergency, LoopRecord, Pause, emergency};
use holdfast::target::{ControlWrite, History, HistoryEntry, LoopWrite};
use serde_json::{Value, json};

use super::build::{Shop, at, config, id, live, row_as_it_is};
use super::{Fixture, WAIT};

fn entry(operation: &str, at: Moment) -> HistoryEntry {
    HistoryEntry {
        id: String::new(),
        at,
        actor: "alice (claims to be ada)".into(),
        claimed: false,
        operation: operation.into(),
        sources: vec!["shop".into()],
        commits: vec![],
        plan: None,
        result: "until further notice".into(),
        objects: vec![],
    }
}

fn pause(at: Moment) -> Pause {
    let by = Actor { proven: "alice".into(), claimed: Some("ada".into()) };
    Pause { by, reason: "incident 7".into(), at, until: None }
}

fn change(on: &dyn Fixture, source: &SourceId, operation: &str, at: Moment, to: impl Fn(Controls) -> Controls) {
    let was = on.target().reader().unwrap().controls(source).unwrap();
    let becomes = to(was.clone());
    let write = ControlWrite {
        source: source.clone(),
        was,
        becomes,
        entry: entry(operation, at),
        details: json!({"reason": "incident 7"}),
    };
    assert!(on.target().control(write).unwrap());
}

pub(super) fn controls_stand_with_their_line_of_the_log(on: &dyn Fixture) {
    // Never applied: its ID is known all the same.
    let shop = Shop::new(on.target(), "shop");
    let other = Shop::new(on.target(), "other");
    assert_eq!(on.target().reader().unwrap().controls(&shop.source).unwrap(), Controls::default());
    change(on, &shop.source, "pause", at(1), |was| was.begin_pause(pause(at(1))));
    let reader = on.target().reader().unwrap();
    assert_eq!(reader.controls(&shop.source).unwrap().paused(at(2)), Some(&pause(at(1))));
    assert_eq!(reader.controls(&other.source).unwrap(), Controls::default());
    let newest = reader.history(&History { limit: 1 }).unwrap().remove(0);
    assert_eq!((newest.operation.as_str(), newest.actor.as_str()), ("pause", "alice (claims to be ada)"));
    assert_eq!(reader.receipt(&newest.id).unwrap().unwrap().1, json!({"reason": "incident 7"}));
}

pub(super) fn controls_that_somebody_else_changed(on: &dyn Fixture) {
    let shop = Shop::new(on.target(), "shop");
    let was = on.target().reader().unwrap().controls(&shop.source).unwrap();
    change(on, &shop.source, "pause", at(1), |was| was.begin_pause(pause(at(1))));
    let becomes = was.clone().begin_pause(pause(at(2)));
    let write =
        ControlWrite { source: shop.source.clone(), was, becomes, entry: entry("pause", at(2)), details: json!({}) };
    assert!(!on.target().control(write).unwrap());
    let reader = on.target().reader().unwrap();
    assert_eq!(reader.controls(&shop.source).unwrap().pause, Some(pause(at(1))));
    assert_eq!(reader.history(&History { limit: 10 }).unwrap().iter().filter(|e| e.operation == "pause").count(), 1);
}

pub(super) fn what_is_told_of_a_removed_source(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let writer = on.target().writer(std::slice::from_ref(&shop.source), WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    shop.remove(&mut batch, writer.reader(), &id("ConfigMap/shop/a"), &[]);
    batch.sources[0].record.removed_at = Some(batch.at);
    writer.commit(batch.into()).unwrap();
    let write = ControlWrite {
        source: shop.source.clone(),
        was: Controls::default(),
        becomes: Controls::default().begin_pause(pause(at(9))),
        entry: entry("pause", at(9)),
        details: json!({}),
    };
    assert!(!on.target().control(write).unwrap());
    let reader = on.target().reader().unwrap();
    assert_eq!(reader.controls(&shop.source).unwrap(), Controls::default());
    assert!(reader.history(&History { limit: 10 }).unwrap().iter().all(|entry| entry.operation != "pause"));
}

pub(super) fn a_pause_moves_the_revision(on: &dyn Fixture) {
    let shop = Shop::new(on.target(), "shop");
    let revision = || on.target().reader().unwrap().revision().unwrap();
    let Some(before) = revision() else { return };
    change(on, &shop.source, "pause", at(1), |was| was.begin_pause(pause(at(1))));
    let paused = revision().unwrap();
    assert_ne!(paused, before);
    let becomes = LoopRecord { retry_asked: Some(at(2)), ..LoopRecord::default() };
    let was = LoopRecord::default();
    assert!(
        on.target().note_loop(LoopWrite { source: shop.source.clone(), was, becomes, entry: None }).unwrap(),
        "nobody wrote it before"
    );
    assert_eq!(revision().unwrap(), paused, "a loop that takes note of what it saw makes no plan stale");
}

pub(super) fn what_the_loop_remembers_is_not_written_over(on: &dyn Fixture) {
    let shop = Shop::new(on.target(), "shop");
    let reader = || on.target().reader().unwrap();
    let was = reader().loop_record(&shop.source).unwrap();
    assert_eq!(was, LoopRecord::default());
    let asked = LoopRecord { retry_asked: Some(at(1)), ..LoopRecord::default() };
    let source = shop.source.clone();
    let retry = (entry("retry", at(1)), json!({}));
    let write = |was: &LoopRecord, becomes: &LoopRecord, entry: Option<(HistoryEntry, Value)>| LoopWrite {
        source: source.clone(),
        was: was.clone(),
        becomes: becomes.clone(),
        entry,
    };
    assert!(on.target().note_loop(write(&was, &asked, Some(retry))).unwrap());
    let seen = LoopRecord { seen_at: Some(at(2)), ..LoopRecord::default() };
    assert!(!on.target().note_loop(write(&was, &seen, None)).unwrap(), "the retry would be lost");
    assert_eq!(reader().loop_record(&shop.source).unwrap(), asked);
    assert!(on.target().note_loop(write(&asked, &seen, None)).unwrap());
    assert_eq!(reader().loop_record(&shop.source).unwrap(), seen);
    assert_eq!(reader().history(&History { limit: 1 }).unwrap()[0].operation, "retry");
}

fn put_value(on: &dyn Fixture, key: &str, value: &str) {
    let mut object = live(on.target(), &id("ConfigMap/shop/a")).unwrap().object;
    object["data"][key] = value.into();
    on.put("bob", &object);
}

pub(super) fn the_log_tells_applies_from_other_hands(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    put_value(on, "v", "2");
    let lines = on.target().reader().unwrap().log(&id("ConfigMap/shop/a")).unwrap();
    let told: Vec<(&str, bool)> = lines.iter().map(|line| (line.actor.as_str(), line.applied)).collect();
    assert_eq!(told, [("bob", false), ("alice", true)]);
}

fn found(on: &dyn Fixture, shop: &Shop) -> Emergency {
    let named = id("ConfigMap/shop/a");
    let reader = on.target().reader().unwrap();
    let controls = reader.controls(&shop.source).unwrap();
    let live = live(on.target(), &named).map(|live| live.object);
    let row = reader.inventory(&shop.source).unwrap().row(&named).unwrap().clone();
    emergency(&controls, &row, live.as_ref(), &reader.log(&named).unwrap())
}

fn paths(emergency: &Emergency) -> Vec<&str> {
    emergency.fields.iter().map(|change| change.path.as_str()).collect()
}

/// The moment of the last line of the log: the fixture's hand has a clock of its own.
fn last(on: &dyn Fixture) -> Moment {
    on.target().reader().unwrap().log(&id("ConfigMap/shop/a")).unwrap()[0].at
}

fn later(moment: Moment) -> Moment {
    Moment::from_millis(moment.as_millis() + 1)
}

pub(super) fn emergency_until_it_is_in_git(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    put_value(on, "v", "by hand");
    assert!(found(on, &shop).is_empty(), "there was no pause");
    put_value(on, "v", "in the pause");
    let written = last(on);
    change(on, &shop.source, "pause", written, |was| was.begin_pause(pause(written)));
    assert_eq!(paths(&found(on, &shop)), ["/data/v"]);
    change(on, &shop.source, "resume", written, |was| was.end_pause(later(written)));
    assert_eq!(paths(&found(on, &shop)), ["/data/v"], "the end of the pause doesn't end it");
    assert_eq!(found(on, &shop).fields[0].actor, "bob");
    // An apply that leaves it alone doesn't end it either; one that declares it does.
    row_as_it_is(&mut shop, on.target(), &config("a", "1"), &["w"], true);
    assert_eq!(paths(&found(on, &shop)), ["/data/v"]);
    row_as_it_is(&mut shop, on.target(), &config("a", "in the pause"), &["v"], false);
    assert!(found(on, &shop).is_empty());
}

pub(super) fn an_emergency_delete_is_told(on: &dyn Fixture) {
    if !on.remembers_deletes() {
        println!("skipped: this control plane doesn't remember who deleted what");
        return;
    }
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let named = id("ConfigMap/shop/a");
    on.delete("bob", &named);
    let deleted = last(on);
    assert!(found(on, &shop).is_empty(), "there was no pause");
    change(on, &shop.source, "pause", deleted, |was| was.begin_pause(pause(deleted)));
    let told = found(on, &shop).deleted.unwrap();
    assert_eq!((told.path.is_root(), told.actor.as_str(), told.at), (true, "bob", deleted));
    change(on, &shop.source, "resume", deleted, |was| was.give_up(deleted));
    assert!(found(on, &shop).is_empty(), "given up");
    on.put("bob", &config("a", "2"));
    assert!(found(on, &shop).is_empty());
}
