//! A delete can't be written without a warrant.
use holdfast::target::Write;

fn main() {
    let _ = Write::Delete { warrant: (), version: String::new(), cascade: Vec::new() };
}
