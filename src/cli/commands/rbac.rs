//! `holdfast rbac [SOURCE...]`: the least roles of Sources on a cluster.

use serde_json::{Value, json};

use crate::base::yaml;
use crate::cli::args::{Fetching, Format, Global, RbacArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::schema::Catalog;
use crate::schema::crd::Crd;
use crate::source::target::TargetKind;
use crate::target::kubernetes::{Roles, UnknownKind, roles};
use crate::target::sqlite::Access;

/// Prints the roles. The cluster is asked only for kinds that aren't built in.
pub(crate) fn run(args: &RbacArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Yaml, Format::Json])?;
    let session = Session::open(global, &Fetching::default(), Access::Read, env, output)?;
    let TargetKind::Kubernetes { state_namespace, .. } = &session.spec().kind else {
        let text = format!("Target {} is no Kubernetes cluster: it has no roles", session.spec().name);
        return Err(Failure::refused(text).hint("name one with --target").into());
    };
    let mut catalog = Catalog::builtin();
    let mut all: Vec<(String, Vec<Value>)> = Vec::new();
    let mut states: Vec<Value> = Vec::new();
    for spec in session.chosen(&args.sources)? {
        let made = roles(spec, &catalog, state_namespace, args.read_only).or_else(|UnknownKind(kind)| {
            catalog = served(&session)?;
            roles(spec, &catalog, state_namespace, args.read_only).map_err(|_| {
                let text = format!("Source {}: nobody defines the kind {kind}", spec.name);
                Stop::from(
                    Failure::refused(text).hint("install its CustomResourceDefinition first, or correct the Source"),
                )
            })
        })?;
        let Roles { objects, state } = made;
        all.push((format!("objects of Source {}", spec.name), objects));
        states.extend(state.into_iter().filter(|role| !states.contains(role)).collect::<Vec<_>>());
    }
    all.push(("Holdfast's own state: for the account that runs holdfast".to_owned(), states));
    if format == Format::Json {
        let items: Vec<&Value> = all.iter().flat_map(|(_, roles)| roles).collect();
        output.json(&json!({"apiVersion": "v1", "kind": "List", "items": items}))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (about, roles) in &all {
        for (index, role) in roles.iter().enumerate() {
            text.push_str("---\n");
            if index == 0 {
                text.push_str(&format!("# {about}\n"));
            }
            text.push_str(&yaml::to_yaml(role));
        }
    }
    output.data(&text)?;
    Ok(Exit::Done)
}

/// The built-in kinds and those that the cluster defines.
fn served(session: &Session) -> Result<Catalog, Stop> {
    let definitions = session.target().reader()?.definitions()?;
    let crds = definitions.iter().filter_map(|live| Crd::read(&live.object).ok());
    Ok(Catalog::builtin().with_crds(crds.collect()))
}
