//! The syntax of names, labels and keys (apimachinery, `util/validation`), and which kind asks for which.

use crate::base::resource::GroupKind;

/// Why a name is refused: one sentence that says what is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadName(&'static str);

/// What the names of a kind may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// DNS-1123 subdomain: the rule of most kinds.
    Subdomain,
    /// DNS-1123 label.
    Label,
    /// DNS-1035 label: it begins with a letter.
    Label1035,
    /// What can stand in a URL's path as one part (RBAC: `system:node`).
    PathSegment,
    /// A subdomain of at most 52 characters: a CronJob's Jobs add 11.
    CronJob,
    /// An IP address in its canonical text.
    IpAddress,
}

/// The rule of a kind. Kinds that aren't listed, custom ones too, have subdomains.
///
/// Sources: `pkg/apis/*/validation` of Kubernetes, functions `Validate*Name`.
pub fn rule_of(kind: &GroupKind) -> NameRule {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => NameRule::Label,
        // ValidateServiceName; relaxed to DNS-1123 only behind a feature gate.
        ("", "Service") => NameRule::Label1035,
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding") => {
            NameRule::PathSegment
        }
        ("flowcontrol.apiserver.k8s.io", _) => NameRule::Subdomain,
        ("batch", "CronJob") => NameRule::CronJob,
        ("networking.k8s.io", "IPAddress") => NameRule::IpAddress,
        ("certificates.k8s.io", "CertificateSigningRequest") => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

/// Checks the name of an object of a kind.
///
/// # Errors
/// If the API server would refuse it.
pub fn check(kind: &GroupKind, name: &str) -> Result<(), BadName> {
    match rule_of(kind) {
        NameRule::Subdomain => subdomain(name),
        NameRule::Label => label(name),
        NameRule::Label1035 => label_1035(name),
        NameRule::PathSegment => path_segment(name),
        NameRule::CronJob if name.len() > 52 => Err(BadName("the name of a CronJob has at most 52 characters")),
        NameRule::CronJob => subdomain(name),
        NameRule::IpAddress => match name.parse::<std::net::IpAddr>() {
            Ok(ip) if ip.to_string() == name => Ok(()),
            _ => Err(BadName("the name is an IP address in its canonical form")),
        },
    }
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if is_lower(*first) && is_lower(*last))
        && bytes.iter().all(|b| is_lower(*b) || *b == b'-')
}

/// DNS-1123 label: at most 63 of `a-z`, `0-9`, `-`, with a letter or digit at both ends.
///
/// # Errors
/// If it isn't one.
pub fn label(text: &str) -> Result<(), BadName> {
    if text.len() <= 63 && is_label(text) {
        return Ok(());
    }
    Err(BadName("a name has at most 63 of a-z, 0-9 and -, with a letter or digit at both ends"))
}

/// DNS-1035 label: a DNS-1123 label that begins with a letter.
///
/// # Errors
/// If it isn't one.
pub fn label_1035(text: &str) -> Result<(), BadName> {
    if text.len() <= 63 && is_label(text) && text.as_bytes()[0].is_ascii_lowercase() {
        return Ok(());
    }
    Err(BadName("a name has at most 63 of a-z, 0-9 and -, begins with a letter and ends with a letter or digit"))
}

/// DNS-1123 subdomain: at most 253 characters, parts like labels (but of any length) joined by dots.
///
/// # Errors
/// If it isn't one.
pub fn subdomain(text: &str) -> Result<(), BadName> {
    if text.len() <= 253 && text.split('.').all(is_label) {
        return Ok(());
    }
    Err(BadName("a name has at most 253 of a-z, 0-9, - and ., with a letter or digit at both ends of each part"))
}

/// What can be one part of a URL's path.
///
/// # Errors
/// If it can't.
pub fn path_segment(text: &str) -> Result<(), BadName> {
    if text.is_empty() || text == "." || text == ".." || text.contains(['/', '%']) {
        return Err(BadName("a name isn't empty, . or .., and has no / and no %"));
    }
    Ok(())
}

fn is_qualified_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// A key of labels or annotations: `name` or `prefix/name`.
///
/// # Errors
/// If it isn't one.
pub fn qualified(text: &str) -> Result<(), BadName> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if prefix.is_some_and(|prefix| subdomain(prefix).is_err()) {
        return Err(BadName("what stands before the / of a key is a DNS name in lower case"));
    }
    if !is_qualified_part(name) {
        return Err(BadName(
            "a key has at most 63 of A-Z, a-z, 0-9, -, _ and ., with a letter or digit at both ends; \
             before it may stand a DNS name and one /",
        ));
    }
    Ok(())
}

/// A key of annotations: as of labels, but in any case.
///
/// # Errors
/// If it isn't one.
pub fn annotation_key(text: &str) -> Result<(), BadName> {
    // ValidateAnnotations lowers the key before it checks it.
    if text.bytes().any(|b| b.is_ascii_uppercase()) { qualified(&text.to_ascii_lowercase()) } else { qualified(text) }
}

/// A value of a label.
///
/// # Errors
/// If it isn't one.
pub fn label_value(text: &str) -> Result<(), BadName> {
    if text.is_empty() || is_qualified_part(text) {
        return Ok(());
    }
    Err(BadName(
        "the value of a label has at most 63 of A-Z, a-z, 0-9, -, _ and ., with a letter or digit at both ends",
    ))
}

/// A key of a ConfigMap or Secret, which can be a file's name.
///
/// # Errors
/// If it isn't one.
pub fn config_key(text: &str) -> Result<(), BadName> {
    let good = (1..=253).contains(&text.len())
        && text != "."
        && !text.starts_with("..")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if good {
        Ok(())
    } else {
        Err(BadName("a key has at most 253 of A-Z, a-z, 0-9, -, _ and ., and doesn't begin with .."))
    }
}

/// The name of an environment variable (relaxed rule: any printable ASCII but `=`).
///
/// # Errors
/// If it isn't one.
pub fn env_name(text: &str) -> Result<(), BadName> {
    if !text.is_empty() && text.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        return Ok(());
    }
    Err(BadName("the name of an environment variable has printable ASCII characters, but no ="))
}

/// The name of a port (IANA service name): at most 15 of `a-z`, `0-9`, `-`, one letter at least.
///
/// # Errors
/// If it isn't one.
pub fn port_name(text: &str) -> Result<(), BadName> {
    let good =
        text.len() <= 15 && is_label(text) && text.bytes().any(|b| b.is_ascii_lowercase()) && !text.contains("--");
    if good {
        return Ok(());
    }
    Err(BadName("the name of a port has at most 15 of a-z, 0-9 and single -, with at least one letter"))
}
