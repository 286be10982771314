//! The file header, which lets a reader reject other files and newer versions with a clear error.

use crate::error::Error;
use crate::format::{FEATURES, FILE_HEADER_BYTES, MAGIC, MAJOR, MAX_FILE_HEADER_BYTES, MINOR};

/// The header of a file that this version writes.
pub(crate) fn encode() -> [u8; FILE_HEADER_BYTES] {
    let mut header = [0; FILE_HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&MAJOR.to_le_bytes());
    header[10..12].copy_from_slice(&MINOR.to_le_bytes());
    header[12..16].copy_from_slice(&(FILE_HEADER_BYTES as u32).to_le_bytes());
    header[16..24].copy_from_slice(&FEATURES.to_le_bytes());
    let crc = crc32fast::hash(&header[..28]);
    header[28..].copy_from_slice(&crc.to_le_bytes());
    header
}

/// Checks whether a file that begins with these bytes can be a trace.
///
/// # Errors
/// The error that [`Reader::new`](crate::Reader::new) returns for the whole file.
pub fn check_header(bytes: &[u8]) -> Result<(), Error> {
    decode(bytes).map(|_| ())
}

/// Checks the file header at the start of `bytes`. Returns its length.
pub(crate) fn decode(bytes: &[u8]) -> Result<usize, Error> {
    let header = fixed_part(bytes)?;
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| header[at + i]));
    if word(28) != crc32fast::hash(&header[..28]) {
        return Err(Error::CorruptHeader {
            offset: 28,
            what: "its checksum is wrong",
        });
    }
    let major = word(8) as u16;
    if major != MAJOR {
        return Err(Error::version((major, (word(8) >> 16) as u16)));
    }
    let features = u64::from(word(16)) | u64::from(word(20)) << 32;
    if features & !FEATURES != 0 {
        return Err(Error::features(features));
    }
    match word(12) as usize {
        size @ FILE_HEADER_BYTES..=MAX_FILE_HEADER_BYTES => Ok(size),
        _ => Err(Error::CorruptHeader {
            offset: 12,
            what: "its length is impossible",
        }),
    }
}

/// The bytes that the header of every version has.
fn fixed_part(bytes: &[u8]) -> Result<&[u8; FILE_HEADER_BYTES], Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(magic) {
        return Err(Error::NotATrace {
            found: magic.to_vec(),
        });
    }
    bytes.first_chunk().ok_or(Error::ShortHeader {
        length: bytes.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(at: usize, byte: u8) -> Result<usize, Error> {
        let mut header = encode();
        header[at] = byte;
        let crc = crc32fast::hash(&header[..28]);
        header[28..].copy_from_slice(&crc.to_le_bytes());
        decode(&header)
    }

    #[test]
    fn written_header_is_accepted() {
        assert_eq!(decode(&encode()), Ok(FILE_HEADER_BYTES));
    }

    #[test]
    fn only_newer_minor_versions_are_accepted() {
        assert_eq!(with(10, 9), Ok(FILE_HEADER_BYTES));
        assert_eq!(
            with(8, 2),
            Err(Error::Version {
                found: (2, MINOR),
                supported: (MAJOR, MINOR)
            })
        );
        assert_eq!(
            with(8, 0),
            Err(Error::Version {
                found: (0, MINOR),
                supported: (MAJOR, MINOR)
            })
        );
    }

    #[test]
    fn an_unknown_feature_is_refused() {
        assert_eq!(
            with(23, 0x80),
            Err(Error::Features {
                found: 1 << 63 | FEATURES,
                supported: FEATURES
            })
        );
    }

    #[test]
    fn invalid_headers_are_refused() {
        assert_eq!(decode(b""), Err(Error::Empty));
        assert_eq!(
            decode(b"\x7fELF"),
            Err(Error::NotATrace {
                found: b"\x7fELF".to_vec()
            })
        );
        assert_eq!(
            decode(&encode()[..31]),
            Err(Error::ShortHeader { length: 31 })
        );
        assert!(matches!(
            with(12, 31),
            Err(Error::CorruptHeader { offset: 12, .. })
        ));
        let mut damaged = encode();
        damaged[9] = 1;
        assert!(matches!(
            decode(&damaged),
            Err(Error::CorruptHeader { offset: 28, .. })
        ));
    }
}
