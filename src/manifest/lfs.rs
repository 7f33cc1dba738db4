//! Git LFS pointers: a few lines in place of the content.

/// Whether bytes are a Git LFS pointer.
pub fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.len() < 1024
        && (bytes.starts_with(b"version https://git-lfs.github.com/spec/")
            || bytes.starts_with(b"version https://hawser.github.com/spec/"))
}

/// What a pointer says of its content: object ID and size.
pub(super) fn content(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
        crate::base::text::escape(&crate::base::text::shorten(value, 80)).into_owned()
    };
    format!("oid {}, size {}", field("oid "), field("size "))
}
