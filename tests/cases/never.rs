//! Texts that may stand in no output.

use crate::digests;
use crate::expected::Case;

/// The forbidden texts of a case, with their digests.
#[derive(Debug, Default)]
pub(crate) struct Never {
    texts: Vec<String>,
    digests: Vec<(String, String)>,
}

impl Never {
    /// What a case forbids.
    pub(crate) fn of(case: &Case) -> Self {
        let mut digests = Vec::new();
        for kind in &case.never_digests {
            for text in &case.never {
                digests.push((digests::hex(*kind, text.as_bytes()), format!("the {kind:?} of {text:?}")));
            }
        }
        Self { texts: case.never.clone(), digests }
    }

    /// Tells whether there is anything to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.digests.is_empty()
    }

    /// What an output should not have and has.
    pub(crate) fn found_in(&self, output: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let text = self.texts.iter().find(|text| contains(output, text)).map(|text| format!("{text:?}"));
        text.or_else(|| {
            let lower = output.to_lowercase();
            self.digests.iter().find(|(hex, _)| lower.contains(hex.as_str())).map(|(_, what)| what.clone())
        })
    }
}

/// A text of digits alone counts only as a whole word: any longer number would hold it by chance.
fn contains(output: &str, text: &str) -> bool {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        crate::text::has_word(output, text)
    } else {
        output.contains(text)
    }
}
