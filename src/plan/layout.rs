//! The layout of a plan file: indented JSON that is safe to show as it stands.

use std::io::{self, Write};

use rayon::prelude::*;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::document::PlanDocument;
use crate::base::text::escape_json;

/// Entries that are laid out at a time.
const AT_A_TIME: usize = 1024;

/// Writes a plan as its file has it, piece by piece: a large one is never in memory as text. Its two long lists are laid
/// out on all cores.
///
/// # Errors
/// If it can't be written, or a part of it has no JSON form.
pub(super) fn write(plan: &PlanDocument, mut to: impl Write + Send) -> io::Result<()> {
    let frame = PlanDocument {
        plan_id: plan.plan_id.clone(),
        content_id: plan.content_id.clone(),
        created_at: plan.created_at.clone(),
        target: plan.target.clone(),
        sources: plan.sources.clone(),
        changes: Vec::new(),
        unchanged: Vec::new(),
        warnings: plan.warnings.clone(),
        allowances: plan.allowances.clone(),
        waivers: plan.waivers.clone(),
        ..*plan
    };
    let text = String::from_utf8(laid_out(&frame, 0)?).map_err(io::Error::other)?;
    // A text in JSON has no line end in it, so these lines are the frame's own.
    let parts = text.split_once("\n  \"changes\": []").and_then(|(before, rest)| {
        let (between, after) = rest.split_once("\n  \"unchanged\": []")?;
        Some((before, between, after))
    });
    let (before, between, after) = parts.ok_or_else(|| io::Error::other("a plan has no place for its lists"))?;
    to.write_all(before.as_bytes())?;
    list("changes", &plan.changes, &mut to)?;
    to.write_all(between.as_bytes())?;
    list("unchanged", &plan.unchanged, &mut to)?;
    to.write_all(after.as_bytes())?;
    to.write_all(b"\n")
}

/// One of the lists. Entries are laid out while those before them are written.
fn list<T: Serialize + Sync>(name: &str, entries: &[T], to: &mut (impl Write + Send)) -> io::Result<()> {
    write!(to, "\n  \"{name}\": [")?;
    let mut done: Vec<Vec<u8>> = Vec::new();
    let mut separator: &[u8] = b"\n    ";
    let mut write = |done: &[Vec<u8>]| {
        done.iter().try_for_each(|entry| {
            to.write_all(std::mem::replace(&mut separator, b",\n    "))?;
            to.write_all(entry)
        })
    };
    for some in entries.chunks(AT_A_TIME) {
        let next = || some.par_iter().with_min_len(32).map(|entry| laid_out(entry, 2)).collect::<io::Result<_>>();
        let (written, next) = rayon::join(|| write(&done), next);
        written?;
        done = next?;
    }
    write(&done)?;
    to.write_all(if entries.is_empty() { b"]" } else { b"\n  ]" })
}

/// A value that stands inside so many maps and lists.
fn laid_out(value: &impl Serialize, depth: usize) -> io::Result<Vec<u8>> {
    let mut formatter = PrettyFormatter::new();
    for _ in 0..depth {
        formatter.begin_object(&mut io::sink())?;
    }
    let mut out = Vec::with_capacity(2048);
    value.serialize(&mut Serializer::with_formatter(&mut out, Layout(formatter)))?;
    Ok(out)
}

/// serde_json's own indentation, with texts escaped that could move something on a terminal.
struct Layout(PrettyFormatter<'static>);

impl Formatter for Layout {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        to.write_all(escape_json(text).as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_array(to)
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array(to)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array_value(to)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object(to)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object_value(to)
    }
}
