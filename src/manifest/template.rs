//! Texts that a template engine should have replaced before they came here.

/// The hint for such a text.
pub const TEMPLATE_HINT: &str =
    "looks like an unrendered template: commit the rendered manifests, or list the file under `ignore`";

/// Whether a text holds what a template engine replaces: `{{ ... }}`, or `${NAME}`.
pub fn looks_like_template(text: &str) -> bool {
    if text.contains("{{") {
        return true;
    }
    text.split("${").skip(1).any(|rest| {
        let name = rest.split(['}', ':', '/']).next().unwrap_or_default();
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}
