//! What somebody probably meant by a kind that nobody defines.

use super::{Catalog, UnknownKind, WrongPart};
use crate::base::resource::GroupVersionKind;
use crate::schema::nearest;

/// A kind that is known.
pub(super) struct Known<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    /// Plural, singular and short names.
    pub(super) others: Vec<&'a str>,
}

impl Known<'_> {
    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Whether somebody could call this kind so.
    fn is_called(&self, kind: &str) -> bool {
        self.kind.eq_ignore_ascii_case(kind) || self.others.iter().any(|other| other.eq_ignore_ascii_case(kind))
    }
}

/// Says what is wrong: the kind if its apiVersion is known, else the apiVersion if the kind is.
pub(super) fn unknown(catalog: &Catalog, gvk: &GroupVersionKind) -> UnknownKind {
    let known: Vec<Known<'_>> = catalog.names().collect();
    let api_version = gvk.api_version();
    let here: Vec<&Known<'_>> = known.iter().filter(|k| k.group == gvk.group && k.version == gvk.version).collect();

    if let Some(meant) = here.iter().find(|k| k.is_called(&gvk.kind)) {
        return kind_is_wrong(gvk, Some(meant.kind.to_owned()));
    }
    let versions: Vec<&Known<'_>> = known.iter().filter(|k| k.kind == gvk.kind).collect();
    if !versions.is_empty() {
        let mut written: Vec<String> = versions.iter().map(|k| k.api_version()).collect();
        let same_group = versions.iter().find(|k| k.group.eq_ignore_ascii_case(&gvk.group)).map(|k| k.api_version());
        written.dedup();
        return UnknownKind {
            part: WrongPart::ApiVersion,
            text: format!("there is no kind {} in apiVersion {api_version}", gvk.kind),
            hint: Some(same_group.unwrap_or_else(|| written.join(" or "))),
        };
    }
    if !here.is_empty() {
        let meant = nearest::of(&gvk.kind, here.iter().map(|k| k.kind)).map(str::to_owned);
        let elsewhere = || known.iter().find(|k| k.is_called(&gvk.kind)).map(with_api_version);
        return kind_is_wrong(gvk, meant.or_else(elsewhere));
    }
    let meant = known.iter().find(|k| k.is_called(&gvk.kind)).map(with_api_version);
    let alike = || nearest::of(&gvk.kind, known.iter().map(|k| k.kind)).map(str::to_owned);
    UnknownKind {
        part: WrongPart::Kind,
        text: format!("nobody defines the kind {} of apiVersion {api_version}", gvk.kind),
        hint: meant.or_else(alike).or_else(|| {
            Some("a custom resource needs its CustomResourceDefinition in the same commit or on the target".to_owned())
        }),
    }
}

fn with_api_version(known: &Known<'_>) -> String {
    format!("{} in apiVersion {}", known.kind, known.api_version())
}

fn kind_is_wrong(gvk: &GroupVersionKind, hint: Option<String>) -> UnknownKind {
    UnknownKind {
        part: WrongPart::Kind,
        text: format!("there is no kind {} in apiVersion {}", gvk.kind, gvk.api_version()),
        hint,
    }
}
