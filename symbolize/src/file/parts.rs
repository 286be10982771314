//! The parts of files in memory. Readers of the same file share the large parts.
//!
//! The debug info of a program is read for its types and for its lines. Both readers need the same sections, which
//! can be larger than everything else in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::file::budget::Charge;
use crate::file::identity::Identity;

/// Bytes of a file, charged to a budget for as long as they are kept.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    _charge: Charge,
}

impl Part {
    pub(crate) fn new(bytes: Vec<u8>, charge: Charge) -> Self {
        let _charge = charge;
        Self { bytes, _charge }
    }
}

/// Which bytes of which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartKey {
    pub(crate) file: Identity,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// The large parts that are in memory.
#[derive(Debug, Default)]
pub(crate) struct SharedParts {
    kept: Mutex<HashMap<PartKey, Weak<Part>>>,
}

/// Smaller parts are not worth an entry.
const MIN_SHARED_BYTES: u64 = 64 << 10;

impl SharedParts {
    /// The part, if a reader keeps it.
    pub(crate) fn get(&self, key: &PartKey) -> Option<Arc<Part>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key)?.upgrade()
    }

    /// Makes a part available to other readers, if the part is large.
    pub(crate) fn share(&self, key: PartKey, part: &Arc<Part>) {
        if key.size < MIN_SHARED_BYTES {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, part| part.strong_count() != 0);
        kept.insert(key, Arc::downgrade(part));
    }
}
