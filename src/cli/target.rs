//! Opens the target that a configuration names. The only place that knows adapters.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::exit::{Failure, Stop};
use crate::base::clock::Moment;
use crate::source::target::{DEFAULT_STATE_NAMESPACE, TargetKind, TargetSpec};
use crate::target::sqlite::{Access, Embedded, Options};

/// Reads `--target`: the name of a Target of the configuration, `embedded:PATH` or `kubernetes:CONTEXT`.
pub(crate) fn choose(
    asked: Option<&str>,
    targets: &[TargetSpec],
    base: &Path,
    folder: &Path,
) -> Result<TargetSpec, Failure> {
    if let Some(text) = asked {
        if let Some(path) = text.strip_prefix("embedded:") {
            return Ok(embedded(text, folder.join(path)));
        }
        if let Some(context) = text.strip_prefix("kubernetes:") {
            let kind = TargetKind::Kubernetes {
                kubeconfig: None,
                context: Some(context.to_owned()),
                state_namespace: DEFAULT_STATE_NAMESPACE.to_owned(),
                single_tenant: false,
            };
            return Ok(TargetSpec { name: text.to_owned(), kind });
        }
        let found = targets.iter().find(|target| target.name == text);
        return found.cloned().ok_or_else(|| {
            let names: Vec<&str> = targets.iter().map(|t| t.name.as_str()).collect();
            Failure::usage(format!("the configuration has no Target {text:?}; it has {names:?}"))
                .hint("or write embedded:PATH or kubernetes:CONTEXT")
        });
    }
    match targets {
        [] => Ok(embedded("local", base.join(".holdfast/control-plane.db"))),
        [one] => Ok(one.clone()),
        many => {
            let names: Vec<&str> = many.iter().map(|t| t.name.as_str()).collect();
            Err(Failure::usage(format!("the configuration has several Targets {names:?}; name one with --target")))
        }
    }
}

fn embedded(name: &str, path: PathBuf) -> TargetSpec {
    TargetSpec { name: name.to_owned(), kind: TargetKind::Embedded { path } }
}

/// How long a command that is no apply waits for another process.
const WAIT: Duration = Duration::from_secs(60);

/// Opens it.
pub(crate) fn open(spec: &TargetSpec, access: Access, now: Moment) -> Result<Embedded, Stop> {
    match &spec.kind {
        TargetKind::Embedded { path } => {
            let new = !path.exists();
            let opened = Embedded::open(path, Options { access, wait: WAIT, now })?;
            if new && let Some(folder) = path.parent() {
                keep_out_of_git(folder)?;
            }
            Ok(opened)
        }
        TargetKind::Kubernetes { .. } => Err(Failure::refused(format!(
            "Target {} is a Kubernetes cluster, which this build can't write to yet",
            spec.name
        ))
        .hint("use an embedded target")
        .into()),
    }
}

/// A control plane holds Secrets in the clear and mustn't slip into a commit: a `.holdfast` folder ignores itself.
fn keep_out_of_git(folder: &Path) -> Result<(), Failure> {
    let ignore = folder.join(".gitignore");
    if !folder.ends_with(".holdfast") || ignore.exists() {
        return Ok(());
    }
    std::fs::write(&ignore, "*\n").map_err(|e| Failure::refused(format!("{} can't be written: {e}", ignore.display())))
}
