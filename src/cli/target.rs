//! Opens the target that a configuration names. The only place that knows adapters.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::env::{Env, WallClock};
use super::exit::{Failure, Stop};
use crate::base::clock::Moment;
use crate::source::spec::SourceSpec;
use crate::source::target::{DEFAULT_STATE_NAMESPACE, TargetKind, TargetSpec};
use crate::source::worktree;
use crate::target::Target;
use crate::target::kubernetes::{Kubernetes, Options, Place, Reach, reaches};
use crate::target::sqlite::{self, Access, Embedded};

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

/// A target that is open.
pub(crate) enum Opened {
    /// An embedded control plane.
    Embedded(Embedded),
    /// A cluster.
    Kubernetes(Box<Kubernetes>),
}

impl Opened {
    /// The same, keeping in memory what is read of it again and again.
    pub(crate) fn remembering(self) -> Self {
        match self {
            Self::Embedded(target) => Self::Embedded(target.remembering()),
            Self::Kubernetes(_) => self,
        }
    }

    /// The target behind its port.
    pub(crate) fn target(&self) -> &dyn Target {
        match self {
            Self::Embedded(target) => target,
            Self::Kubernetes(target) => target.as_ref(),
        }
    }
}

/// Opens it.
pub(crate) fn open(
    spec: &TargetSpec,
    access: Access,
    now: Moment,
    env: &Env,
    asked: &Asked<'_>,
) -> Result<Opened, Stop> {
    match &spec.kind {
        TargetKind::Embedded { path } => {
            let new = !path.exists();
            let opened = Embedded::open(path, sqlite::Options { access, wait: WAIT, now })?;
            if new && let Some(folder) = path.parent() {
                keep_out_of_git(folder)?;
            }
            Ok(Opened::Embedded(opened))
        }
        TargetKind::Kubernetes { kubeconfig, context, state_namespace, .. } => {
            let place = match kubeconfig {
                Some(file) => Place::Files(vec![file.clone()]),
                None if !env.kubeconfig.is_empty() => Place::Files(env.kubeconfig.clone()),
                None if env.in_cluster => Place::InCluster,
                None => {
                    let text =
                        format!("Target {} names no kubeconfig, and there is none where kubectl looks", spec.name);
                    return Err(Failure::refused(text).hint("set KUBECONFIG, or kubeconfig in the Target").into());
                }
            };
            trusted(&place, context.as_deref(), asked)?;
            let options = Options {
                place,
                context: context.clone(),
                state_namespace: state_namespace.clone(),
                lease: env.lease,
                cache: env.cache.clone(),
                sources: asked.sources.to_vec(),
            };
            Ok(Opened::Kubernetes(Box::new(Kubernetes::open(&options, Arc::new(WallClock))?)))
        }
    }
}

/// In a Pod the loop writes as one account for every Source without one of its own: somebody must have said that this is
/// meant.
pub(crate) fn may_run<'s>(
    spec: &TargetSpec,
    mut sources: impl Iterator<Item = &'s SourceSpec>,
    env: &Env,
) -> Result<(), Failure> {
    let TargetKind::Kubernetes { single_tenant: false, .. } = spec.kind else { return Ok(()) };
    let Some(source) = sources.find(|source| env.in_cluster && source.service_account.is_none()) else { return Ok(()) };
    let text = format!("run in a cluster would write for Source {} as its own account", source.name);
    let hint = "name a serviceAccount in the Source; or, if all who can write to the Sources' repositories may do what this \
                account may, say singleTenant: true in the Target";
    Err(Failure::refused(text).hint(hint))
}

/// What of the command line and the configuration counts for a connection.
pub(crate) struct Asked<'a> {
    /// The folder of the configuration.
    pub(crate) base: &'a Path,
    /// `--trust-kubeconfig`.
    pub(crate) trust_kubeconfig: bool,
    /// The Sources of the configuration.
    pub(crate) sources: &'a [SourceSpec],
}

/// A kubeconfig that came with a work tree is as trusted as what is in it: it runs no program and names no file of this
/// machine unless somebody says so.
fn trusted(place: &Place, context: Option<&str>, asked: &Asked<'_>) -> Result<(), Failure> {
    let Place::Files(files) = place else { return Ok(()) };
    if asked.trust_kubeconfig {
        return Ok(());
    }
    let inside: Vec<&PathBuf> = files.iter().filter(|file| worktree::holds(file, asked.base)).collect();
    let Some(file) = inside.first() else { return Ok(()) };
    let reached = reaches(files, context).map_err(Failure::refused)?;
    let what = match reached.first() {
        None => return Ok(()),
        Some(Reach::Program) => "runs a program",
        Some(Reach::File) => "names files of this machine",
    };
    let text = format!("the kubeconfig {} lies in a work tree and {what}", file.display());
    Err(Failure::refused(text).hint("if you trust it as you trust your own, say so with --trust-kubeconfig"))
}

/// A control plane holds Secrets in the clear and mustn't slip into a commit: a `.holdfast` folder ignores itself.
fn keep_out_of_git(folder: &Path) -> Result<(), Failure> {
    let ignore = folder.join(".gitignore");
    if !folder.ends_with(".holdfast") || ignore.exists() {
        return Ok(());
    }
    std::fs::write(&ignore, "*\n").map_err(|e| Failure::refused(format!("{} can't be written: {e}", ignore.display())))
}
