//! Planning is given a Reader, which can't write.
use holdfast::target::{Batch, Reader};

fn misuse(reader: &dyn Reader, batch: Batch) {
    reader.commit(batch);
}

fn main() {}
