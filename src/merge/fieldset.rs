//! Sets of fields: which places of an object somebody declared or holds.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::element::Element;
use crate::base::map::HashMap;
use crate::base::pointer::Pointer;
use crate::schema::Node;

/// A set of fields, as a trie.
///
/// As in Kubernetes' structured merge, a place may be a member with places below it, without, or neither be a member
/// and only lead to some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Whether the place itself is a member. Never at the root: nobody holds an object as a whole.
    pub(super) member: bool,
    /// What lies below, sorted; no subset without members.
    pub(super) children: Vec<(Element, FieldSet)>,
}

impl FieldSet {
    /// The set without fields.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn leaf() -> Self {
        Self { member: true, children: Vec::new() }
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        usize::from(self.member) + self.children.iter().map(|(_, below)| below.len()).sum::<usize>()
    }

    /// What lies below a step.
    pub(super) fn get(&self, element: &Element) -> Option<&FieldSet> {
        self.children.binary_search_by(|(e, _)| e.cmp(element)).ok().map(|at| &self.children[at].1)
    }

    /// What lies below the value of a key.
    pub(super) fn field(&self, name: &str) -> Option<&FieldSet> {
        let found = self.children.binary_search_by(|(e, _)| match e {
            Element::Field(n) => (**n).cmp(name),
            _ => Ordering::Greater,
        });
        found.ok().map(|at| &self.children[at].1)
    }

    /// What lies below a step, made where it isn't there.
    pub(super) fn descend(&mut self, element: &Element) -> &mut FieldSet {
        let at = match self.children.binary_search_by(|(e, _)| e.cmp(element)) {
            Ok(at) => at,
            Err(at) => {
                self.children.insert(at, (element.clone(), FieldSet::default()));
                at
            }
        };
        &mut self.children[at].1
    }

    /// Adds a field.
    pub(super) fn insert(&mut self, path: &[Element]) {
        let mut set = self;
        for element in path {
            set = set.descend(element);
        }
        // The root is no field.
        set.member = !path.is_empty();
    }

    /// Adds what lies below a step that sorts after all that are there, unless it is empty.
    pub(super) fn push(&mut self, element: Element, below: FieldSet) {
        if !below.is_empty() {
            self.children.push((element, below));
        }
    }

    /// Puts the steps in order and joins those that are there twice.
    pub(super) fn restore_order(&mut self) {
        if self.children.is_sorted_by(|a, b| a.0 < b.0) {
            return;
        }
        self.children.sort_by(|a, b| a.0.cmp(&b.0));
        let mut joined: Vec<(Element, FieldSet)> = Vec::with_capacity(self.children.len());
        for (element, below) in self.children.drain(..) {
            match joined.last_mut() {
                Some((last, set)) if *last == element => *set = set.union(&below),
                _ => joined.push((element, below)),
            }
        }
        self.children = joined;
    }

    /// The fields that are in either set.
    #[must_use]
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        let mut out = FieldSet { member: self.member || other.member, children: Vec::new() };
        out.children.reserve(self.children.len().max(other.children.len()));
        zip(&self.children, &other.children, |element, a, b| {
            let below = match (a, b) {
                (Some(a), Some(b)) => a.union(b),
                (Some(one), None) | (None, Some(one)) => one.clone(),
                (None, None) => return,
            };
            out.push(element.clone(), below);
        });
        out
    }

    /// The fields that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut out = FieldSet { member: self.member && other.member, children: Vec::new() };
        zip(&self.children, &other.children, |element, a, b| {
            if let (Some(a), Some(b)) = (a, b) {
                out.push(element.clone(), a.intersection(b));
            }
        });
        out
    }

    /// The fields that are in this set and not in the other. A field and one below it are two fields.
    #[must_use]
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        let mut out = FieldSet { member: self.member && !other.member, children: Vec::new() };
        zip(&self.children, &other.children, |element, a, b| {
            let below = match (a, b) {
                (Some(a), Some(b)) => a.difference(b),
                (Some(a), None) => a.clone(),
                (None, _) => return,
            };
            out.push(element.clone(), below);
        });
        out
    }

    /// What is left of it for one who gives up what another declares: an entry of a list goes whole, with what was only
    /// filled in there; of a map the keys that are declared.
    #[must_use]
    pub(super) fn without_declared(&self, declared: &FieldSet) -> FieldSet {
        let mut out = FieldSet::default();
        zip(&self.children, &declared.children, |element, held, declared| {
            let below = match (held, declared) {
                (None, _) => return,
                (Some(held), None) => held.clone(),
                (Some(_), Some(declared)) if declared.member && !matches!(element, Element::Field(_)) => return,
                (Some(held), Some(declared)) => held.without_declared(declared),
            };
            out.push(element.clone(), below);
        });
        out
    }

    /// Whether all fields of the other set are in this one.
    pub fn contains(&self, other: &FieldSet) -> bool {
        if other.member && !self.member {
            return false;
        }
        let mut mine = self.children.iter();
        other.children.iter().all(|(element, theirs)| {
            mine.by_ref().find(|(e, _)| e >= element).is_some_and(|(e, below)| e == element && below.contains(theirs))
        })
    }

    /// The set with every named field of a struct that has members below it as a member.
    ///
    /// Whoever declares `spec.strategy.type` holds `spec.strategy` too when it comes to removing it.
    #[must_use]
    pub(super) fn with_named(&self, node: &Node) -> FieldSet {
        let mut out = FieldSet { member: self.member, children: Vec::with_capacity(self.children.len()) };
        for (element, below) in &self.children {
            let child = match element {
                Element::Field(name) => super::shape::below(node, name),
                _ => super::shape::items(node),
            };
            let mut set = below.with_named(child);
            set.member |= matches!(element, Element::Field(name) if node.properties.contains_key(name));
            out.children.push((element.clone(), set));
        }
        out
    }

    /// The members with none below them: those that name a value rather than the thing around it.
    #[must_use]
    pub fn leaves(&self) -> FieldSet {
        let children: Vec<_> = self.children.iter().map(|(e, below)| (e.clone(), below.leaves())).collect();
        FieldSet { member: self.member && children.is_empty(), children }
    }

    /// The pointers to all fields in a value, keyed entries by their index there. Entries that the value lacks are left
    /// out; a key that it lacks is named all the same.
    pub fn pointers(&self, value: &Value) -> Vec<Pointer> {
        let mut out = Vec::new();
        self.collect(Some(value), &mut Pointer::root(), &mut out);
        out
    }

    fn collect(&self, value: Option<&Value>, at: &mut Pointer, out: &mut Vec<Pointer>) {
        if self.member {
            out.push(at.clone());
        }
        let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut places = None;
        for (element, below) in &self.children {
            let child = if let Element::Field(name) = element {
                at.push_key(name);
                value.and_then(|v| v.get(&**name))
            } else {
                let places = places.get_or_insert_with(|| Places::of(list, &self.children));
                let Some(index) = places.find(element) else { continue };
                at.push_index(index);
                list.get(index)
            };
            below.collect(child, at, out);
            at.pop();
        }
    }
}

/// Where the entries that steps name stand in a list.
struct Places<'v> {
    list: &'v [Value],
    exact: HashMap<Element, usize>,
}

impl<'v> Places<'v> {
    fn of(list: &'v [Value], children: &[(Element, FieldSet)]) -> Self {
        let keys = children.iter().find_map(|(element, _)| match element {
            Element::Key(text) => serde_json::from_str::<Map<String, Value>>(text).ok(),
            _ => None,
        });
        let keys: Vec<Box<str>> = keys.into_iter().flatten().map(|(key, _)| key.into()).collect();
        let step = |entry: &Value| match entry {
            Value::Object(_) if !keys.is_empty() => Element::of_item(&keys, super::shape::unknown(), entry),
            other => Element::of_scalar(other),
        };
        let mut exact = HashMap::with_capacity_and_hasher(list.len(), Default::default());
        for (index, entry) in list.iter().enumerate() {
            if let Some(element) = step(entry) {
                exact.entry(element).or_insert(index);
            }
        }
        Self { list, exact }
    }

    /// Without a schema the defaults of keys aren't known: an entry that lacks a key stands in where none has all.
    fn find(&self, element: &Element) -> Option<usize> {
        match element {
            Element::Index(n) => usize::try_from(*n).ok().filter(|n| *n < self.list.len()),
            Element::Key(text) => self.exact.get(element).copied().or_else(|| {
                if self.exact.len() == self.list.len() {
                    return None;
                }
                let keys: Map<String, Value> = serde_json::from_str(text).ok()?;
                let lacks = |entry: &Value| entry.is_object() && keys.keys().any(|key| entry.get(key).is_none());
                let near = |entry: &Value| keys.iter().all(|(k, v)| entry.get(k).is_none_or(|found| found == v));
                self.list.iter().position(|entry| lacks(entry) && near(entry))
            }),
            other => self.exact.get(other).copied(),
        }
    }
}

/// Walks two sorted lists of steps side by side.
fn zip<'a>(
    a: &'a [(Element, FieldSet)],
    b: &'a [(Element, FieldSet)],
    mut each: impl FnMut(&'a Element, Option<&'a FieldSet>, Option<&'a FieldSet>),
) {
    let (mut i, mut j) = (0, 0);
    loop {
        match (a.get(i), b.get(j)) {
            (Some((x, left)), Some((y, right))) => match x.cmp(y) {
                Ordering::Less => {
                    each(x, Some(left), None);
                    i += 1;
                }
                Ordering::Greater => {
                    each(y, None, Some(right));
                    j += 1;
                }
                Ordering::Equal => {
                    each(x, Some(left), Some(right));
                    i += 1;
                    j += 1;
                }
            },
            (Some((x, left)), None) => {
                each(x, Some(left), None);
                i += 1;
            }
            (None, Some((y, right))) => {
                each(y, None, Some(right));
                j += 1;
            }
            (None, None) => return,
        }
    }
}
