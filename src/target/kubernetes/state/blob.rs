//! A large text in parts: compressed, named by the head that they belong to, checked when read.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};

use crate::base::digest;

/// Bytes in one part: an API server takes 1 MiB of data in one ConfigMap or Secret.
const PART: usize = 900_000;
/// Most bytes of one text, unpacked.
const LARGEST: u64 = 512 * 1024 * 1024;
/// Most parts of one text.
const MOST: usize = 80;

/// The name of a part, and its bytes.
type Part = (String, Vec<u8>);

/// Names a text that is kept in parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Blob {
    /// The parts, in order.
    pub(in super::super) parts: Vec<String>,
    /// SHA-256 of the text.
    sha256: String,
}

/// Why a text can't be packed or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum BadBlob {
    #[error("it is larger than what the journal and the inventory may hold ({MOST} parts of {PART} bytes)")]
    TooLarge,
    #[error("it is not what was written: its digest differs")]
    Digest,
    #[error("it can't be unpacked")]
    Packed,
}

impl Blob {
    /// Packs a text into parts that are named after `stem`.
    pub(in super::super) fn pack(stem: &str, text: &[u8]) -> Result<(Self, Vec<Part>), BadBlob> {
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text).map_err(|_| BadBlob::Packed)?;
        let packed = packer.finish().map_err(|_| BadBlob::Packed)?;
        let parts: Vec<Part> =
            packed.chunks(PART).enumerate().map(|(n, part)| (format!("{stem}.{n}"), part.to_vec())).collect();
        if parts.len() > MOST || text.len() as u64 > LARGEST {
            return Err(BadBlob::TooLarge);
        }
        let sha256 = digest::sha256(text).to_string();
        Ok((Self { parts: parts.iter().map(|(name, _)| name.clone()).collect(), sha256 }, parts))
    }

    /// Unpacks what was read of the parts, in order.
    pub(in super::super) fn unpack(&self, parts: &[Vec<u8>]) -> Result<Vec<u8>, BadBlob> {
        let packed = parts.concat();
        let mut text = Vec::new();
        let read = ZlibDecoder::new(packed.as_slice()).take(LARGEST + 1).read_to_end(&mut text);
        read.map_err(|_| BadBlob::Packed)?;
        if text.len() as u64 > LARGEST {
            return Err(BadBlob::TooLarge);
        }
        if digest::sha256(&text).to_string() == self.sha256 { Ok(text) } else { Err(BadBlob::Digest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_read_back_and_what_was_changed_is_not() {
        let text: Vec<u8> = (0..3_000_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes()).collect();
        let (blob, parts) = Blob::pack("x", &text).unwrap();
        assert!(parts.len() > 1);
        let mut bytes: Vec<Vec<u8>> = parts.into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(blob.unpack(&bytes).unwrap(), text);
        bytes.pop();
        assert!(blob.unpack(&bytes).is_err());
        let (_, other) = Blob::pack("x", b"other").unwrap();
        assert_eq!(blob.unpack(&[other[0].1.clone()]), Err(BadBlob::Digest));
    }
}
