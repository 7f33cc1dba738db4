//! What a plan is called: digests over all of it, and over what it would do.

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::document::{ChangeEntry, Field, PlanDocument, SourceEntry, UnchangedEntry, WarningEntry};
use crate::base::digest::{Hasher, canonical, string};
use crate::base::ids::{ContentId, Digest, ObjectUid, PlanId, SourceName};
use crate::base::resource::ResourceId;

/// A part of a plan that has no JSON form; no plan that this build can make has one.
#[derive(Debug, thiserror::Error)]
#[error("the plan can't be written as JSON")]
pub struct NoForm(#[from] serde_json::Error);

/// Stands where a plan has no name yet.
pub fn unnamed() -> Digest {
    Digest::from_hex("0".repeat(64))
}

/// Names a plan.
///
/// PlanId: SHA-256 over the canonical form of the document but `planId`, `contentId` and `createdAt`. ContentId: the same
/// without commits, serials and places; only where a Change writes sensitive values do its Source's commit and its file
/// stay in, for nothing else binds them.
///
/// # Errors
/// If a part of it has no JSON form.
pub fn name(plan: &PlanDocument) -> Result<(PlanId, ContentId), NoForm> {
    // Keys in their sorted order, as `canonical` would write them.
    let mut names = Names::default();
    names.value("{\"allowances\":", &serde_json::to_value(&plan.allowances)?);
    names.both(",\"changes\":[");
    names.list(&plan.changes, |change| change_forms(change, &plan.sources))?;
    names.value("],\"formatVersion\":", &Value::from(plan.format_version));
    names.both(",\"sources\":[");
    names.list(&plan.sources, |source| stripped(source, STATE))?;
    names.value("],\"summary\":", &serde_json::to_value(plan.summary)?);
    names.value(",\"target\":", &serde_json::to_value(&plan.target)?);
    names.both(",\"unchanged\":[");
    names.list(&plan.unchanged, |entry| {
        let form = unchanged_form(entry);
        Ok((form.clone(), form))
    })?;
    names.value("],\"waivers\":", &serde_json::to_value(&plan.waivers)?);
    names.both(",\"warnings\":[");
    let pairs = plan.warnings.iter().map(|warning| stripped(warning, PLACE)).collect::<Result<Vec<_>, _>>()?;
    let (whole, mut content): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    // They stand in the order of their places, which no longer count.
    content.sort();
    names.whole.entries(whole.iter());
    names.content.entries(content.iter());
    names.both("]}");
    Ok((PlanId::new(&names.whole.hasher.finish()), ContentId::new(&names.content.hasher.finish())))
}

/// What a Source's entry says of the state that it was planned in.
const STATE: &[&str] = &["commit", "applied", "inventorySerial", "origin", "preview", "rewind"];
/// Where a warning points to.
const PLACE: &[&str] = &["file", "line"];

/// The form as it is, and the form of the content.
type Pair = (Vec<u8>, Vec<u8>);

/// The two digests as they are taken: of a large plan there is never more in memory than some entries.
#[derive(Default)]
struct Names {
    whole: Taken,
    content: Taken,
}

/// Entries that are formed at a time.
const AT_A_TIME: usize = 512;

impl Names {
    fn both(&mut self, text: &str) {
        self.whole.text(text.as_bytes());
        self.content.text(text.as_bytes());
    }

    fn value(&mut self, before: &str, value: &Value) {
        let mut out = before.as_bytes().to_vec();
        canonical(value, &mut out);
        self.whole.text(&out);
        self.content.text(&out);
    }

    /// Takes in the entries of a list. Some are formed, on all cores, while those before them are taken in.
    fn list<T: Sync>(
        &mut self,
        entries: &[T],
        forms: impl Fn(&T) -> Result<Pair, serde_json::Error> + Sync,
    ) -> Result<(), NoForm> {
        let mut formed: Vec<Pair> = Vec::new();
        for some in entries.chunks(AT_A_TIME) {
            let next = || some.par_iter().with_min_len(16).map(&forms).collect::<Result<Vec<Pair>, _>>();
            let ((), next) = rayon::join(|| self.pairs(&formed), next);
            formed = next?;
        }
        self.pairs(&formed);
        Ok(())
    }

    fn pairs(&mut self, pairs: &[Pair]) {
        let Self { whole, content } = self;
        rayon::join(
            || whole.entries(pairs.iter().map(|(form, _)| form)),
            || content.entries(pairs.iter().map(|(_, form)| form)),
        );
    }
}

/// A digest of JSON.
#[derive(Default)]
struct Taken {
    hasher: Hasher,
    /// Whether an entry of the list that is open was taken in.
    follows: bool,
}

impl Taken {
    fn text(&mut self, text: &[u8]) {
        self.hasher.update(text);
        self.follows = false;
    }

    fn entries<'p>(&mut self, entries: impl Iterator<Item = &'p Vec<u8>>) {
        for entry in entries {
            if self.follows {
                self.hasher.update(b",");
            }
            self.hasher.update(entry);
            self.follows = true;
        }
    }
}

/// A small entry, and the same without some keys.
fn stripped<T: Serialize>(entry: &T, keys: &[&str]) -> Result<Pair, serde_json::Error> {
    let mut value = serde_json::to_value(entry)?;
    let (mut whole, mut content) = (Vec::with_capacity(256), Vec::with_capacity(256));
    canonical(&value, &mut whole);
    remove(&mut value, keys);
    canonical(&value, &mut content);
    Ok((whole, content))
}

/// A Change, as it is and as content.
fn change_forms(change: &ChangeEntry, sources: &[SourceEntry]) -> Result<Pair, serde_json::Error> {
    let fields = fields_form(&change.fields);
    let whole = change_form(change, &fields, Places::Kept)?;
    let commit = || sources.iter().find(|source| source.name == change.source).map(|source| source.commit.as_str());
    let content = change_form(change, &fields, Places::Out { commit: change.sensitive.then(commit).flatten() })?;
    Ok((whole, content))
}

/// What becomes of where a Change is declared.
#[derive(Clone, Copy)]
enum Places<'a> {
    Kept,
    /// Left out, but the file of a Change that writes sensitive values: that and this commit bind those.
    Out {
        commit: Option<&'a str>,
    },
}

/// A Change in canonical form, written key by key: a plan may have tens of thousands, and their fields hold whole objects.
fn change_form(change: &ChangeEntry, fields: &[u8], places: Places<'_>) -> Result<Vec<u8>, serde_json::Error> {
    // Taken apart, so that a key that is added can't be forgotten here.
    let ChangeEntry {
        action,
        id,
        source,
        from,
        file,
        line,
        wave,
        undo,
        fields: _,
        rule,
        reason,
        holds,
        keepers,
        taken,
        left,
        dropped_defaults,
        rewritten,
        warnings,
        admitted,
        uid,
        seen,
        declared,
        sensitive,
    } = change;
    let (commit, file, line) = match places {
        Places::Kept => (None, file.as_deref(), *line),
        Places::Out { commit } => (commit, file.as_deref().filter(|_| *sensitive), None),
    };
    let mut map = Keys::with_room(fields.len() + 768);
    map.text("action", action.as_str());
    // By whom it was admitted is no content: who only reads plans the same.
    if matches!(places, Places::Kept) {
        map.value("admitted", &serde_json::to_value(admitted)?);
    }
    map.some("commit", commit);
    map.some("declared", declared.as_ref().map(Digest::as_str));
    map.list("droppedDefaults", dropped_defaults)?;
    map.raw("fields", fields);
    map.some("file", file);
    map.some("from", from.as_ref().map(SourceName::as_str));
    map.list("holds", holds)?;
    map.raw("id", &id_form(id));
    map.list("keepers", keepers)?;
    map.list("left", left)?;
    if let Some(line) = line {
        map.value("line", &Value::from(line));
    }
    map.some("reason", reason.as_deref());
    // What the target makes of it is its own word, and nothing of what is reviewed.
    if matches!(places, Places::Kept) {
        map.raw("rewritten", &fields_form(rewritten));
    }
    map.some("rule", rule.as_deref());
    map.some("seen", seen.as_ref().map(Digest::as_str));
    if *sensitive {
        map.value("sensitive", &Value::Bool(true));
    }
    map.text("source", source.as_str());
    map.list("taken", taken)?;
    map.some("uid", uid.as_ref().map(ObjectUid::as_str));
    map.value("undo", &serde_json::to_value(undo)?);
    match places {
        Places::Kept => map.list("warnings", warnings)?,
        Places::Out { .. } => map.raw("warnings", &placeless(warnings)?),
    }
    map.value("wave", &Value::from(*wave));
    Ok(map.finish())
}

/// Warnings without their places, in whose order they stand, too; nothing if there are none, for then the key is absent.
fn placeless(warnings: &[WarningEntry]) -> Result<Vec<u8>, serde_json::Error> {
    if warnings.is_empty() {
        return Ok(Vec::new());
    }
    let mut forms = warnings.iter().map(|w| Ok(stripped(w, PLACE)?.1)).collect::<Result<Vec<_>, _>>()?;
    forms.sort();
    let mut out = vec![b'['];
    out.extend(forms.join(&b','));
    out.push(b']');
    Ok(out)
}

/// A map in canonical form as it is written; whoever writes it gives the keys in their order.
struct Keys(Vec<u8>);

impl Keys {
    fn with_room(bytes: usize) -> Self {
        let mut out = Vec::with_capacity(bytes);
        out.push(b'{');
        Self(out)
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        string(key, &mut self.0);
        self.0.push(b':');
        &mut self.0
    }

    fn text(&mut self, key: &str, text: &str) {
        string(text, self.key(key));
    }

    fn some(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    fn value(&mut self, key: &str, value: &Value) {
        canonical(value, self.key(key));
    }

    /// A list, unless it is empty.
    fn list<T: Serialize>(&mut self, key: &str, list: &[T]) -> Result<(), serde_json::Error> {
        if !list.is_empty() {
            self.value(key, &serde_json::to_value(list)?);
        }
        Ok(())
    }

    /// What has its form already, unless that is nothing.
    fn raw(&mut self, key: &str, form: &[u8]) {
        if !form.is_empty() {
            self.key(key).extend_from_slice(form);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// The fields of a Change as a list; nothing if there are none, for then the key is absent.
fn fields_form(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::with_capacity(fields.len() * 256);
    for (index, Field { path, before, after }) in fields.iter().enumerate() {
        out.push(if index == 0 { b'[' } else { b',' });
        out.push(b'{');
        for (name, value) in [("after", after), ("before", before)] {
            if let Some(value) = value {
                string(name, &mut out);
                out.push(b':');
                canonical(value, &mut out);
                out.push(b',');
            }
        }
        out.extend_from_slice(b"\"path\":");
        string(path.as_str(), &mut out);
        out.push(b'}');
    }
    if !fields.is_empty() {
        out.push(b']');
    }
    out
}

/// What stays as it is has nothing to strip.
fn unchanged_form(entry: &UnchangedEntry) -> Vec<u8> {
    let UnchangedEntry { id, source, uid, seen, declared } = entry;
    let mut map = Keys::with_room(448);
    map.text("declared", declared.as_str());
    map.raw("id", &id_form(id));
    map.text("seen", seen.as_str());
    map.text("source", source.as_str());
    map.text("uid", uid.as_str());
    map.finish()
}

fn id_form(id: &ResourceId) -> Vec<u8> {
    let ResourceId { group, kind, namespace, name } = id;
    let mut map = Keys::with_room(128);
    map.text("group", group);
    map.text("kind", kind);
    map.text("name", name);
    map.some("namespace", namespace.as_deref());
    map.finish()
}

fn remove(value: &mut Value, keys: &[&str]) {
    if let Value::Object(map) = value {
        for key in keys {
            map.remove(*key);
        }
    }
}
