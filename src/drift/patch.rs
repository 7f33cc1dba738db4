//! One file's part of a patch that `git apply` takes.

use similar::TextDiff;

/// Lines around a change.
const CONTEXT: usize = 3;

/// The difference of a file's two texts, as git writes it; `new` is `None` if the file goes.
pub(super) fn patch(path: &[u8], old: &str, new: Option<&str>) -> String {
    let (from, to) = (name(b"a/", path), name(b"b/", path));
    let mut head = format!("diff --git {from} {to}\n");
    let to = match new {
        Some(_) => to,
        None => {
            head.push_str("deleted file mode 100644\n");
            "/dev/null".to_owned()
        }
    };
    let diff = TextDiff::from_lines(old, new.unwrap_or_default());
    format!("{head}{}", diff.unified_diff().context_radius(CONTEXT).header(&from, &to))
}

/// A name as git quotes it: in quotes with octal escapes where it isn't plain.
fn name(prefix: &[u8], path: &[u8]) -> String {
    let is_plain = |b: &u8| (b' '..=b'~').contains(b) && !matches!(b, b'"' | b'\\');
    let bytes = [prefix, path].concat();
    if bytes.iter().all(is_plain) {
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let mut out = String::from("\"");
    for byte in &bytes {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            plain if is_plain(plain) => out.push(char::from(*plain)),
            other => out.push_str(&format!("\\{other:03o}")),
        }
    }
    out.push('"');
    out
}
