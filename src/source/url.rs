//! Where a repository is: read strictly, shown masked, and normalised for the binding of a Source.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::mask::is_secret_word;
pub use super::mask::mask;

/// The URL or path of a repository, without any credential in it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RepositoryUrl {
    fetch: String,
    normalised: String,
    /// As the configuration names it: normalised, but for a relative path, which stays one.
    named: String,
    local: Option<PathBuf>,
    kind: UrlKind,
}

/// How a repository is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UrlKind {
    /// A path or `file://`.
    Local,
    /// `https://`; plain `http://` only on the loopback address.
    Https,
    /// `ssh://` or `user@host:path`.
    Ssh,
}

/// A repository that is refused. The text never shows what was refused, only its masked form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// User information, which would be a credential in a file.
    #[error("{0}: a URL with user information is refused; credentials come from git's helpers or the ssh agent")]
    UserInfo(String),
    /// A query parameter that looks like a credential.
    #[error("{url}: the query parameter {parameter:?} looks like a credential and is refused")]
    Credential {
        /// The masked URL.
        url: String,
        /// The parameter's name.
        parameter: String,
    },
    /// A scheme that isn't read.
    #[error("{0}: repositories are read over https, ssh, file or a path")]
    Scheme(String),
    /// Plain http.
    #[error("{0}: plain http is refused, since anybody on the way could change what it brings; write https")]
    PlainHttp(String),
    /// No URL and no path.
    #[error("{0}: this is no URL and no path of a repository")]
    Malformed(String),
}

impl RepositoryUrl {
    /// Reads a URL (https, ssh, file), the short ssh form (`git@host:path`) or a path; a relative path starts at `base`.
    ///
    /// # Errors
    /// If it is none of them, or if it carries user information or a credential.
    pub fn parse(text: &str, base: &Path) -> Result<Self, BadUrl> {
        if text.is_empty() || text.chars().any(char::is_control) || text.starts_with('-') {
            return Err(BadUrl::Malformed(mask(text)));
        }
        match text.split_once("://") {
            Some((scheme, _)) => match scheme.to_ascii_lowercase().as_str() {
                "https" | "http" => Self::https(text),
                "ssh" | "git+ssh" | "ssh+git" => Self::ssh(text),
                "file" => Self::file(text),
                _ => Err(BadUrl::Scheme(mask(text))),
            },
            None if is_helper(text) => Err(BadUrl::Scheme(mask(text))),
            None => match short_ssh(text) {
                Some((user, host, path)) => Self::from_short_ssh(text, user, host, path),
                None => Ok(Self { named: name_of_path(Path::new(text)), ..Self::path(&base.join(text)) }),
            },
        }
    }

    /// How it is reached.
    pub fn kind(&self) -> UrlKind {
        self.kind
    }

    /// The folder of a repository on this machine.
    pub fn local_path(&self) -> Option<&Path> {
        self.local.as_deref()
    }

    /// What a Source is bound to: the same for the spellings of one repository.
    pub fn normalised(&self) -> &str {
        &self.normalised
    }

    /// How a plan names it: the same on every machine that has the configuration, a relative path included.
    pub(super) fn named(&self) -> &str {
        &self.named
    }

    /// What git is asked for.
    pub(crate) fn fetch_url(&self) -> &str {
        &self.fetch
    }

    fn https(text: &str) -> Result<Self, BadUrl> {
        let url = parse_url(text)?;
        if !url.username().is_empty() || url.password().is_some() || authority(text).contains('@') {
            return Err(BadUrl::UserInfo(mask(text)));
        }
        let host = url.host_str().ok_or_else(|| BadUrl::Malformed(mask(text)))?;
        if url.scheme() == "http" && !matches!(host, "localhost" | "127.0.0.1" | "[::1]") {
            return Err(BadUrl::PlainHttp(mask(text)));
        }
        refuse_credentials(&url, text)?;
        let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
        let query = url.query().map(|q| format!("?{q}")).unwrap_or_default();
        let normalised = format!("{}://{host}{port}{}{query}", url.scheme(), strip_git(url.path()));
        Ok(Self::remote(url.to_string(), normalised, UrlKind::Https))
    }

    fn ssh(text: &str) -> Result<Self, BadUrl> {
        let url = parse_url(text)?;
        if url.password().is_some() {
            return Err(BadUrl::UserInfo(mask(text)));
        }
        refuse_credentials(&url, text)?;
        let host = url.host_str().filter(|h| !h.is_empty()).ok_or_else(|| BadUrl::Malformed(mask(text)))?;
        let user = if url.username().is_empty() { String::new() } else { format!("{}@", url.username()) };
        let port = url.port().filter(|p| *p != 22).map(|p| format!(":{p}")).unwrap_or_default();
        let normalised = format!("ssh://{user}{}{port}{}", host.to_ascii_lowercase(), strip_git(url.path()));
        let fetch = format!("ssh{}", &text[text.find("://").unwrap_or(0)..]);
        Ok(Self::remote(fetch, normalised, UrlKind::Ssh))
    }

    fn from_short_ssh(text: &str, user: Option<&str>, host: &str, path: &str) -> Result<Self, BadUrl> {
        if user.is_some_and(|u| u.contains(':')) {
            return Err(BadUrl::UserInfo(mask(text)));
        }
        if path.is_empty() || host.starts_with('-') {
            return Err(BadUrl::Malformed(mask(text)));
        }
        let user = user.map(|u| format!("{u}@")).unwrap_or_default();
        let slash = if path.starts_with('/') { "" } else { "/" };
        let normalised = format!("ssh://{user}{}{}", host.to_ascii_lowercase(), strip_git(&format!("{slash}{path}")));
        Ok(Self::remote(text.to_owned(), normalised, UrlKind::Ssh))
    }

    fn file(text: &str) -> Result<Self, BadUrl> {
        let url = parse_url(text)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadUrl::UserInfo(mask(text)));
        }
        refuse_credentials(&url, text)?;
        url.to_file_path().map(|p| Self::path(&p)).map_err(|()| BadUrl::Malformed(mask(text)))
    }

    fn remote(fetch: String, normalised: String, kind: UrlKind) -> Self {
        Self { fetch, named: normalised.clone(), normalised, local: None, kind }
    }

    fn path(path: &Path) -> Self {
        let path = tidy(path);
        let normalised = name_of_path(&path);
        Self {
            fetch: path.display().to_string(),
            named: normalised.clone(),
            normalised,
            local: Some(path),
            kind: UrlKind::Local,
        }
    }
}

impl fmt::Display for RepositoryUrl {
    /// Writes the masked form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask(&self.fetch))
    }
}

impl fmt::Debug for RepositoryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepositoryUrl({self})")
    }
}

/// `name::address` runs a program of that name in git.
fn is_helper(text: &str) -> bool {
    text.split_once("::").is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)))
}

fn parse_url(text: &str) -> Result<url::Url, BadUrl> {
    url::Url::parse(text).map_err(|_| BadUrl::Malformed(mask(text)))
}

fn authority(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn refuse_credentials(url: &url::Url, text: &str) -> Result<(), BadUrl> {
    if let Some((name, _)) = url.query_pairs().find(|(name, _)| is_secret_word(name)) {
        return Err(BadUrl::Credential { url: mask(text), parameter: name.into_owned() });
    }
    if url.fragment().is_some() {
        return Err(BadUrl::Credential { url: mask(text), parameter: "#".to_owned() });
    }
    Ok(())
}

/// `user@host:path` or `host:path`, as scp and git read it: a colon before the first slash.
pub(super) fn short_ssh(text: &str) -> Option<(Option<&str>, &str, &str)> {
    let colon = match text.find('[').filter(|open| !text[..*open].contains(['/', ':'])) {
        Some(open) => open + text[open..].find("]:")? + 1,
        // A password may hold a colon of its own: the host starts after the last @ of the first part.
        None => {
            let first = text.split('/').next().unwrap_or_default();
            let at = first.rfind('@').map_or(0, |at| at + 1);
            at + first[at..].find(':')?
        }
    };
    let (user_host, path) = (&text[..colon], &text[colon + 1..]);
    let (user, host) = user_host.rsplit_once('@').map_or((None, user_host), |(u, h)| (Some(u), h));
    (!host.is_empty()).then_some((user, host, path))
}

fn strip_git(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/')
}

/// Without the `.git` of a work tree, and without what means nothing.
fn name_of_path(path: &Path) -> String {
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    let top = if path.file_name().is_some_and(|n| n == ".git") { path.parent().unwrap_or(&path) } else { &path };
    format!("file://{}", top.display())
}

/// Takes `.` and `..` out by their text alone: a binding must not depend on what links point to today.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
