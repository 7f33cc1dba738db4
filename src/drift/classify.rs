//! One object's drift, from what was seen of it.

use std::sync::Arc;

use serde_json::Value;

use super::blame::{Blame, Holders, blame_in};
use super::contest::contest_in;
use super::episode::episodes;
use super::finding::{Drifted, DriftedField, Origin};
use super::standing::Standing;
use crate::base::ids::ObjectUid;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::inventory::OWNER_ANNOTATION;
use crate::plan::document::Field;
use crate::target::LogLine;

/// What there is to say of one declared object that isn't as it was applied.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// The resource.
    pub id: &'a ResourceId,
    /// The live object's UID.
    pub uid: Option<&'a ObjectUid>,
    /// The file that declares it.
    pub file: String,
    /// The line where its document starts.
    pub line: u32,
    /// Whose it is.
    pub standing: Standing,
    /// The fields that a plan at the last applied commit would change, sensitive values masked.
    pub fields: &'a [Field],
    /// The live object.
    pub live: Option<&'a Value>,
    /// Every write of it, newest first.
    pub log: &'a [LogLine],
    /// What was written while the Source was paused; the root pointer stands for the whole object.
    pub emergency: &'a [Pointer],
}

/// Says how an object drifted; `None` if it didn't.
pub fn classify(subject: Subject<'_>) -> Option<Drifted> {
    let Subject { id, uid, standing, log, live, .. } = subject;
    let is_ours = standing == Standing::Ours;
    if is_ours && subject.fields.is_empty() {
        return None;
    }
    let holders = Holders::of(live);
    let of = |path: &Pointer| {
        let episodes = episodes(log, path);
        let blame = blame_in(&episodes, &holders, path);
        let origin = if subject.emergency.iter().any(|place| place.overlaps(path)) {
            Origin::Emergency
        } else if blame.who.is_some() {
            Origin::Manual
        } else {
            Origin::Accidental
        };
        (blame, origin, contest_in(&episodes))
    };
    let mut contested = None;
    let (mut fields, mut about) = (Vec::new(), (Blame::default(), Origin::Accidental));
    if is_ours {
        for field in subject.fields {
            let (blame, origin, contest) = of(&field.path);
            let Field { path, before, after } = field.clone();
            let (live, declared) = (before.map(Arc::unwrap_or_clone), after.map(Arc::unwrap_or_clone));
            fields.push(DriftedField { path, declared, live, origin, blame, contest });
        }
        if let Some(last) = fields.iter().max_by_key(|field| field.blame.at) {
            about = (last.blame.clone(), last.origin);
        }
    } else {
        let (blame, origin, contest) = of(&Pointer::root());
        (about, contested) = ((blame, origin), contest);
        if matches!(standing, Standing::MarkRemoved | Standing::MarkDamaged | Standing::TakenOver { .. }) {
            let (blame, origin, _) = of(&Pointer::of(["metadata", "annotations", OWNER_ANNOTATION]));
            about = (blame, origin);
        }
    }
    let (blame, origin) = about;
    let (file, line, id, uid) = (subject.file, subject.line, id.clone(), uid.cloned());
    Some(Drifted { id, uid, file, line, standing, origin, blame, contest: contested, fields })
}
