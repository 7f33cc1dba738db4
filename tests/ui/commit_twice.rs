//! A transaction is consumed by its commit.
use holdfast::apply::{Context, Transaction};

fn misuse(transaction: Transaction<'_>, context: &Context<'_>) {
    let _ = transaction.commit(context);
    let _ = transaction.commit(context);
}

fn main() {}
