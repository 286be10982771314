//! Checksums of whole files, each computed once.
//!
//! Many modules may lead to the same file by different paths, and sparse files may be huge. So each
//! checksum is computed once, and the bytes that are read have a limit.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::file::identity::Identity;

#[derive(Debug)]
pub(crate) struct Checksums {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// `None` for a file that could not be read.
    known: HashMap<Identity, Option<u32>>,
    bytes_left: u64,
}

/// Why there is no checksum.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoChecksum {
    /// The file is longer than what is left of the limit.
    TooLong,
    /// The file cannot be read.
    Unreadable,
}

impl Checksums {
    /// Reads at most `bytes` of all files together.
    pub(crate) fn up_to(bytes: u64) -> Self {
        Self {
            inner: Mutex::new(Inner {
                known: HashMap::new(),
                bytes_left: bytes,
            }),
        }
    }

    /// The checksum of this file, computed on the first call.
    pub(crate) fn get(
        &self,
        file: Identity,
        compute: impl FnOnce() -> Option<u32>,
    ) -> Result<u32, NoChecksum> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = inner.known.get(&file) {
            return known.ok_or(NoChecksum::Unreadable);
        }
        let left = inner.bytes_left.checked_sub(file.bytes);
        inner.bytes_left = left.ok_or(NoChecksum::TooLong)?;
        let sum = compute();
        inner.known.insert(file, sum);
        sum.ok_or(NoChecksum::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn file(inode: u64, bytes: u64) -> Identity {
        Identity {
            inode,
            bytes,
            ..Identity::default()
        }
    }

    // CT-21
    #[test]
    fn a_checksum_is_computed_once() {
        let checksums = Checksums::up_to(100);
        let computed = Cell::new(0);
        for _ in 0..10 {
            let sum = checksums.get(file(1, 60), || {
                computed.set(computed.get() + 1);
                Some(7)
            });
            assert_eq!(sum, Ok(7));
            let none = checksums.get(file(2, 10), || {
                computed.set(computed.get() + 1);
                None
            });
            assert_eq!(none, Err(NoChecksum::Unreadable));
        }
        assert_eq!(computed.get(), 2);
    }

    // CT-21
    #[test]
    fn checksums_are_computed_up_to_a_sum() {
        let checksums = Checksums::up_to(100);
        let get = |inode| checksums.get(file(inode, 40), || Some(7));
        assert_eq!([get(1), get(2)], [Ok(7), Ok(7)]);
        assert_eq!(get(3), Err(NoChecksum::TooLong));
        assert_eq!(get(1), Ok(7));
    }
}
