//! Where a cluster is and who we are there: a kubeconfig's context, or the Pod that this runs in.

use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// Where the connection's settings come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// These kubeconfig files, joined as kubectl joins those of `KUBECONFIG`: what an earlier one says counts.
    Files(Vec<PathBuf>),
    /// The Pod's own service account.
    InCluster,
}

/// What a kubeconfig's context would have this process do, beyond speaking with its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It runs a program to get a credential.
    Program,
    /// It names other files, such as a key or a token.
    File,
}

/// Reads the kubeconfig files.
pub(super) fn read(files: &[PathBuf]) -> Result<Kubeconfig, String> {
    let mut all: Option<Kubeconfig> = None;
    for file in files {
        let one =
            Kubeconfig::read_from(file).map_err(|e| format!("{} can't be read: {}", file.display(), chain(&e)))?;
        all = Some(match all {
            None => one,
            Some(before) => before.merge(one).map_err(|e| format!("{}: {}", file.display(), chain(&e)))?,
        });
    }
    all.ok_or_else(|| "no kubeconfig is named".to_owned())
}

/// What a context of these files reaches for.
///
/// # Errors
/// If the files can't be read or have no such context.
pub fn reaches(files: &[PathBuf], context: Option<&str>) -> Result<Vec<Reach>, String> {
    let config = read(files)?;
    let name = context.or(config.current_context.as_deref()).ok_or("the kubeconfig has no current context")?;
    let context = config.contexts.iter().find(|c| c.name == name).and_then(|c| c.context.as_ref());
    let context = context.ok_or_else(|| format!("the kubeconfig has no context {name:?}"))?;
    let cluster = config.clusters.iter().find(|c| c.name == context.cluster).and_then(|c| c.cluster.as_ref());
    let user = config.auth_infos.iter().find(|u| Some(&u.name) == context.user.as_ref());
    let user = user.and_then(|u| u.auth_info.as_ref());
    let mut found = Vec::new();
    if user.is_some_and(|user| user.exec.is_some() || user.auth_provider.is_some()) {
        found.push(Reach::Program);
    }
    let names_file = user.is_some_and(|user| {
        user.token_file.is_some() || user.client_certificate.is_some() || user.client_key.is_some()
    }) || cluster.is_some_and(|cluster| cluster.certificate_authority.is_some());
    if names_file {
        found.push(Reach::File);
    }
    Ok(found)
}

/// The settings, and the name of what they lead to.
pub(super) async fn config(place: &Place, context: Option<&str>) -> Result<Config, String> {
    match place {
        Place::InCluster => Config::incluster().map_err(|e| format!("this is no Pod of a cluster: {}", chain(&e))),
        Place::Files(files) => {
            let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
            Config::from_custom_kubeconfig(read(files)?, &options).await.map_err(|e| chain(&e))
        }
    }
}

/// An error with its causes; whoever shows it escapes it.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

/// A path of an API, with each part as it must stand in a URL.
pub(super) fn display_files(files: &[PathBuf]) -> String {
    files.iter().map(|file| Path::display(file).to_string()).collect::<Vec<_>>().join(":")
}
