//! What a program has made since it attached is void where it is another program by now, in a fork. That
//! is asked at each event, and so is whether there is anything at all: one comparison tells both.
//!
//! ```text
//!              present                    attachment
//!   something  the platform's word        what that word was when it was made, not 0
//!   nothing    a word that is 0 for good  1
//! ```
#![allow(
    unsafe_code,
    reason = "that the words are equal says what an option would be asked for once more"
)]

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use super::target::Platform;

/// Something of this program's, or nothing.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Attached<T> {
    /// From a reference for good. A constant may hold a pointer to a static's word, but no reference (before
    /// Rust 1.90).
    present: *const AtomicU32,
    attachment: u32,
    it: Option<T>,
}

// SAFETY: the pointer stands for a reference to an atomic word.
unsafe impl<T: Send> Send for Attached<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Attached<T> {}

static NOBODYS: AtomicU32 = AtomicU32::new(0);

impl<T> Attached<T> {
    /// Stands for nothing, in whatever program.
    pub const fn nothing() -> Self {
        Attached {
            present: ptr::from_ref(&NOBODYS),
            attachment: 1,
            it: None,
        }
    }

    /// This, which was made under an attachment. Nothing, if that is none.
    pub fn under<P: Platform>(attachment: u32, it: T) -> Self {
        if attachment == 0 {
            return Attached::nothing();
        }
        Attached {
            present: ptr::from_ref(P::attachment_word()),
            attachment,
            it: Some(it),
        }
    }

    /// It, unless the program is another one by now.
    #[inline(always)]
    pub fn live(&self) -> Option<&T> {
        // SAFETY: it came from a reference for good.
        let present = unsafe { &*self.present };
        if present.load(Ordering::Acquire) != self.attachment {
            return None;
        }
        // SAFETY: with nothing the two differ for good: see `nothing`, of whose word nobody else knows.
        Some(unsafe { self.it.as_ref().unwrap_unchecked() })
    }

    /// It, whatever the program is.
    pub fn get(&self) -> Option<&T> {
        self.it.as_ref()
    }
}
