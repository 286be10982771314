//! Errors in a trace.

use core::fmt;

use crate::format::{FEATURES, MAGIC, MAJOR, MINOR};

/// What is wrong with a trace, and at which byte of the file.
///
/// From [`Reader::new`](crate::Reader::new), an error means that nothing can be read. As an item of the
/// iteration, an error means that a part is missing; the next item follows that part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file is empty.
    Empty,
    /// The file does not begin like a trace.
    NotATrace {
        /// The first bytes of the file, at most eight.
        found: Vec<u8>,
    },
    /// The file ends within the file header.
    ShortHeader {
        /// The length of the file.
        length: u64,
    },
    /// The file header is damaged.
    CorruptHeader {
        /// The offset of the damage in the file.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// The format is of another major version.
    Version {
        /// Major and minor version of the file.
        found: (u16, u16),
        /// The latest version that this reader supports.
        supported: (u16, u16),
    },
    /// The file needs features that this reader lacks.
    Features {
        /// Feature bits of the file.
        found: u64,
        /// Feature bits that this reader knows.
        supported: u64,
    },
    /// The first chunk is damaged, truncated or of another type.
    NoStart {
        /// The offset where the first chunk should be.
        offset: u64,
    },
    /// A chunk cannot be read. The records in it are missing.
    CorruptChunk {
        /// The offset of the chunk.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Chunks are missing, or are in another order than they were written.
    MissingChunk {
        /// The offset of the chunk with the unexpected number.
        offset: u64,
        /// The expected number.
        expected: u32,
        /// The number of the chunk.
        found: u32,
    },
}

impl Error {
    /// The offset of the problem in the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match self {
            Error::Empty | Error::NotATrace { .. } => 0,
            Error::Version { .. } => VERSION_OFFSET,
            Error::Features { .. } => FEATURES_OFFSET,
            Error::ShortHeader { length } => *length,
            Error::CorruptHeader { offset, .. }
            | Error::NoStart { offset }
            | Error::CorruptChunk { offset, .. }
            | Error::MissingChunk { offset, .. } => *offset,
        }
    }

    pub(crate) fn version(found: (u16, u16)) -> Self {
        Error::Version {
            found,
            supported: (MAJOR, MINOR),
        }
    }

    pub(crate) fn features(found: u64) -> Self {
        Error::Features {
            found,
            supported: FEATURES,
        }
    }
}

const VERSION_OFFSET: u64 = MAGIC.len() as u64;
const FEATURES_OFFSET: u64 = 16;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Empty => {
                f.write_str("the file is empty: the recording never began, record again")
            }
            Error::NotATrace { found } => write!(
                f,
                "not a ctp trace: the file begins with \"{}\"; name a file that ctp-record wrote",
                found.escape_ascii()
            ),
            Error::ShortHeader { length } => write!(
                f,
                "the trace ends at byte {length}, within its header: the recording never began, \
                 record again"
            ),
            Error::CorruptHeader { offset, what } => write!(
                f,
                "the trace's header is damaged at byte {offset} ({what}): copy the file again or \
                 record again"
            ),
            Error::Version { found, supported } => version_sentence(f, *found, *supported),
            Error::Features { found, supported } => write!(
                f,
                "the trace needs features {found:#x} and this program knows {supported:#x}: \
                 use the tools that recorded it, or newer ones"
            ),
            Error::NoStart { offset } => write!(
                f,
                "the trace has no readable start at byte {offset}: the recorder ended at once or \
                 the file is damaged, record again"
            ),
            Error::CorruptChunk { offset, what } => write!(
                f,
                "corrupt chunk at byte {offset} ({what}): its records are missing, all others are \
                 still read"
            ),
            Error::MissingChunk {
                offset,
                expected,
                found,
            } => write!(
                f,
                "chunk {expected} is missing before byte {offset}, where chunk {found} follows: \
                 what it held is lost"
            ),
        }
    }
}

fn version_sentence(
    f: &mut fmt::Formatter<'_>,
    found: (u16, u16),
    supported: (u16, u16),
) -> fmt::Result {
    let which = if found > supported { "newer" } else { "older" };
    write!(
        f,
        "the trace has format version {}.{} and this program reads {}.{}: use {which} tools",
        found.0, found.1, supported.0, supported.1
    )
}

impl core::error::Error for Error {}

/// Why a payload is invalid. The reader adds the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_the_cause_and_the_versions() {
        let newer = Error::version((2, 0)).to_string();
        assert!(newer.contains("2.0") && newer.contains("reads 1.6") && newer.contains("newer"));
        let alien = Error::NotATrace {
            found: b"\x7fELF".to_vec(),
        }
        .to_string();
        assert!(alien.contains("\\x7fELF"), "{alien}");
    }
}
