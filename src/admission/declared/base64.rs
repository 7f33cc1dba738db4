//! Base64 as Secrets hold it (RFC 4648, with padding).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes as base64.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            if at > chunk.len() {
                text.push('=');
            } else {
                let index = (bits >> (18 - 6 * at)) & 63;
                text.push(char::from(ALPHABET[index as usize]));
            }
        }
    }
    text
}

/// The canonical form of a text that the schema took for base64, if it has another one: without line ends, which
/// decoders skip, and with zeros in the bits that no byte needs.
pub(super) fn canonical(text: &str) -> Option<String> {
    let clean = !text.contains(['\r', '\n']);
    if clean && !text.ends_with('=') {
        return None;
    }
    let mut out: Vec<u8> = text.bytes().filter(|b| !matches!(b, b'\r' | b'\n')).collect();
    let padding = out.iter().rev().take_while(|b| **b == b'=').count();
    let spare = match padding {
        1 => 0b11,
        2 => 0b1111,
        _ => 0,
    };
    if let Some(last) = out.len().checked_sub(padding + 1)
        && let Some(value) = ALPHABET.iter().position(|b| *b == out[last])
    {
        out[last] = ALPHABET[value & !spare];
    }
    String::from_utf8(out).ok().filter(|out| out != text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_as_rfc_4648_says() {
        for (plain, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")]
        {
            assert_eq!(encode(plain.as_bytes()), text);
        }
    }

    #[test]
    fn line_ends_and_spare_bits_have_one_form() {
        assert_eq!(canonical("Zm9v\nYmE=\n").as_deref(), Some("Zm9vYmE="));
        assert_eq!(canonical("Zh==").as_deref(), Some("Zg=="));
        assert_eq!(canonical("Zg=="), None);
        assert_eq!(canonical("Zm9v"), None);
    }
}
