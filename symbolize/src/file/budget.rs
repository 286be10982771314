//! How much memory all modules of a [`Symbolizer`](crate::Symbolizer) may take together.
//!
//! A trace names the modules, and a module names its debug files, so both may be made to exhaust the
//! memory of the machine that reads them. Every byte that is read, unpacked or kept in a table is
//! charged to one budget before the memory is allocated. Memory goes to the modules in the order in
//! which they are needed. What does not fit is left out, and its file is listed as refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::file::checksums::Checksums;
use crate::file::parts::SharedParts;

/// A file that was not read, or only in part: it would take too much memory, or its debug info is nested too deeply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    left: AtomicU64,
    /// The sizes of the files that were refused.
    refused: Mutex<BTreeMap<PathBuf, u64>>,
    /// Checksums of files that may be debug files. No more bytes are read for checksums than the
    /// budget holds, since files beyond that would not fit anyway.
    pub(crate) checksums: Checksums,
    /// The parts of files that readers with this budget share.
    pub(crate) parts: SharedParts,
}

impl Budget {
    pub(crate) const DEFAULT_BYTES: u64 = 256 << 20;

    /// A quarter is kept back for what is not charged: spare capacity of vectors, the allocator, and
    /// buffers that are needed only while a section is unpacked.
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            left: AtomicU64::new(limit - limit / 4),
            refused: Mutex::default(),
            checksums: Checksums::up_to(limit),
            parts: SharedParts::default(),
        })
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Notes that a file of this size did not fit.
    pub(crate) fn refuse(&self, path: &Path, bytes: u64) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MAX_REFUSED {
            refused.insert(path.to_owned(), bytes);
        }
    }

    /// The files that did not fit, by path.
    pub(crate) fn refused(&self) -> Vec<Refused> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused
            .iter()
            .map(|(path, bytes)| Refused {
                path: path.clone(),
                bytes: *bytes,
            })
            .collect()
    }

    fn take(&self, bytes: u64) -> bool {
        self.left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes))
            .is_ok()
    }
}

/// The maximum number of files that are listed as refused.
const MAX_REFUSED: usize = 4096;

/// Memory taken from a budget, which is returned on drop.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    pub(crate) fn none(budget: &Arc<Budget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            bytes: 0,
        }
    }

    /// Takes more memory. Returns false, and takes nothing, if not enough is left.
    #[must_use]
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let is_taken = self.budget.take(bytes);
        if is_taken {
            self.bytes += bytes;
        }
        is_taken
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_charge_is_given_back() {
        let budget = Budget::new(400);
        let mut charge = Charge::none(&budget);
        assert!(charge.take(200));
        assert!(!Charge::none(&budget).take(101));
        assert!(!charge.take(u64::MAX));
        drop(charge);
        assert!(Charge::none(&budget).take(300));
    }
}
