//! The one form of a schema that checks and merges walk.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use super::builtin;
use super::limits::Limits;
use super::values::{Leaf, StructRule};
use crate::base::pointer::Pointer;

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Anything.
    #[default]
    Any,
    /// A map: a struct with [`Node::properties`], or free keys by [`Node::additional`].
    Object,
    /// A list of [`Node::items`].
    List,
    /// A text.
    String,
    /// A whole number; [`Format`] says how large.
    Integer,
    /// A number.
    Number,
    /// true or false.
    Boolean,
    /// A whole number or a text.
    IntOrString,
    /// A quantity of a resource, written as number or text.
    Quantity,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// As the kind says.
    #[default]
    None,
    /// 32 bits with sign.
    Int32,
    /// 64 bits with sign.
    Int64,
    /// Base64 with padding. Never shown: it may be a secret.
    Byte,
    /// RFC 3339.
    DateTime,
    /// RFC 3339, the date alone.
    Date,
    /// A duration as Go writes it (`1h30m`).
    Duration,
    /// Another text format that CRDs can name and the API server checks.
    Text(TextFormat),
}

/// Text formats that the API server checks in custom resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// A CIDR block.
    Cidr,
    /// A URI.
    Uri,
    /// A UUID.
    Uuid,
    /// An e-mail address.
    Email,
    /// A host name.
    Hostname,
}

/// What a map takes beside its properties.
#[derive(Debug, Clone, Default)]
pub enum Additional {
    /// Nothing.
    #[default]
    Closed,
    /// Anything, unchecked.
    Open,
    /// Values of this shape.
    Values(NodeRef),
}

/// How a list merges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    /// As one value.
    #[default]
    Atomic,
    /// As a set of scalars.
    Set,
    /// By these keys of its entries, which are maps. A key that an entry lacks has the default of its field.
    Map(Vec<Box<str>>),
}

/// Values that a field may have without differing from one that isn't there, besides null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AbsentWhen {
    /// None: an empty map is a value.
    #[default]
    Never,
    /// An empty map or list: the API server drops it, or adds it where it is missing.
    Empty,
    /// An empty text, `false` or 0: the API server drops it.
    Zero,
}

/// A field of a struct: its shape and what holds for this field alone.
#[derive(Debug, Clone)]
pub struct Field {
    /// The shape.
    pub node: NodeRef,
    /// What the API server fills in where a *key of a list* or a field of a custom resource is missing. Of built-in
    /// kinds only defaults that are part of the schema; most of theirs are code in the server.
    pub default: Option<Value>,
    /// What counts as absent.
    pub absent_when: AbsentWhen,
    /// A check that the published schema lacks.
    pub(super) leaf: Option<Leaf>,
}

impl Deref for Field {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

/// Schemas that a value must pass besides, of CRDs.
#[derive(Debug, Clone, Default)]
pub struct Junctors {
    /// All of these.
    pub all_of: Vec<Node>,
    /// At least one of these.
    pub any_of: Vec<Node>,
    /// Exactly one of these.
    pub one_of: Vec<Node>,
    /// Not this.
    pub not: Option<Box<Node>>,
}

/// The shape of a value.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// What it may be.
    pub kind: Kind,
    /// How it is written.
    pub format: Format,
    /// The fields of a struct.
    pub properties: BTreeMap<Box<str>, Field>,
    /// What else a map takes.
    pub additional: Additional,
    /// The shape of a list's entries.
    pub items: Option<NodeRef>,
    /// Fields that must be there.
    pub required: Vec<Box<str>>,
    /// The only values allowed, if not empty.
    pub enumeration: Vec<Value>,
    /// How a list merges.
    pub list: ListType,
    /// Whether a map merges as one value.
    pub atomic_map: bool,
    /// Whether null is a value. Where it isn't, a field that is null is a field that isn't there.
    pub nullable: bool,
    /// Whether it may be true or false as well (`additionalProperties` in the schema of a CRD).
    pub or_bool: bool,
    /// Whether it is a whole object with apiVersion, kind and metadata.
    pub embedded_resource: bool,
    /// Whether texts are quantities and compare by value (a CRD's int-or-string with the quantity pattern).
    pub quantity_text: bool,
    /// Ranges, lengths and patterns.
    pub limits: Option<Box<Limits>>,
    /// Schemas that it must pass besides.
    pub junctors: Option<Box<Junctors>>,
    /// Rules in CEL (`x-kubernetes-validations`).
    pub cel: Option<Arc<super::cel::NodeRules>>,
    /// A check that the published schema lacks.
    pub(super) rule: Option<StructRule>,
}

impl Node {
    /// Whether values are compared as quantities.
    pub fn is_quantity(&self) -> bool {
        self.kind == Kind::Quantity || self.quantity_text
    }

    /// The shape of the value of a key of a map, if the schema knows one.
    pub fn below(&self, key: &str) -> Option<&Node> {
        match self.properties.get(key) {
            Some(field) => Some(field),
            None => match &self.additional {
                Additional::Values(node) => Some(node),
                Additional::Closed | Additional::Open => None,
            },
        }
    }

    /// The shape at a place below this one; `None` where the schema says nothing of it, so that anything may stand there.
    pub fn at(&self, place: &Pointer) -> Option<&Node> {
        let mut node = self;
        for segment in place.segments() {
            node = match &node.items {
                Some(items) if node.kind == Kind::List || segment.bytes().all(|b| b.is_ascii_digit()) => items,
                _ => node.below(&segment)?,
            };
        }
        Some(node)
    }

    /// Whether the schema says nothing of a value's type here: what is read there is kept as it is read.
    pub fn is_untyped(&self) -> bool {
        self.kind == Kind::Any && self.enumeration.is_empty()
    }

    /// Whether a map of this shape is one value that merges whole: atomic, or of unknown fields only.
    pub fn is_open(&self) -> bool {
        self.properties.is_empty() && matches!(self.additional, Additional::Open)
    }
}

/// Leads to a node. Definitions of the built-in kinds are compiled when first reached, so recursion ends.
#[derive(Debug, Clone)]
pub enum NodeRef {
    /// A node of its own.
    Own(Arc<Node>),
    /// A definition of the built-in kinds, shared by all that refer to it.
    Builtin(builtin::Definition),
}

impl Deref for NodeRef {
    type Target = Node;

    fn deref(&self) -> &Node {
        match self {
            Self::Own(node) => node,
            Self::Builtin(definition) => definition.node(),
        }
    }
}

impl From<Node> for NodeRef {
    fn from(node: Node) -> Self {
        Self::Own(Arc::new(node))
    }
}
