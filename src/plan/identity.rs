//! What a plan is called: digests over all of it, and over what it would do.

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::document::{ChangeEntry, Field, PlanDocument, SourceEntry, UnchangedEntry};
use crate::base::digest::{canonical, sha256, string};
use crate::base::ids::{ContentId, Digest, PlanId};
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
    let changes = all(&plan.changes, |change| change_forms(change, &plan.sources))?;
    let unchanged = all(&plan.unchanged, |entry| Ok((unchanged_form(entry), Vec::new())))?;
    let sources = all(&plan.sources, |source| {
        stripped(source, &["commit", "applied", "inventorySerial", "origin", "preview", "rewind"])
    })?;
    let mut warnings = all(&plan.warnings, |warning| stripped(warning, &["file", "line"]))?;
    let allowances = serde_json::to_value(&plan.allowances)?;
    let summary = serde_json::to_value(plan.summary)?;
    let target = serde_json::to_value(&plan.target)?;
    let waivers = serde_json::to_value(&plan.waivers)?;
    // They stand in the order of their places, which no longer count.
    warnings.content.sort();

    // Keys in their sorted order, as `canonical` would write them.
    let join = |changes: &[Vec<u8>], sources: &[Vec<u8>], warnings: &[Vec<u8>]| {
        let size: usize = changes.iter().chain(&unchanged.whole).map(|part| part.len() + 1).sum();
        let mut out = Vec::with_capacity(size + 4096);
        out.extend_from_slice(b"{\"allowances\":");
        canonical(&allowances, &mut out);
        out.extend_from_slice(b",\"changes\":");
        list(changes, &mut out);
        out.extend_from_slice(b",\"formatVersion\":");
        canonical(&Value::from(plan.format_version), &mut out);
        out.extend_from_slice(b",\"sources\":");
        list(sources, &mut out);
        out.extend_from_slice(b",\"summary\":");
        canonical(&summary, &mut out);
        out.extend_from_slice(b",\"target\":");
        canonical(&target, &mut out);
        out.extend_from_slice(b",\"unchanged\":");
        list(&unchanged.whole, &mut out);
        out.extend_from_slice(b",\"waivers\":");
        canonical(&waivers, &mut out);
        out.extend_from_slice(b",\"warnings\":");
        list(warnings, &mut out);
        out.push(b'}');
        sha256(&out)
    };
    let (whole, content) = rayon::join(
        || join(&changes.whole, &sources.whole, &warnings.whole),
        || join(&changes.content, &sources.content, &warnings.content),
    );
    Ok((PlanId::new(&whole), ContentId::new(&content)))
}

/// The canonical forms of a list's entries: as they are, and with what is outside the content taken out.
struct Forms {
    whole: Vec<Vec<u8>>,
    content: Vec<Vec<u8>>,
}

/// The form as it is, and the form of the content.
type Pair = (Vec<u8>, Vec<u8>);

/// Makes the forms on all cores: a plan may have tens of thousands of entries.
fn all<T: Sync>(
    entries: &[T],
    forms: impl Fn(&T) -> Result<Pair, serde_json::Error> + Send + Sync,
) -> Result<Forms, NoForm> {
    let pairs: Vec<Pair> = entries.par_iter().with_min_len(64).map(forms).collect::<Result<_, _>>()?;
    let (whole, content) = pairs.into_iter().unzip();
    Ok(Forms { whole, content })
}

fn list(parts: &[Vec<u8>], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(part);
    }
    out.push(b']');
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

/// A Change. Its fields hold whole objects: they are written straight from where they are, once for both forms.
fn change_forms(change: &ChangeEntry, sources: &[SourceEntry]) -> Result<Pair, serde_json::Error> {
    // Spelled out, so that a key that is added can't be forgotten here.
    let light = ChangeEntry {
        action: change.action,
        id: change.id.clone(),
        source: change.source.clone(),
        from: change.from.clone(),
        file: change.file.clone(),
        line: change.line,
        wave: change.wave,
        undo: change.undo,
        fields: Vec::new(),
        rule: change.rule.clone(),
        reason: change.reason.clone(),
        holds: change.holds.clone(),
        taken: change.taken.clone(),
        left: change.left.clone(),
        dropped_defaults: change.dropped_defaults.clone(),
        warnings: change.warnings.clone(),
        admitted: change.admitted,
        uid: change.uid.clone(),
        seen: change.seen.clone(),
        declared: change.declared.clone(),
        sensitive: change.sensitive,
    };
    let fields = fields_form(&change.fields);
    let mut value = serde_json::to_value(&light)?;
    let mut whole = Vec::with_capacity(fields.len() + 512);
    with_fields(&value, &fields, &mut whole);
    remove(&mut value, &["line"]);
    if change.sensitive {
        let commit = sources.iter().find(|source| source.name == change.source).map(|source| source.commit.as_str());
        if let Value::Object(map) = &mut value {
            map.insert("commit".to_owned(), Value::from(commit));
        }
    } else {
        remove(&mut value, &["file"]);
    }
    if let Some(Value::Array(warnings)) = value.get_mut("warnings") {
        warnings.iter_mut().for_each(|warning| remove(warning, &["file", "line"]));
        // They stand in the order of their places, too.
        warnings.sort_by_cached_key(|warning| {
            let mut bytes = Vec::new();
            canonical(warning, &mut bytes);
            bytes
        });
    }
    let mut content = Vec::with_capacity(fields.len() + 512);
    with_fields(&value, &fields, &mut content);
    Ok((whole, content))
}

/// A map in canonical form, with `fields` at its place if there are any.
fn with_fields(value: &Value, fields: &[u8], out: &mut Vec<u8>) {
    let Value::Object(map) = value else { return canonical(value, out) };
    let mut entries = map.iter().peekable();
    out.push(b'{');
    let key = |name: &str, out: &mut Vec<u8>| {
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        string(name, out);
        out.push(b':');
    };
    while let Some((name, entry)) = entries.next_if(|(name, _)| name.as_str() < "fields") {
        key(name, out);
        canonical(entry, out);
    }
    if !fields.is_empty() {
        key("fields", out);
        out.extend_from_slice(fields);
    }
    for (name, entry) in entries {
        key(name, out);
        canonical(entry, out);
    }
    out.push(b'}');
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

/// What stays as it is; there may be many, and they have nothing to strip.
fn unchanged_form(entry: &UnchangedEntry) -> Vec<u8> {
    let UnchangedEntry { id, source, uid, seen, declared } = entry;
    let ResourceId { group, kind, namespace, name } = id;
    let mut out = Vec::with_capacity(384);
    let mut text = |key: &str, text: &str| {
        out.extend_from_slice(key.as_bytes());
        string(text, &mut out);
    };
    text("{\"declared\":", declared.as_str());
    text(",\"id\":{\"group\":", group);
    text(",\"kind\":", kind);
    text(",\"name\":", name);
    if let Some(namespace) = namespace {
        text(",\"namespace\":", namespace);
    }
    text("},\"seen\":", seen.as_str());
    text(",\"source\":", source.as_str());
    text(",\"uid\":", uid.as_str());
    out.push(b'}');
    out
}

fn remove(value: &mut Value, keys: &[&str]) {
    if let Value::Object(map) = value {
        for key in keys {
            map.remove(*key);
        }
    }
}
