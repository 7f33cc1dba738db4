//! What a plan is called: digests over all of it, and over what it would do.

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::document::{ChangeEntry, PlanDocument, SourceEntry};
use crate::base::digest::{canonical, sha256};
use crate::base::ids::{ContentId, Digest, PlanId};

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
    let changes = all(&plan.changes, |change, value| without_place(change, value, &plan.sources))?;
    let sources = all(&plan.sources, without_history)?;
    let mut warnings = all(&plan.warnings, |_, value| remove(value, &["file", "line"]))?;
    let unchanged = all(&plan.unchanged, |_, _| ())?;
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

/// Makes the forms on all cores: a plan may have tens of thousands of entries.
fn all<T: Serialize + Sync>(entries: &[T], strip: impl Fn(&T, &mut Value) + Sync) -> Result<Forms, NoForm> {
    let forms = entries
        .par_iter()
        .with_min_len(64)
        .map(|entry| {
            let mut value = serde_json::to_value(entry)?;
            let mut whole = Vec::with_capacity(512);
            canonical(&value, &mut whole);
            strip(entry, &mut value);
            let mut content = Vec::with_capacity(whole.len());
            canonical(&value, &mut content);
            Ok((whole, content))
        })
        .collect::<Result<Vec<(Vec<u8>, Vec<u8>)>, NoForm>>()?;
    let (whole, content) = forms.into_iter().unzip();
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

fn without_history(_: &SourceEntry, value: &mut Value) {
    remove(value, &["commit", "applied", "inventorySerial", "preview", "rewind"]);
}

fn without_place(change: &ChangeEntry, value: &mut Value, sources: &[SourceEntry]) {
    remove(value, &["line"]);
    if change.sensitive {
        let commit = sources.iter().find(|source| source.name == change.source).map(|source| source.commit.as_str());
        if let Value::Object(map) = value {
            map.insert("commit".to_owned(), Value::from(commit));
        }
    } else {
        remove(value, &["file"]);
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
}

fn remove(value: &mut Value, keys: &[&str]) {
    if let Value::Object(map) = value {
        for key in keys {
            map.remove(*key);
        }
    }
}
