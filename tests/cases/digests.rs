//! Hex digests of short texts, to look for them in output. MD5 and SHA-1 are written out here: the product needs neither.

use sha2::{Digest as _, Sha256};

use crate::expected::DigestKind;

/// The digest of a text, in lower-case hex.
pub(crate) fn hex(kind: DigestKind, text: &[u8]) -> String {
    let bytes: Vec<u8> = match kind {
        DigestKind::Sha256 => Sha256::digest(text).to_vec(),
        DigestKind::Sha1 => sha1(text),
        DigestKind::Md5 => md5(text),
    };
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Pads as both do: a one bit, zeros, the length in bits.
fn padded(text: &[u8], length: [u8; 8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.push(0x80);
    while bytes.len() % 64 != 56 {
        bytes.push(0);
    }
    bytes.extend_from_slice(&length);
    bytes
}

fn words(block: &[u8], read: fn([u8; 4]) -> u32) -> Vec<u32> {
    block.chunks_exact(4).map(|word| read([word[0], word[1], word[2], word[3]])).collect()
}

/// SHA-1 (RFC 3174).
fn sha1(text: &[u8]) -> Vec<u8> {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let bits = (text.len() as u64) * 8;
    for block in padded(text, bits.to_be_bytes()).chunks_exact(64) {
        let mut w = words(block, u32::from_be_bytes);
        for i in 16..80 {
            w.push((w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]).rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in w.iter().enumerate() {
            let (f, k) = match i / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(k).wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(part);
        }
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

const MD5_SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// MD5 (RFC 1321); its table is the sines of 1 to 64.
fn md5(text: &[u8]) -> Vec<u8> {
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let bits = (text.len() as u64) * 8;
    for block in padded(text, bits.to_le_bytes()).chunks_exact(64) {
        let m = words(block, u32::from_le_bytes);
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64_usize {
            let (f, g) = match i / 16 {
                0 => ((b & c) | (!b & d), i),
                1 => ((d & b) | (!d & c), (5 * i + 1) % 16),
                2 => (b ^ c ^ d, (3 * i + 5) % 16),
                _ => (c ^ (b | !d), (7 * i) % 16),
            };
            let sine = ((i as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a.wrapping_add(f).wrapping_add(sine).wrapping_add(m[g]);
            (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(MD5_SHIFTS[i / 16][i % 4])));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.wrapping_add(part);
        }
    }
    state.iter().flat_map(|word| word.to_le_bytes()).collect()
}
