//! What a connection over ssh takes from the user's own `~/.ssh/config`: where a name leads, as whom, with which keys.
//!
//! Read are `Host`, `HostName`, `Port`, `User`, `IdentityFile` and `IdentitiesOnly`, with ssh's own meaning. A host that needs more
//! (a jump host) is refused by name: going there directly would be another host than the one meant.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::super::url::{RepositoryUrl, UrlKind, short_ssh};
use super::error::MirrorError;

/// More than this of a configuration or key is not read, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The keys that ssh itself tries where no `IdentityFile` is written.
const USUAL_KEYS: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];

/// Where the user's ssh configuration and keys are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ssh {
    home: Option<PathBuf>,
}

/// How one repository is reached.
#[derive(Debug, Default)]
pub(super) struct Route {
    /// What the git library is asked for.
    pub(super) url: String,
    /// The user, where the URL names none.
    pub(super) user: Option<String>,
    /// Keys to try, in order.
    pub(super) keys: Vec<PathBuf>,
    /// Keys that are not tried, and why.
    pub(super) skipped: Vec<String>,
    /// Whether the agent's other keys are left alone.
    pub(super) keys_only: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Settings {
    host_name: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    keys: Vec<String>,
    keys_only: Option<bool>,
    proxy: Option<&'static str>,
}

impl Ssh {
    /// The configuration and the keys in `.ssh` of this home folder.
    pub fn of_home(home: Option<PathBuf>) -> Self {
        Self { home }
    }

    pub(super) fn route(&self, url: &RepositoryUrl) -> Result<Route, MirrorError> {
        let mut route = Route { url: url.fetch_url().to_owned(), ..Route::default() };
        let (UrlKind::Ssh, Some(home)) = (url.kind(), &self.home) else { return Ok(route) };
        let refused = |text: String| MirrorError::Ssh { url: url.to_string(), text };
        let Some(host) = host_of(&route.url) else { return Ok(route) };
        let settings = match read(&home.join(".ssh/config")).map_err(refused)? {
            Some(text) => Settings::of(&text, &host).map_err(refused)?,
            None => Settings::default(),
        };
        if let Some(proxy) = settings.proxy {
            return Err(refused(format!("~/.ssh/config reaches {host} by {proxy}, which Holdfast can't")));
        }
        let name = settings.host_name.as_deref().map(|name| expand(name, home, &host)).transpose().map_err(refused)?;
        if name.is_some() || settings.port.is_some() {
            route.url = lead(&route.url, name.as_deref(), settings.port)
                .ok_or_else(|| refused(format!("~/.ssh/config leads {host} to no host that can be reached")))?;
        }
        for key in settings.keys(home, name.as_deref().unwrap_or(&host)).map_err(refused)? {
            match unusable(&key) {
                Ok(None) => route.keys.push(key),
                Ok(Some(why)) => route.skipped.push(format!("{} {why}", key.display())),
                // ssh goes on where a key isn't there.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => route.skipped.push(format!("{} can't be read: {error}", key.display())),
            }
        }
        route.user = settings.user;
        route.keys_only = settings.keys_only == Some(true);
        Ok(route)
    }
}

impl Settings {
    /// What the file says of one host: of each setting the first, of keys all.
    fn of(text: &str, host: &str) -> Result<Self, String> {
        let mut found = Self::default();
        let mut applies = true;
        for (number, line) in text.lines().enumerate() {
            let bad = |what: &str| format!("~/.ssh/config, line {}: {what}", number + 1);
            let words = words(line).ok_or_else(|| bad("a quote is never closed"))?;
            let Some((keyword, values)) = words.split_first() else { continue };
            let keyword = keyword.to_ascii_lowercase();
            match keyword.as_str() {
                "host" => applies = matches_host(values, host),
                // Other conditions than `all` ask for more than a host's name; what stands under them isn't used.
                "match" => applies = values.iter().any(|value| value.eq_ignore_ascii_case("all")),
                _ if !applies => {}
                "hostname" | "port" | "user" | "identityfile" | "identitiesonly" | "proxyjump" | "proxycommand" => {
                    let value = values.first().ok_or_else(|| bad(&format!("{keyword} has no value")))?;
                    found.take(&keyword, value).ok_or_else(|| bad(&format!("{value:?} is no {keyword}")))?;
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn take(&mut self, keyword: &str, value: &str) -> Option<()> {
        let text = || value.to_owned();
        match keyword {
            "hostname" => _ = self.host_name.get_or_insert_with(text),
            "port" => _ = self.port.get_or_insert(value.parse().ok().filter(|port| *port != 0)?),
            "user" => _ = self.user.get_or_insert_with(text),
            "identityfile" => self.keys.push(text()),
            "identitiesonly" => _ = self.keys_only.get_or_insert(value.eq_ignore_ascii_case("yes")),
            _ if value.eq_ignore_ascii_case("none") => {}
            "proxyjump" => _ = self.proxy.get_or_insert("ProxyJump"),
            _ => _ = self.proxy.get_or_insert("ProxyCommand"),
        }
        Some(())
    }

    fn keys(&self, home: &Path, host: &str) -> Result<Vec<PathBuf>, String> {
        if self.keys.is_empty() {
            return Ok(USUAL_KEYS.iter().map(|name| home.join(".ssh").join(name)).collect());
        }
        let named = self.keys.iter().filter(|key| !key.eq_ignore_ascii_case("none"));
        // As in ssh, a relative path starts at the present folder, which nobody means: the home folder counts here.
        named.map(|key| expand(key, home, host).map(|key| home.join(key))).collect()
    }
}

/// The words of a line: `Keyword value` or `Keyword=value`, quoted where they hold blanks; nothing of a comment.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Some(Vec::new());
    }
    let (keyword, rest) = line.split_at(line.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(line.len()));
    let rest = rest.trim_start();
    let mut rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let mut words = vec![keyword.to_owned()];
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Some(words)
}

fn matches_host(patterns: &[String], host: &str) -> bool {
    let matches =
        |pattern: &str| matches(pattern.to_ascii_lowercase().as_bytes(), host.to_ascii_lowercase().as_bytes());
    let excluded = patterns.iter().filter_map(|pattern| pattern.strip_prefix('!')).any(matches);
    !excluded && patterns.iter().any(|pattern| !pattern.starts_with('!') && matches(pattern))
}

/// `*` stands for any characters, `?` for one.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, t) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// `~`, `%d` (home), `%h` (host) and `%%`; a path with another token is refused, since it would be another path.
fn expand(text: &str, home: &Path, host: &str) -> Result<String, String> {
    let home = home.to_string_lossy();
    let text = match text.strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => text.to_owned(),
    };
    let mut out = String::new();
    let mut parts = text.split('%');
    out.push_str(parts.next().unwrap_or_default());
    while let Some(part) = parts.next() {
        match part.chars().next() {
            Some('d') => out.push_str(&home),
            Some('h') => out.push_str(host),
            None => {
                out.push('%');
                out.push_str(parts.next().unwrap_or_default());
                continue;
            }
            Some(token) => return Err(format!("~/.ssh/config: %{token} is not read")),
        }
        out.push_str(&part[1..]);
    }
    Ok(out)
}

fn host_of(url: &str) -> Option<String> {
    match url.contains("://") {
        true => url::Url::parse(url).ok()?.host_str().map(str::to_owned),
        false => short_ssh(url).map(|(_, host, _)| host.to_owned()).filter(|host| !host.contains(['[', ']'])),
    }
}

/// The same repository, asked for at another host or port. What the URL itself names stays.
fn lead(url: &str, host: Option<&str>, port: Option<u16>) -> Option<String> {
    if url.contains("://") {
        let mut url = url::Url::parse(url).ok()?;
        if let Some(host) = host {
            url.set_host(Some(host)).ok()?;
        }
        if url.port().is_none() {
            url.set_port(port).ok()?;
        }
        return Some(url.to_string());
    }
    let (user, named, path) = short_ssh(url)?;
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    // A path of the short form starts at the home folder there, which no URL says as well.
    Some(format!("[{user}{}{port}]:{path}", host.unwrap_or(named)))
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let failed = |error: std::io::Error| format!("~/.ssh/config can't be read: {error}");
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let found = file.metadata().map_err(failed)?;
    if open_to_others(&found, 0o022) {
        return Err("~/.ssh/config can be written by others, so it is not used (chmod 600)".to_owned());
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

/// Why a key isn't tried: the git library asks nobody for a passphrase.
fn unusable(path: &Path) -> std::io::Result<Option<&'static str>> {
    let file = fs::File::open(path)?;
    if open_to_others(&file.metadata()?, 0o077) {
        return Ok(Some("can be read by others (chmod 600)"));
    }
    let mut text = String::new();
    if file.take(MAX_FILE).read_to_string(&mut text).is_err() {
        return Ok(Some("is no private key"));
    }
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let locked = if first.contains("OPENSSH PRIVATE KEY") {
        // The name of its cipher comes first: `none`.
        !lines.next().unwrap_or_default().starts_with("b3BlbnNzaC1rZXktdjEAAAAABG5vbm")
    } else {
        text.lines().take(3).any(|line| line.contains("ENCRYPTED"))
    };
    Ok(locked.then_some("has a passphrase: add it to the ssh agent (ssh-add)"))
}

#[cfg(unix)]
fn open_to_others(found: &fs::Metadata, mode: u32) -> bool {
    std::os::unix::fs::MetadataExt::mode(found) & mode != 0
}

#[cfg(not(unix))]
fn open_to_others(_: &fs::Metadata, _: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# comment\nUser first\nHost git* !github.com\n  HostName=%h.example\n\tPort 2222\n  IdentityFile \"~/my keys/a\"\n  \
        User later\nMatch host x exec y\n  User never\nMatch all\n  IdentityFile %d/b%%c\nHost far\n  ProxyJump near\n";

    #[test]
    fn of_each_setting_the_first_counts_and_of_keys_all() {
        let gitlab = Settings::of(TEXT, "GitLab").unwrap();
        assert_eq!(gitlab.host_name.as_deref(), Some("%h.example"));
        assert_eq!((gitlab.port, gitlab.user.as_deref()), (Some(2222), Some("first")));
        let keys = gitlab.keys(Path::new("/home/me"), "x").unwrap();
        assert_eq!(keys, [PathBuf::from("/home/me/my keys/a"), PathBuf::from("/home/me/b%c")]);
        let other = Settings::of(TEXT, "github.com").unwrap();
        assert_eq!((other.host_name, other.port), (None, None));
        assert_eq!(Settings::of(TEXT, "far").unwrap().proxy, Some("ProxyJump"));
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_line() {
        assert_eq!(Settings::of("\nPort x", "h"), Err("~/.ssh/config, line 2: \"x\" is no port".to_owned()));
        assert!(Settings::of("HostName", "h").unwrap_err().contains("has no value"));
        assert!(Settings::of("User \"x", "h").unwrap_err().contains("never closed"));
        assert!(expand("%C", Path::new("/"), "h").unwrap_err().contains("%C"));
    }

    #[test]
    fn a_url_keeps_what_it_names_itself() {
        let led = |url, host, port| lead(url, host, port).unwrap();
        assert_eq!(led("ssh://git@alias/a/b.git", Some("real"), Some(2222)), "ssh://git@real:2222/a/b.git");
        assert_eq!(led("ssh://alias:99/a", Some("real"), Some(2222)), "ssh://real:99/a");
        assert_eq!(led("git@alias:a/b", None, Some(2222)), "[git@alias:2222]:a/b");
        assert_eq!(host_of("me@alias:a"), Some("alias".to_owned()));
    }
}
