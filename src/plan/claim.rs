//! Whose a declared live object is, and whether this Source may have it: its own, adopted, or transferred.

use super::change::Giver;
use super::input::{Observed, OutsideSource, SourceInput};
use super::ownership::{Asked, Declared, EXISTS_UNOWNED, Marked, OWNED_BY_OTHER, OWNER_MISMATCH, Uid, declared};
use super::wanted::{Beside, CONTROLLED_OBJECT};
use crate::admission::Checked;
use crate::base::fault::{At, Fault, RuleId};
use crate::base::ids::SourceName;
use crate::base::path::RepoPath;
use crate::base::resource::ResourceId;
use crate::inventory::{Keeper, Released, Row, SourceRecord, keepers};
use crate::target::Head;

/// An object that its Source's manifest releases to another one.
pub(super) const RELEASED_TO: RuleId = RuleId::new("released-to");

/// How a live object came to be this Source's to write.
pub(super) enum Claim {
    /// Name, UID and mark agree.
    Ours,
    /// It was nobody's; the Source that let it go before, where that is why.
    Adopt(Option<SourceName>),
    /// Another Source gives it up.
    Transfer(Giver),
}

/// The Source that a manifest gives its resource to, once that one has it or declares it in the same plan: then the
/// manifest counts for nothing any more.
pub(super) fn given_away<'c>(
    inputs: &[SourceInput<'_>],
    observed: &Observed,
    source: usize,
    checked: &'c Checked,
) -> Option<&'c SourceName> {
    let to = checked.wants().release_to.as_ref()?;
    let id = checked.id();
    let declares = |input: &SourceInput<'_>| input.set.get(id).is_some_and(|c| !c.wants().use_);
    let planned = inputs.iter().enumerate().any(|(at, i)| at != source && i.spec.name == *to && declares(i));
    let is_theirs = |head: &Head| match Marked::of(head, &inputs[source].id, &observed.known) {
        Marked::Other(record) => record.removed_at.is_none() && record.name == *to,
        _ => false,
    };
    (planned || observed.heads.get(id).is_some_and(is_theirs)).then_some(to)
}

impl Beside<'_, '_> {
    /// Whose the live object is, and whether it may be written.
    pub(super) fn claim(
        &self,
        source: usize,
        checked: &Checked,
        head: &Head,
        row: Option<&Row>,
    ) -> Result<Claim, Box<Fault>> {
        let marked = Marked::of(head, &self.inputs[source].id, &self.observed.known);
        let uid = Uid::of(row, head);
        let asked = checked.wants().adopt || self.grants.adopts(checked.id());
        let why = marked.why(uid);
        match declared(marked.mark(), uid, if asked { Asked::Yes } else { Asked::No }) {
            Declared::Ours => Ok(Claim::Ours),
            Declared::Adopted => self.adoptable(checked, head).map(|()| Claim::Adopt(None)),
            Declared::Unowned => self.unowned(checked, head, row, &marked, &why),
            Declared::Theirs => match marked {
                Marked::Other(record) => self.transfer(source, checked, head, record, why),
                _ => Err(Box::new(
                    self.fault(checked, OWNED_BY_OTHER, why).hint("remove the manifest, or the object's owner mark"),
                )),
            },
            Declared::Unreadable => Err(Box::new(
                self.fault(
                    checked,
                    OWNER_MISMATCH,
                    "the live object's owner mark can't be read, so whose it is isn't known",
                )
                .hint("take the annotation holdfast.dev/owner off by hand, then adopt the object"),
            )),
        }
    }

    /// An object of nobody's: one that another Source let go may be taken from it, else it has to be asked for.
    fn unowned(
        &self,
        checked: &Checked,
        head: &Head,
        row: Option<&Row>,
        marked: &Marked<'_>,
        why: &str,
    ) -> Result<Claim, Box<Fault>> {
        let id = checked.id();
        // What stands in this Source's inventory came to it after whoever let it go.
        let let_go = if row.is_some() { Vec::new() } else { self.let_go(id, head, marked) };
        if let Some(by) = let_go.iter().find(|by| self.takes_from(checked, by)) {
            return self.adoptable(checked, head).map(|()| Claim::Adopt(Some((*by).clone())));
        }
        let mut hint = format!("--adopt {id} takes it on; or remove the manifest");
        let live = self.observed.objects.get(id);
        let made_by = live.and_then(|live| keepers(&live.object).ok()).unwrap_or_default();
        let named: Vec<String> = made_by.iter().map(Keeper::shown).collect();
        let by = if named.is_empty() { String::new() } else { format!(", made or kept by {}", named.join(" and ")) };
        if let Some(by) = let_go.first() {
            hint.push_str(&format!(". Source {by} let it go: --adopt-from {by} takes on what it did"));
        }
        let text = format!("the target has this object, and it isn't this Source's: {why}{by}");
        Err(Box::new(self.fault(checked, EXISTS_UNOWNED, text).hint(hint)))
    }

    /// The Source that let an unmarked object go last; of one apply it may be several.
    fn let_go(&self, id: &ResourceId, head: &Head, marked: &Marked<'_>) -> Vec<&SourceName> {
        let is_this =
            |released: &Released| matches!(marked, Marked::None) && released.id == *id && released.uid == head.uid;
        let all = || self.observed.released.iter().filter(|(_, released)| is_this(released));
        let last = all().map(|(_, released)| released.at).max();
        all().filter(|(_, released)| Some(released.at) == last).map(|(by, _)| by).collect()
    }

    /// Whether this side agrees to have an object from that Source.
    fn takes_from(&self, checked: &Checked, from: &SourceName) -> bool {
        checked.wants().adopt_from.as_ref() == Some(from) || self.grants.adopts_from(from)
    }

    fn adoptable(&self, checked: &Checked, head: &Head) -> Result<(), Box<Fault>> {
        let id = checked.id();
        let live = self.observed.objects.get(id);
        let bootstrapping =
            live.and_then(|l| l.object.pointer("/metadata/labels")).and_then(|l| l.get("kubernetes.io/bootstrapping"));
        let system = id.namespace.as_deref().is_some_and(|ns| ns.starts_with("kube-"))
            || (id.is_namespace() && id.name.starts_with("kube-"));
        let why = if head.controlled {
            "a controller owns it"
        } else if bootstrapping.is_some() {
            "the control plane made it for itself (kubernetes.io/bootstrapping)"
        } else if system {
            "it is the control plane's own (kube-*)"
        } else {
            return Ok(());
        };
        Err(Box::new(self.fault(checked, CONTROLLED_OBJECT, format!("it can't be adopted: {why}"))))
    }

    fn transfer(
        &self,
        source: usize,
        checked: &Checked,
        head: &Head,
        record: &SourceRecord,
        why: String,
    ) -> Result<Claim, Box<Fault>> {
        let refused = |text: String, hint: String| {
            Box::new(self.fault(checked, OWNED_BY_OTHER, text).owner(record.name.clone()).hint(hint))
        };
        let unmark = || "take the annotation holdfast.dev/owner off by hand, then adopt the object".to_owned();
        if record.removed_at.is_some() {
            return Err(refused(why, unmark()));
        }
        let name = &record.name;
        let rowless = || {
            let text = format!("its owner mark names Source {name}, but that one's inventory doesn't have this object");
            refused(text, unmark())
        };
        let is_this = |row: &&Row| row.uid == head.uid;
        let us = &self.inputs[source].spec.name;
        if let Some(giver) = self.inputs.iter().position(|other| other.id == record.id) {
            let other = &self.inputs[giver];
            let theirs = other.set.get(checked.id()).filter(|theirs| !theirs.wants().use_);
            if let Some(theirs) = theirs.filter(|theirs| theirs.wants().release_to.as_ref() != Some(us)) {
                let text = format!("{why} and still declares it");
                let hint = format!("remove it from one of the two; removed from {name}, it is transferred");
                return Err(Box::new(refused(text, hint).also(theirs.at())));
            }
            other.inventory.row(checked.id()).filter(is_this).ok_or_else(rowless)?;
            return Ok(Claim::Transfer(Giver::Planned(giver)));
        }
        let outside = self.observed.outside.iter().position(|other| other.record.id == record.id);
        let row = outside.and_then(|at| self.observed.outside[at].inventory.row(checked.id()));
        let (Some(at), Some(row)) = (outside, row.filter(is_this)) else { return Err(rowless()) };
        let gives = row.permissions.release_to.as_ref() == Some(us);
        if gives && self.takes_from(checked, name) {
            return Ok(Claim::Transfer(Giver::Outside(at)));
        }
        let text = format!("{why}, by {}:{} of commit {}", row.file, row.line, row.commit.short());
        let hint = if record.was_called(us) && self.inputs[source].record.is_none() {
            format!("Source {us} was renamed to {name} on this target: change metadata.name in the configuration")
        } else if gives {
            format!(
                "it is released to {us}: take it with --adopt-from {name}, or the annotation holdfast.dev/adopt-from"
            )
        } else {
            format!(
                "remove it from {name} and plan both Sources together to transfer it; or, across configurations, let \
                 {name} say holdfast.dev/release-to: {us} and this manifest holdfast.dev/adopt-from: {name}"
            )
        };
        Err(Box::new(refused(text, hint).also(place(row))))
    }
}

/// Where another Source declared it.
fn place(row: &Row) -> At {
    At { line: row.line, ..At::file(&RepoPath::from(row.file.as_str())) }
}

impl OutsideSource {
    /// What it has of a resource.
    pub(super) fn row(&self, id: &ResourceId) -> Option<&Row> {
        self.inventory.row(id)
    }
}
