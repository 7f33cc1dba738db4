//! What people and hands do outside of plans.

use holdfast::base::clock::{Clock as _, Moment};
use holdfast::inventory::{Actor, Controls, OWNER_ANNOTATION, Pause, Pin};
use holdfast::target::{ControlWrite, HistoryEntry, Target as _};
use serde_json::json;

use super::super::step::{Data, MarkEdit, Res, Side};
use super::objects::{object_of, values, values_mut};
use super::{Dump, Engine};

impl Engine {
    /// Somebody who sees what is live sets or takes off a value.
    pub fn put(&self, live: &Dump, hand: u8, (res, key): (Res, char), value: Option<u8>, mark: MarkEdit) {
        let mark_of = |res: Res| {
            let live = live.objects.get(&self.ids[&res])?;
            live.object.pointer("/metadata/annotations")?.get(OWNER_ANNOTATION).cloned()
        };
        let next = match mark {
            MarkEdit::Keep => mark_of(res),
            MarkEdit::Off => None,
            MarkEdit::Copy(from) => mark_of(from),
            MarkEdit::Garbage => Some(json!("nobody knows")),
        };
        let known = live.objects.get(&self.ids[&res]);
        let mut object = known.map_or_else(|| object_of(res, &Data::new()), |live| live.object.clone());
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("annotations");
        if let Some(mark) = next {
            metadata.insert("annotations".to_owned(), json!({ OWNER_ANNOTATION: mark }));
        }
        match value {
            // Nothing is written where there is nothing to take away, not even an empty map.
            None if !values(&object, res).contains_key(&key) => {}
            None => drop(values_mut(&mut object, res).remove(&key.to_string())),
            Some(value) => drop(values_mut(&mut object, res).insert(key.to_string(), json!(value.to_string()))),
        }
        self.store.hand(&format!("hand-{hand}")).put(&[object], self.clock.now()).unwrap();
    }

    pub fn delete(&self, hand: u8, res: Res) {
        let id = self.ids[&res].clone();
        self.store.hand(&format!("hand-{hand}")).delete(&[id], self.clock.now()).unwrap();
    }

    pub fn remake(&self, live: &Dump, hand: u8, res: Res) {
        let mut object = live.objects[&self.ids[&res]].object.clone();
        self.delete(hand, res);
        let metadata = object["metadata"].as_object_mut().unwrap();
        for key in ["uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"] {
            metadata.remove(key);
        }
        self.store.hand(&format!("hand-{hand}")).put(&[object], self.clock.now()).unwrap();
    }

    fn until(&self, seconds: Option<u8>) -> Option<Moment> {
        seconds.map(|seconds| Moment::from_millis(self.clock.now().as_millis() + i64::from(seconds) * 1000))
    }

    pub fn pause(&self, side: Side, seconds: Option<u8>) {
        let pause =
            Pause { by: lab(), reason: "an incident".to_owned(), at: self.clock.now(), until: self.until(seconds) };
        self.control(side, "pause", |was| was.begin_pause(pause.clone()));
    }

    pub fn resume(&self, side: Side, revert: bool) {
        let now = self.clock.now();
        self.control(side, "resume", |was| if revert { was.give_up(now) } else { was.end_pause(now) });
    }

    /// Pins a Source to the commit of a number.
    pub fn pin(&self, side: Side, commit: usize, seconds: Option<u8>) {
        let pin = Pin {
            commit: self.commit_id(commit).clone(),
            by: lab(),
            reason: "an incident".to_owned(),
            at: self.clock.now(),
            until: self.until(seconds),
        };
        self.control(side, "pin", |was| Controls { pin: Some(pin.clone()), ..was });
    }

    pub fn unpin(&self, side: Side) {
        self.control(side, "unpin", |was| Controls { pin: None, ..was });
    }

    fn control(&self, side: Side, operation: &str, change: impl Fn(Controls) -> Controls) {
        let (id, was) = {
            let reader = self.store.reader().unwrap();
            let id = self.source_id(side, reader.as_ref());
            let was = reader.controls(&id).unwrap();
            (id, was)
        };
        let entry = HistoryEntry {
            id: String::new(),
            at: self.clock.now(),
            actor: "lab".to_owned(),
            claimed: false,
            operation: operation.to_owned(),
            sources: vec![self.specs[&side].name.to_string()],
            commits: Vec::new(),
            plan: None,
            result: String::new(),
            objects: Vec::new(),
        };
        let becomes = change(was.clone());
        assert!(self.store.control(ControlWrite { source: id, was, becomes, entry, details: json!({}) }).unwrap());
    }
}

fn lab() -> Actor {
    Actor { proven: "lab".to_owned(), claimed: None }
}
