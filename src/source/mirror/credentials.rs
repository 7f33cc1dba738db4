//! Where credentials come from: git's own helpers and the ssh agent, never a file of ours.

use git2::{Config, Cred, CredentialHelper, CredentialType, Error};

/// The text of "no credential"; an error class of its own doesn't exist for it.
pub(super) const NONE: &str = "no credential is left to try";

/// Which credentials a fetch may use. A mirror is kept for each: what one may read, another may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Credentials {
    /// git's helpers and the ssh agent of whoever runs this.
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
#[derive(Default)]
pub(super) struct Answers {
    helper: bool,
    agent: bool,
    user: bool,
}

impl Answers {
    pub(super) fn answer(
        &mut self,
        credentials: Credentials,
        url: &str,
        user: Option<&str>,
        allowed: CredentialType,
    ) -> Result<Cred, Error> {
        if credentials == Credentials::Ambient {
            // Forges take `git`; a local user's name would tell them who it is.
            let name = user.unwrap_or("git");
            if allowed.contains(CredentialType::USERNAME) && !std::mem::replace(&mut self.user, true) {
                return Cred::username(name);
            }
            if allowed.contains(CredentialType::SSH_KEY) && !std::mem::replace(&mut self.agent, true) {
                return Cred::ssh_key_from_agent(name);
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
        Err(Error::new(git2::ErrorCode::Auth, git2::ErrorClass::Callback, NONE))
    }
}
