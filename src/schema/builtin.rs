//! The built-in kinds of Kubernetes 1.36.3: the API's own OpenAPI, compressed into the binary.
//!
//! The data is unpacked when the first built-in kind is asked for, and each definition is compiled when first reached.
//! Its form: a line of JSON for each resource, an empty line, then a line `NAME JSON` for each definition, sorted.

use std::fmt;
use std::io::Read;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use super::node::Node;
use super::translate;

static PACKED: &[u8] = include_bytes!("data/builtin.zlib");

/// One definition of a published OpenAPI: that of the built-in kinds, or what a target publishes of itself.
#[derive(Clone, Copy)]
pub struct Definition {
    of: &'static Published,
    at: u16,
}

impl Definition {
    /// The definition of a name such as `io.k8s.api.core.v1.Pod` among the built-in kinds.
    pub(super) fn named(name: &str) -> Option<Self> {
        published().definition(name)
    }

    /// Its compiled form.
    pub(super) fn node(self) -> &'static Node {
        let entry = &self.of.definitions[usize::from(self.at)];
        entry.node.get_or_init(|| translate::definition(self.of, entry.name(), &entry.schema()))
    }

    /// Whether it has fields that must be there, by the published schema.
    pub(super) fn has_required(self) -> bool {
        self.of.definitions[usize::from(self.at)].schema().get("required").is_some()
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Definition").field(&self.of.definitions[usize::from(self.at)].name()).finish()
    }
}

/// A resource that is published.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
    pub(super) namespaced: bool,
    pub(super) verbs: Vec<String>,
    /// The definition that describes its objects, where the text says which.
    #[serde(default)]
    pub(super) definition: Option<String>,
}

impl Resource {
    /// The definition that describes its objects. All of them name their package after group and version; the few
    /// packages that don't follow their group's first label stand here.
    pub(super) fn definition(&self, of: &'static Published) -> Option<Definition> {
        if let Some(name) = &self.definition {
            return of.definition(name);
        }
        let package = match self.group.as_str() {
            "" => "io.k8s.api.core".to_owned(),
            "apiextensions.k8s.io" => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions".to_owned(),
            "apiregistration.k8s.io" => "io.k8s.kube-aggregator.pkg.apis.apiregistration".to_owned(),
            group => format!("io.k8s.api.{}", group.split('.').next().unwrap_or(group)),
        };
        of.definition(&format!("{package}.{}.{}", self.version, self.kind))
    }
}

struct Entry {
    line: &'static str,
    name_end: usize,
    node: OnceLock<Node>,
}

impl Entry {
    fn name(&self) -> &'static str {
        &self.line[..self.name_end]
    }

    fn schema(&self) -> Value {
        // A line that can't be read becomes a schema that takes nothing; the test of the data holds that there is none.
        serde_json::from_str(&self.line[self.name_end..]).unwrap_or_default()
    }
}

/// What an API server publishes of itself, unpacked.
pub(super) struct Published {
    pub(super) resources: Vec<Resource>,
    definitions: Vec<Entry>,
}

impl Published {
    /// Reads the form that the head of this file describes.
    pub(super) fn read(text: &'static str) -> Self {
        let (resources, definitions) = text.split_once("\n\n").unwrap_or_default();
        Self {
            resources: resources.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            definitions: definitions
                .lines()
                .filter_map(|line| Some(Entry { line, name_end: line.find(' ')?, node: OnceLock::new() }))
                .collect(),
        }
    }

    /// The definition of a name.
    pub(super) fn definition(&'static self, name: &str) -> Option<Definition> {
        let found = self.definitions.binary_search_by(|d| d.name().cmp(name)).ok()?;
        Some(Definition { of: self, at: u16::try_from(found).ok()? })
    }
}

/// The unpacked text.
pub(super) fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = String::with_capacity(300_000);
        match flate2::read::ZlibDecoder::new(PACKED).read_to_string(&mut text) {
            Ok(_) => text,
            // The bytes are part of the binary: nothing can be built in then, and every kind is unknown.
            Err(_) => String::new(),
        }
    })
}

/// The built-in kinds.
pub(super) fn published() -> &'static Published {
    static DATA: OnceLock<Published> = OnceLock::new();
    DATA.get_or_init(|| Published::read(text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_data_is_the_published_one() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/openapi");
        let read = |name: &str| -> Value {
            serde_json::from_slice(&std::fs::read(format!("{root}/{name}")).unwrap()).unwrap()
        };
        let (resources, definitions) = text().split_once("\n\n").unwrap();
        let resources: Vec<Value> = resources.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(Value::Array(resources), read("resources.json"));
        let definitions: serde_json::Map<String, Value> = definitions
            .lines()
            .map(|line| {
                let (name, schema) = line.split_once(' ').unwrap();
                (name.to_owned(), serde_json::from_str(schema).unwrap())
            })
            .collect();
        assert_eq!(Value::Object(definitions), read("schemas.json"));
        assert_eq!(published().resources.len(), 68);
    }

    /// `cargo test --lib pack_the_data -- --ignored`, after new data came into `tests/data/openapi`.
    #[test]
    #[ignore = "writes src/schema/data"]
    fn pack_the_data() {
        use std::io::Write as _;
        let root = env!("CARGO_MANIFEST_DIR");
        let read = |name: &str| std::fs::read(format!("{root}/tests/data/openapi/{name}")).unwrap();
        let resources: Vec<Value> = serde_json::from_slice(&read("resources.json")).unwrap();
        let schemas: serde_json::Map<String, Value> = serde_json::from_slice(&read("schemas.json")).unwrap();
        let mut lines: Vec<String> = resources.iter().map(Value::to_string).collect();
        lines.push(String::new());
        lines.extend(schemas.iter().map(|(name, schema)| format!("{name} {schema}")));
        let file = std::fs::File::create(format!("{root}/src/schema/data/builtin.zlib")).unwrap();
        let mut packed = flate2::write::ZlibEncoder::new(file, flate2::Compression::best());
        packed.write_all(lines.join("\n").as_bytes()).unwrap();
        packed.finish().unwrap();
    }

    #[test]
    fn every_definition_compiles_and_every_reference_leads_somewhere() {
        for (index, entry) in published().definitions.iter().enumerate() {
            Definition { of: published(), at: u16::try_from(index).unwrap() }.node();
            let text = entry.schema().to_string();
            for reference in text.split("#/components/schemas/").skip(1) {
                let name = reference.split('"').next().unwrap();
                assert!(Definition::named(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn every_resource_has_its_definition() {
        for resource in &published().resources {
            let node = resource.definition(published()).map(Definition::node);
            assert!(node.is_some_and(|n| n.properties.contains_key("metadata")), "{}", resource.kind);
        }
    }
}
