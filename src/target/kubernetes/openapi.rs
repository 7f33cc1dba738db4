//! The schemas that the API server publishes of itself (OpenAPI v3): of all kinds but those of CustomResourceDefinitions.
//!
//! The server names each document's digest, so that what was read once is kept, in a folder of ours, under the digest of them
//! all.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::connection::Connection;
use super::discovery::Discovery;
use super::request::{Ask, JSON, object};
use crate::base::digest;
use crate::base::resource::GroupKind;
use crate::schema::Catalog;
use crate::source::mirror::private_folder;
use crate::target::TargetError;

/// The form of what is kept; another one is read anew.
const FORMAT: u32 = 1;
/// How many documents are read at once.
const IN_FLIGHT: usize = 8;
/// How often a document is asked for that the server doesn't have ready.
const LOOKS: u32 = 20;
/// How long is waited between.
const BETWEEN: Duration = Duration::from_millis(250);
/// Most bytes of all schemas, unpacked.
const LARGEST: u64 = 64 * 1024 * 1024;

/// The kinds that the server publishes; `custom` are defined by CustomResourceDefinitions and left out.
pub(super) async fn catalog(on: &Connection, custom: &BTreeSet<GroupKind>) -> Result<Catalog, TargetError> {
    let discovery = on.discovery().await?;
    let resources = discovery.published(custom);
    let wanted: BTreeSet<String> = resources.iter().map(document).collect();
    let index = read(on, "/openapi/v3").await?;
    let paths = index.get("paths").and_then(Value::as_object);
    let urls: BTreeMap<&str, &str> = paths
        .into_iter()
        .flatten()
        .filter(|(path, _)| wanted.contains(path.as_str()))
        .filter_map(|(path, entry)| Some((path.as_str(), entry.get("serverRelativeURL")?.as_str()?)))
        .collect();
    let key = digest::of_value(&json!([FORMAT, urls, resources])).to_string();
    if let Some(known) = on.schemas(&key) {
        return Ok(known);
    }
    // Where others could write, nothing is kept and nothing believed.
    let folder = on.cache.as_ref().filter(|folder| private_folder(folder).is_ok());
    let file = folder.map(|folder| folder.join("openapi").join(format!("{}.zlib", key.replace(':', "-"))));
    let text = match file.as_deref().and_then(kept) {
        Some(text) => text,
        None => {
            let text = published(on, &urls, resources).await?;
            if let Some(file) = file {
                // What can't be kept is read again the next time.
                drop(keep(&file, &text));
            }
            text
        }
    };
    let catalog = Catalog::published(&text);
    on.keep_schemas(key, catalog.clone());
    Ok(catalog)
}

/// The name of the document that describes a resource.
fn document(resource: &Value) -> String {
    let text = |key: &str| resource.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("group") {
        "" => format!("api/{}", text("version")),
        group => format!("apis/{group}/{}", text("version")),
    }
}

async fn read(on: &Connection, url: &str) -> Result<Value, TargetError> {
    for _ in 0..LOOKS {
        let answer = on.send(&Ask::get(url, JSON)).await;
        let answer = answer.map_err(|failed| on.unavailable("its schemas can't be read", &failed))?;
        if !answer.body.is_empty() {
            return object(&answer.body).map_err(|e| on.damaged(format!("its schemas can't be read: {e}")));
        }
        // While a server makes its documents anew it may answer 200 and nothing.
        tokio::time::sleep(BETWEEN).await;
    }
    Err(on.damaged("its schemas can't be read: the answer is empty"))
}

/// Reads the documents and writes them in the form of [`crate::schema::Catalog::published`]: a line for each resource, an
/// empty line, then a line `NAME JSON` for each definition, sorted.
async fn published(
    on: &Connection,
    urls: &BTreeMap<&str, &str>,
    mut resources: Vec<Value>,
) -> Result<String, TargetError> {
    let reads = urls.values().map(|url| read(on, url));
    let documents: Vec<Value> = stream::iter(reads).buffered(IN_FLIGHT).try_collect().await?;
    let mut definitions: BTreeMap<String, Value> = BTreeMap::new();
    for mut document in documents {
        let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas").map(Value::take) else {
            continue;
        };
        for (name, mut schema) in schemas {
            bare(&mut schema);
            definitions.entry(name).or_insert(schema);
        }
    }
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for (name, schema) in &definitions {
        // Options of requests name every group; what describes one kind names that one.
        if let Some([one]) = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array).map(Vec::as_slice)
        {
            names.insert(kind_of(one), name);
        }
    }
    for resource in &mut resources {
        if let Some(name) = names.get(&kind_of(resource)) {
            resource["definition"] = (*name).into();
        }
    }
    let mut lines: Vec<String> = resources.iter().map(Value::to_string).collect();
    lines.push(String::new());
    lines.extend(definitions.iter().map(|(name, schema)| format!("{name} {schema}")));
    Ok(lines.join("\n"))
}

fn kind_of(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}/{}", text("group"), text("version"), text("kind"))
}

/// Takes away what only people read.
fn bare(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("description").is_some_and(Value::is_string) {
                map.remove("description");
            }
            map.values_mut().for_each(bare);
        }
        Value::Array(list) => list.iter_mut().for_each(bare),
        _ => {}
    }
}

/// What was kept, if it is whole: the digest of the text, a line's end, the text.
fn kept(file: &Path) -> Option<String> {
    let packed = std::fs::File::open(file).ok()?;
    let mut all = String::new();
    ZlibDecoder::new(packed).take(LARGEST).read_to_string(&mut all).ok()?;
    let (sum, text) = all.split_once('\n')?;
    (digest::sha256(text.as_bytes()).to_string() == sum).then(|| text.to_owned())
}

fn keep(file: &PathBuf, text: &str) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut packer = ZlibEncoder::new(tempfile::NamedTempFile::new_in(folder)?, Compression::fast());
    write!(packer, "{}\n{text}", digest::sha256(text.as_bytes()))?;
    packer.finish()?.persist(file)?;
    Ok(())
}

impl Discovery {
    /// The resources that no CustomResourceDefinition defines, in the form that schemas are packed with: of each kind the
    /// version that the server prefers first.
    fn published(&self, custom: &BTreeSet<GroupKind>) -> Vec<Value> {
        let own = self.kinds().filter(|(kind, _)| !custom.contains(kind));
        own.flat_map(|(kind, all)| {
            all.iter().map(|served| {
                json!({
                    "group": served.group, "version": served.version, "kind": kind.kind, "plural": served.plural,
                    "singular": served.singular, "shortNames": served.short_names, "namespaced": served.namespaced,
                    "verbs": served.verbs,
                })
            })
        })
        .collect()
    }
}
