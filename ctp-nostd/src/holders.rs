//! Who holds what the wakers of a future share: the future itself, and clones, each of which can
//! wake it. The first clone and the last one also change the count in the station (`live.rs`), so
//! that those between cost what clones of the executor's own waker do.
//!
//! ```text
//!   clone                                 drop
//!   H1 clones += 1                        H3 clones -= 1      (acquire, release)
//!   H2 there was none: wakers += 1        H4 none is left: wakers -= 1     = L3 of `live.rs`
//! ```
//! Between H1 and H2 nobody else has that clone yet, so wakers are never fewer than those who have
//! one. H3 brings what earlier clones did, so that H4 comes after all their wakes.

use crate::sync::{AtomicUsize, Ordering};

/// Counts them: {clones | does the future hold it? 1 bit}.
#[derive(Debug)]
pub struct Holders(AtomicUsize);

/// Who is left when one lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Clones, and perhaps the future.
    Clones,
    /// No clone, but the future.
    Future,
    /// Nobody: it is to be freed, by who let go.
    Nobody,
}

const FUTURE: usize = 1;
const CLONE: usize = 2;
/// Who forgets so many clones, without dropping one, has a program that cannot go on.
const MOST: usize = usize::MAX / 2;

impl Holders {
    /// The future alone.
    pub fn new() -> Self {
        Holders(AtomicUsize::new(FUTURE))
    }

    /// One clone more. Was there none?
    #[inline]
    pub fn add(&self) -> bool {
        let before = self.0.fetch_add(CLONE, Ordering::Relaxed); // H1
        if before > MOST {
            too_many();
        }
        before < CLONE
    }

    /// One clone less, if that is told to nobody: others are left. One attempt.
    #[inline(always)]
    pub fn subtract_from_several(&self) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        let (done, not) = (Ordering::Release, Ordering::Relaxed);
        let less = || {
            self.0
                .compare_exchange(before, before - CLONE, done, not) // H3
                .is_ok()
        };
        2 * CLONE <= before && less()
    }

    /// One clone less.
    #[inline]
    pub fn subtract(&self) -> Left {
        match self.0.fetch_sub(CLONE, Ordering::AcqRel) {
            CLONE => Left::Nobody, // H3
            before if before == CLONE | FUTURE => Left::Future,
            _ => Left::Clones,
        }
    }

    /// The future needs it no more.
    pub fn let_go(&self) -> Left {
        match self.0.fetch_sub(FUTURE, Ordering::AcqRel) {
            FUTURE => Left::Nobody,
            _ => Left::Clones,
        }
    }

    /// So many.
    #[inline]
    pub fn clones(&self) -> usize {
        self.0.load(Ordering::Relaxed) / CLONE
    }
}

impl Default for Holders {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends the program, as what the standard library counts does: a count that goes round would free what
/// others hold. To unwind is not allowed out of here.
#[cold]
extern "C" fn too_many() -> ! {
    panic!("too many wakers were cloned and never dropped")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_comes_first_and_who_is_left_is_told() {
        let holders = Holders::new();
        assert_eq!([holders.add(), holders.add()], [true, false]);
        assert_eq!((holders.clones(), holders.subtract()), (2, Left::Clones));
        assert_eq!(holders.subtract(), Left::Future);
        assert!(holders.add(), "there was none");
        assert_eq!(
            (holders.let_go(), holders.subtract()),
            (Left::Clones, Left::Nobody)
        );
        assert_eq!(Holders::new().let_go(), Left::Nobody);
    }
}
