//! Checks of single fields.

use serde_json::{Map, Value};

use super::cron;
use crate::base::text::{escape, shorten};
use crate::schema::fault::rule;
use crate::schema::names::{self, BadName};
use crate::schema::path::{Out, Path};

/// Bytes that all keys and values of annotations may have together (apimachinery, `TotalAnnotationSizeLimitB`).
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;

/// A check of one field's value. A value of a wrong type passes: the type is judged elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::schema) enum Leaf {
    /// A number from, to.
    Range(i64, i64),
    /// A number from.
    AtLeast(i64),
    /// A file mode, 0 to 0777.
    Mode,
    /// A port's number or name.
    PortOrName,
    /// A count, or a percentage as text.
    CountOrPercent,
    /// An IANA service name.
    PortName,
    /// A DNS-1123 label.
    Label,
    /// A DNS-1123 subdomain.
    Subdomain,
    /// A label's key.
    Qualified,
    /// The name of an environment variable.
    EnvName,
    /// An image reference: not empty, no blanks around it.
    Image,
    /// A map of labels.
    Labels,
    /// A map of annotations.
    Annotations,
    /// A list of finalizers.
    Finalizers,
    /// A map whose keys are those of a ConfigMap.
    ConfigKeys,
    /// A cron schedule.
    Cron,
}

impl Leaf {
    pub(in crate::schema) fn check(self, value: &Value, path: &Path<'_>, out: &mut Out) {
        match (self, value) {
            (Self::Range(..) | Self::AtLeast(_) | Self::Mode, Value::Number(_)) => self.number(value, path, out),
            (Self::PortOrName, Value::Number(_)) => Self::Range(1, 65535).number(value, path, out),
            (Self::PortOrName | Self::PortName, Value::String(text)) => named(names::port_name, text, path, out),
            (Self::CountOrPercent, Value::Number(_)) => Self::AtLeast(0).number(value, path, out),
            (Self::CountOrPercent, Value::String(text)) => percent(text, path, out),
            (Self::Label, Value::String(text)) => named(names::label, text, path, out),
            (Self::Subdomain, Value::String(text)) if !text.is_empty() => named(names::subdomain, text, path, out),
            (Self::Qualified, Value::String(text)) => named(names::qualified, text, path, out),
            (Self::EnvName, Value::String(text)) => named(names::env_name, text, path, out),
            (Self::Image, Value::String(text)) if text.is_empty() => {
                out.add(rule::MISSING_FIELD, path, "image is empty");
            }
            (Self::Image, Value::String(text)) if text.trim() != text => {
                out.add(rule::OUT_OF_RANGE, path, "image has blanks at its start or end");
            }
            (Self::Labels, Value::Object(map)) => labels(map, path, out),
            (Self::Annotations, Value::Object(map)) => annotations(map, path, out),
            (Self::Finalizers, Value::Array(list)) => {
                for (index, text) in list.iter().enumerate().filter_map(|(i, v)| Some((i, v.as_str()?))) {
                    named(names::qualified, text, &path.index(index), out);
                }
            }
            (Self::ConfigKeys, Value::Object(map)) => {
                for key in map.keys() {
                    named(names::config_key, key, &path.key(key), out);
                }
            }
            (Self::Cron, Value::String(text)) => {
                if let Err(why) = cron::check(text) {
                    let text = format!("{:?} is no schedule: {why}", shorten(&escape(text), 80));
                    out.add(rule::OUT_OF_RANGE, path, text);
                }
            }
            _ => {}
        }
    }

    fn number(self, value: &Value, path: &Path<'_>, out: &mut Out) {
        let Some(number) = value.as_i64() else { return };
        let name = path.last_key();
        match self {
            Self::Range(from, to) if !(from..=to).contains(&number) => {
                out.add(rule::OUT_OF_RANGE, path, format!("{name} is {number} and must be from {from} to {to}"));
            }
            Self::AtLeast(from) if number < from => {
                out.add(rule::OUT_OF_RANGE, path, format!("{name} is {number} and must be at least {from}"));
            }
            Self::Mode if !(0..=0o777).contains(&number) => {
                let text = format!("{name} is {number} and must be from 0 to 511 (octal 0777)");
                out.add_hint(rule::OUT_OF_RANGE, path, text, "write a file mode in octal, with a 0 before it: 0644");
            }
            _ => {}
        }
    }
}

fn named(judge: impl Fn(&str) -> Result<(), BadName>, text: &str, path: &Path<'_>, out: &mut Out) {
    if let Err(why) = judge(text) {
        let text = format!("{:?} is refused by the API server: {why}", shorten(&escape(text), 80));
        out.add(rule::BAD_NAME, path, text);
    }
}

fn percent(text: &str, path: &Path<'_>, out: &mut Out) {
    let good = text.strip_suffix('%').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if !good {
        let text = format!("{} must be a count or a percentage such as 25%", path.last_key());
        out.add(rule::OUT_OF_RANGE, path, text);
    }
}

fn labels(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    for (key, value) in map {
        named(names::qualified, key, &path.key(key), out);
        if let Some(text) = value.as_str() {
            named(names::label_value, text, &path.key(key), out);
        }
    }
}

fn annotations(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let mut bytes = 0;
    for (key, value) in map {
        named(names::annotation_key, key, &path.key(key), out);
        bytes += key.len() + value.as_str().map_or(0, str::len);
    }
    if bytes > MOST_ANNOTATION_BYTES {
        let text = format!("the annotations have {bytes} bytes together and may have {MOST_ANNOTATION_BYTES}");
        out.add(rule::SIZE_LIMIT, path, text);
    }
}
