//! The syntax of names and keys.
