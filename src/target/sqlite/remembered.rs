//! Inventories that were read before: a row whose text still is the same isn't parsed again.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::base::ids::SourceId;
use crate::base::json;
use crate::base::map::HashMap;
use crate::inventory::{Inventory, Row};

/// A row with the text that it was read from.
#[derive(Debug, Clone)]
struct Kept {
    key: i64,
    text: Arc<str>,
    row: Arc<Row>,
}

/// An inventory with the texts that it was read from, by their keys.
#[derive(Debug)]
pub(super) struct Known {
    rows: Vec<Kept>,
    inventory: Arc<Inventory>,
}

/// The inventories that a target remembers. The texts are compared each time, so nothing here can be out of date.
#[derive(Debug, Default)]
pub(super) struct Remembered(Mutex<HashMap<SourceId, Arc<Known>>>);

impl Remembered {
    /// What is known of a Source.
    pub(super) fn of(&self, source: &SourceId) -> Option<Arc<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(source).cloned()
    }

    fn keep(&self, source: &SourceId, known: Known) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(source.clone(), Arc::new(known));
    }
}

/// A row as it comes out of the database.
enum Text {
    Same(Kept),
    New(i64, Box<str>),
}

/// An inventory that is being read, beside what is known of it.
pub(super) struct Reading<'a> {
    known: Option<&'a Known>,
    /// So many of the known rows are passed.
    passed: usize,
    texts: Vec<Text>,
}

impl<'a> Reading<'a> {
    pub(super) fn beside(known: Option<&'a Known>) -> Self {
        Self { known, passed: 0, texts: Vec::with_capacity(known.map_or(0, |known| known.rows.len())) }
    }

    /// Takes the next row, in the order of the keys.
    pub(super) fn take(&mut self, key: i64, text: &str) {
        let rows = self.known.map_or(&[][..], |known| &known.rows);
        while rows.get(self.passed).is_some_and(|kept| kept.key < key) {
            self.passed += 1;
        }
        let same = rows.get(self.passed).filter(|kept| kept.key == key && *kept.text == *text);
        self.texts.push(match same {
            Some(kept) => Text::Same(kept.clone()),
            None => Text::New(key, text.into()),
        });
    }

    /// The inventory, new rows parsed on all cores; `None` if one can't be read. It is remembered by `remembered`.
    pub(super) fn finish(
        self,
        source: &SourceId,
        serial: u64,
        remembered: Option<&Remembered>,
    ) -> Option<Arc<Inventory>> {
        let same = self.texts.iter().filter(|text| matches!(text, Text::Same(_))).count();
        if let Some(known) = self.known.filter(|known| same == self.texts.len() && same == known.rows.len())
            && known.inventory.serial == serial
        {
            return Some(Arc::clone(&known.inventory));
        }
        let keeps = remembered.is_some();
        let parse = |text: Text| match text {
            Text::Same(kept) => Some((kept.row.clone(), Some(kept))),
            Text::New(key, text) => {
                let row: Arc<Row> = Arc::new(json::read(text.as_bytes()).ok()?);
                Some((row.clone(), keeps.then(|| Kept { key, text: text.into(), row })))
            }
        };
        let parsed: Vec<(Arc<Row>, Option<Kept>)> = self.texts.into_par_iter().map(parse).collect::<Option<_>>()?;
        let rows = parsed.iter().map(|(row, _)| Arc::clone(row)).collect();
        let inventory = Arc::new(Inventory { source: source.clone(), serial, rows });
        if let Some(remembered) = remembered {
            let rows = parsed.into_iter().filter_map(|(_, kept)| kept).collect();
            remembered.keep(source, Known { rows, inventory: Arc::clone(&inventory) });
        }
        Some(inventory)
    }
}
