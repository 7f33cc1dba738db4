//! Rules in CEL.

/// The rules of one node.
#[derive(Debug)]
pub struct NodeRules {}
