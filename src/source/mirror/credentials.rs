//! Where credentials come from: git's own helpers, the ssh agent and the keys of the user's ssh configuration, never a file of ours.

use std::collections::VecDeque;
use std::path::PathBuf;

use git2::{Config, Cred, CredentialHelper, CredentialType, Error};

use super::ssh::Route;

/// The text of "no credential"; an error class of its own doesn't exist for it.
pub(super) const NONE: &str = "no credential is left to try";

/// Which credentials a fetch may use. A mirror is kept for each: what one may read, another may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Credentials {
    /// git's helpers, the ssh agent and the ssh keys of whoever runs this.
    #[default]
    Ambient,
    /// None at all.
    Anonymous,
}

impl Credentials {
    /// What tells mirrors of one URL apart.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Ambient => "ambient",
            Self::Anonymous => "anonymous",
        }
    }
}

/// Answers one connection's questions; each way is tried once, so a refusal ends it.
pub(super) struct Answers {
    credentials: Credentials,
    route: Route,
    keys: VecDeque<PathBuf>,
    tried: Vec<String>,
    helper: bool,
    agent: bool,
    user: bool,
}

impl Answers {
    pub(super) fn new(credentials: Credentials, route: Route) -> Self {
        let keys: VecDeque<PathBuf> = route.keys.iter().cloned().collect();
        // `IdentitiesOnly` is about the agent's other keys; one that has a passphrase is nowhere but in the agent.
        let agent = route.keys_only && !keys.is_empty();
        Self { credentials, route, keys, tried: Vec::new(), helper: false, agent, user: false }
    }

    pub(super) fn answer(&mut self, url: &str, user: Option<&str>, allowed: CredentialType) -> Result<Cred, Error> {
        if self.credentials == Credentials::Ambient {
            // Forges take `git`; a local user's name would tell them who it is.
            let name = user.or(self.route.user.as_deref()).unwrap_or("git").to_owned();
            if allowed.contains(CredentialType::USERNAME) && !std::mem::replace(&mut self.user, true) {
                return Cred::username(&name);
            }
            if allowed.contains(CredentialType::SSH_KEY) {
                if !std::mem::replace(&mut self.agent, true) {
                    self.tried.push("the ssh agent".to_owned());
                    return Cred::ssh_key_from_agent(&name);
                }
                if let Some(key) = self.keys.pop_front() {
                    self.tried.push(key.display().to_string());
                    return Cred::ssh_key(&name, None, &key, None);
                }
            }
            if allowed.contains(CredentialType::USER_PASS_PLAINTEXT) && !std::mem::replace(&mut self.helper, true) {
                // The user's own configuration is read for its helpers alone.
                let config = Config::open_default()?;
                let found = CredentialHelper::new(url).config(&config).username(user).execute();
                if let Some((user, password)) = found {
                    return Cred::userpass_plaintext(&user, &password);
                }
            }
        }
        Err(Error::new(git2::ErrorCode::Auth, git2::ErrorClass::Callback, self.none()))
    }

    /// What was tried, by name alone.
    fn none(&self) -> String {
        let mut text = NONE.to_owned();
        if !self.tried.is_empty() {
            text.push_str("; tried: ");
            text.push_str(&self.tried.join(", "));
        }
        for skipped in &self.route.skipped {
            text.push_str("; ");
            text.push_str(skipped);
        }
        text
    }
}
