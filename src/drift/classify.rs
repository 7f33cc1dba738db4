//! One object's drift, from what was seen of it.

use std::sync::Arc;

use serde_json::Value;

use super::blame::{Blame, blame};
use super::contest::contest;
use super::episode::overlaps;
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
    let of = |path: &Pointer| {
        let blame = blame(log, live, path);
        let origin = if subject.emergency.iter().any(|place| overlaps(place, path)) {
            Origin::Emergency
        } else if blame.who.is_some() {
            Origin::Manual
        } else {
            Origin::Accidental
        };
        (blame, origin)
    };
    let whole = Pointer::root();
    let mut contested = None;
    let (mut fields, mut about) = (Vec::new(), (Blame::default(), Origin::Accidental));
    if is_ours {
        for field in subject.fields {
            let (blame, origin) = of(&field.path);
            let Field { path, before, after } = field.clone();
            let (live, declared) = (before.map(Arc::unwrap_or_clone), after.map(Arc::unwrap_or_clone));
            let contest = contest(log, &path);
            fields.push(DriftedField { path, declared, live, origin, blame, contest });
        }
        if let Some(last) = fields.iter().max_by_key(|field| field.blame.at) {
            about = (last.blame.clone(), last.origin);
        }
    } else {
        let mark = Pointer::of(["metadata", "annotations", OWNER_ANNOTATION]);
        about = match standing {
            Standing::MarkRemoved | Standing::MarkDamaged | Standing::TakenOver { .. } => of(&mark),
            _ => of(&whole),
        };
        contested = contest(log, &whole);
    }
    let (blame, origin) = about;
    let (file, line, id, uid) = (subject.file, subject.line, id.clone(), uid.cloned());
    Some(Drifted { id, uid, file, line, standing, origin, blame, contest: contested, fields })
}
