//! Text in columns.

use rayon::prelude::*;
use unicode_width::UnicodeWidthStr;

/// No column pads others further than this; a wider cell pushes only its own row.
const WIDEST: usize = 60;
/// Rows that one task lays out at least.
const AT_A_TIME: usize = 256;

/// Rows of cells; a column that is empty in every row is left out.
pub struct Columns<const N: usize> {
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Columns<N> {
    /// Columns under these heads.
    pub fn new(head: [&'static str; N]) -> Self {
        Self { head, rows: Vec::new() }
    }

    /// Adds a row. Outside text must be escaped already.
    pub fn push(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// Adds a row for each entry, made on all cores. Outside text must be escaped already.
    pub fn push_all<T: Sync>(&mut self, entries: &[T], row: impl Fn(&T) -> [String; N] + Sync + Send) {
        self.rows.par_extend(entries.par_iter().with_min_len(AT_A_TIME).map(row));
    }

    /// The lines, the head first. All cells but a row's last are padded to their column's width.
    pub fn lines(&self) -> Vec<String> {
        let wider = |a: [usize; N], b: [usize; N]| std::array::from_fn(|i| a[i].max(b[i]));
        let rows = || self.rows.par_iter().with_min_len(AT_A_TIME);
        let widths = rows().map(|row| std::array::from_fn(|i| row[i].width().min(WIDEST))).reduce(|| [0; N], wider);
        let shown: Vec<usize> = (0..N).filter(|&i| widths[i] > 0).collect();
        let line = |cells: &[&str; N]| {
            let mut out = String::new();
            for &i in &shown {
                let width = widths[i].max(self.head[i].width());
                out.push_str(cells[i]);
                out.extend(std::iter::repeat_n(' ', width.saturating_sub(cells[i].width()) + 2));
            }
            out.truncate(out.trim_end().len());
            out
        };
        let head = line(&self.head);
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        lines.push(head);
        lines.par_extend(rows().map(|row| line(&std::array::from_fn(|i| row[i].as_str()))));
        lines
    }
}
