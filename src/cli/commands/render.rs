//! `holdfast render [SOURCE...]`: the manifests as they were read.

use serde_json::{Value, json};

use crate::admission::Checked;
use crate::apply::prepare;
use crate::base::sensitive;
use crate::base::text::escape;
use crate::base::yaml;
use crate::cli::args::{Format, Global, Permissions, RenderArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::target::sqlite::Access;

/// Prints every manifest, sensitive values masked.
pub(crate) fn run(args: &RenderArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Yaml, Format::Json])?;
    let secrets = output.secrets()?;
    let session = Session::open(global, &args.fetching, Access::Create, env, output)?;
    let context = session.context();
    let prepared = prepare(&context, session.request(&args.sources, &Permissions::default(), Vec::new())?);
    session.quiet();
    let prepared = prepared?;
    let manifests: Vec<&Checked> = prepared.sets().flat_map(|(_, set)| set.manifests()).collect();
    if format == Format::Json {
        let items: Vec<Value> = manifests.iter().map(|checked| shown(checked, secrets)).collect();
        output.json(&json!({"apiVersion": "v1", "kind": "List", "items": items}))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for checked in manifests {
        text.push_str(&format!("---\n# {}:{}\n", escape(&checked.file_text()), checked.line()));
        text.push_str(&yaml::to_yaml(&shown(checked, secrets)));
    }
    output.data(&text)?;
    Ok(Exit::Done)
}

fn shown(checked: &Checked, secrets: bool) -> Value {
    if secrets { checked.declared().clone() } else { sensitive::mask(checked.declared(), checked.sensitive()) }
}
