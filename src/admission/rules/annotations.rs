//! What manifests ask for in annotations: Holdfast's own, and two that others made known.

use serde_json::Value;

use super::{Finding, Findings};
use crate::admission::checked::Wants;
use crate::base::fault::RuleId;
use crate::base::ids::SourceName;
use crate::base::json;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::base::text::{escape, shorten};
use crate::inventory::{OWNER_ANNOTATION, PrunePermission};
use crate::source::spec::{GitPermission, SourceSpec};

const UNKNOWN_FIELD: RuleId = RuleId::new("unknown-field");
const TYPE_MISMATCH: RuleId = RuleId::new("type-mismatch");
/// A field that the server, or Holdfast, owns.
const SERVER_OWNED: RuleId = RuleId::new("server-owned-field");
/// A permission that the Source doesn't let manifests give.
const PERMIT_IN_GIT: RuleId = RuleId::new("permit-in-git");

const PREFIX: &str = "holdfast.dev/";
const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
const KNOWN: [&str; 7] = ["wave", "adopt", "adopt-from", "release-to", "use", "replace", "prune"];

/// Whether an annotation is Holdfast's own, which no live object gets from a manifest.
pub(in crate::admission) fn is_own(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// Reads what a manifest asks for.
pub(in crate::admission) fn read(object: &Value, spec: &SourceSpec, findings: &mut Findings) -> Wants {
    let mut wants = Wants::default();
    let Some(annotations) = json::below(object, &["metadata", "annotations"]).and_then(Value::as_object) else {
        return wants;
    };
    let mut wave = None;
    for (key, value) in annotations {
        let own = key.strip_prefix(PREFIX);
        if own.is_none() && key != SYNC_WAVE && key != DEPENDS_ON {
            continue;
        }
        // The schema says that values are texts.
        let Some(text) = value.as_str() else { continue };
        let at = Reading { key, text, spec };
        match own {
            None if key == SYNC_WAVE => wave = at.number(findings),
            None => wants.depends_on = at.resources(findings),
            Some("wave") => {
                if let Some(number) = at.number(findings) {
                    wants.wave = number;
                }
            }
            Some("adopt") => wants.adopt = at.yes(findings) && at.permitted(GitPermission::Adopt, findings),
            Some("adopt-from") => {
                wants.adopt_from = at.source(findings).filter(|_| at.permitted(GitPermission::AdoptFrom, findings));
            }
            Some("release-to") => wants.release_to = at.source(findings),
            Some("use") => wants.use_ = at.yes(findings),
            Some("replace") => wants.replace = at.yes(findings) && at.permitted(GitPermission::Replace, findings),
            Some("prune") => wants.prune = at.prune(findings),
            Some(_) if key == OWNER_ANNOTATION => {
                let text = format!("{key} is Holdfast's to write on live objects: it is left out");
                findings.warn(Finding::new(SERVER_OWNED, at.path(), text));
            }
            Some(other) => {
                let text = format!("there is no annotation {}", escape(&shorten(key, 80)));
                let hint = match nearest(other) {
                    Some(meant) => format!("did you mean {PREFIX}{meant}?"),
                    None => format!("{PREFIX} has {}", KNOWN.join(", ")),
                };
                findings.fault(Finding::new(UNKNOWN_FIELD, at.path(), text).hint(hint));
            }
        }
    }
    if !annotations.contains_key("holdfast.dev/wave")
        && let Some(wave) = wave
    {
        wants.wave = wave;
    }
    wants
}

struct Reading<'a> {
    key: &'a str,
    text: &'a str,
    spec: &'a SourceSpec,
}

impl Reading<'_> {
    fn path(&self) -> Pointer {
        Pointer::of(["metadata", "annotations", self.key])
    }

    fn malformed(&self, wanted: &str, findings: &mut Findings) {
        let text = format!("{} must be {wanted}, and is \"{}\"", self.key, escape(&shorten(self.text, 80)));
        findings.fault(Finding::new(TYPE_MISMATCH, self.path(), text));
    }

    fn number(&self, findings: &mut Findings) -> Option<i32> {
        let number = self.text.parse().ok();
        if number.is_none() {
            self.malformed("a whole number in quotes", findings);
        }
        number
    }

    fn yes(&self, findings: &mut Findings) -> bool {
        if !matches!(self.text, "true" | "false") {
            self.malformed("\"true\" or \"false\"", findings);
        }
        self.text == "true"
    }

    fn source(&self, findings: &mut Findings) -> Option<SourceName> {
        let name = SourceName::parse(self.text).ok();
        if name.is_none() {
            self.malformed("the name of a Source", findings);
        }
        name
    }

    fn prune(&self, findings: &mut Findings) -> PrunePermission {
        match self.text {
            "keep" => PrunePermission::Keep,
            "allow" if self.permitted(GitPermission::Prune, findings) => PrunePermission::Allow,
            "allow" => PrunePermission::Unsaid,
            _ => {
                self.malformed("keep or allow", findings);
                PrunePermission::Unsaid
            }
        }
    }

    /// What the Source doesn't let manifests say counts for nothing.
    fn permitted(&self, permission: GitPermission, findings: &mut Findings) -> bool {
        let permitted = self.spec.permits_in_git(permission);
        if !permitted {
            let text =
                format!("{} has no effect: the Source's permitInGit doesn't list {}", self.key, permission.as_str());
            findings.warn(Finding::new(PERMIT_IN_GIT, self.path(), text));
        }
        permitted
    }

    /// `group/namespaces/NAMESPACE/Kind/name` or `group/Kind/name`, separated by commas; the core group is empty.
    fn resources(&self, findings: &mut Findings) -> Vec<ResourceId> {
        let mut resources = Vec::new();
        for part in self.text.split(',').map(str::trim) {
            let parts: Vec<&str> = part.split('/').collect();
            let (group, namespace, kind, name) = match parts.as_slice() {
                [group, "namespaces", namespace, kind, name] => (*group, Some(*namespace), *kind, *name),
                [group, kind, name] => (*group, None, *kind, *name),
                _ => ("", None, "", ""),
            };
            if kind.is_empty() || name.is_empty() || namespace == Some("") {
                self.malformed("a list of group/namespaces/NAMESPACE/Kind/name or group/Kind/name", findings);
                return Vec::new();
            }
            resources.push(ResourceId {
                group: group.to_owned(),
                kind: kind.to_owned(),
                namespace: namespace.map(str::to_owned),
                name: name.to_owned(),
            });
        }
        resources
    }
}

/// The annotation that was probably meant: equal but for case, `-` and `_`, or longer by a few letters.
fn nearest(key: &str) -> Option<&'static str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let wrong = plain(key);
    KNOWN.into_iter().find(|known| {
        let known = plain(known);
        wrong == known
            || (known.len() > 3 && (wrong.starts_with(&known) || known.starts_with(&wrong)) && wrong.len() > 2)
    })
}
