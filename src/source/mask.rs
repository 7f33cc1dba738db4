//! Credentials taken out of text that is shown: URLs in configuration, errors of the git library, helper output.

/// Whether a parameter's name says that its value is a credential.
pub(super) fn is_secret_word(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts = ["token", "passw", "passphrase", "secret", "credential", "private", "apikey", "api_key", "api-key"];
    let words = ["key", "sig", "signature", "auth", "authorization", "pat", "pwd", "jwt", "bearer", "session", "code"];
    parts.iter().any(|part| name.contains(part))
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| words.contains(&word))
        || name.ends_with("key")
        || name.ends_with("signature")
}

/// Replaces the user information and the query values of every URL in a text by `***`.
///
/// It errs on the side of hiding: whatever stands before an `@` in a word with `://`, or holds a colon before one.
pub fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        mask_word(word, &mut out);
    }
    out
}

fn mask_word(word: &str, out: &mut String) {
    let start = word.find("://").map_or(0, |i| i + 3);
    let (scheme, rest) = word.split_at(start);
    let (place, query) = match rest.find(['?', '#']) {
        Some(i) if start > 0 || rest.contains('=') => rest.split_at(i),
        _ => (rest, ""),
    };
    out.push_str(scheme);
    match place.rfind('@') {
        // `git@host:path`: a bare user name is none of the secrets.
        Some(at) if start == 0 && !place[..at].contains(':') => out.push_str(place),
        Some(at) if scheme.ends_with("ssh://") && !place[..at].contains(':') => out.push_str(place),
        Some(at) => {
            out.push_str("***");
            out.push_str(&place[at..]);
        }
        None => out.push_str(place),
    }
    mask_query(query, out);
}

fn mask_query(query: &str, out: &mut String) {
    for part in query.split_inclusive(['&', '?', '#', ';']) {
        match part.find('=') {
            Some(equals) => {
                out.push_str(&part[..=equals]);
                out.push_str("***");
                let end = part.trim_end_matches(['\'', '"', ')', ',', '.', ' ', '\n', '&', '?', '#', ';']).len();
                out.push_str(&part[end.max(equals + 1)..]);
            }
            // A value without a name (`?ghp_...`) may be one too.
            None if part.len() > 1 && !part.ends_with(['?', '#']) => out.push_str("***"),
            None => out.push_str(part),
        }
    }
}
