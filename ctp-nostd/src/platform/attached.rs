//! Handles become inert in a forked child: whatever a program made since it attached no longer
//! applies there. Each event checks this, and also checks whether the handle holds anything at all.
//! A single comparison answers both questions.
//!
//! ```text
//!              present                         attachment
//!   a value    the platform's word             that word's value at creation, not 0
//!   no value   a word that is always 0         1
//! ```
#![allow(
    unsafe_code,
    reason = "equal words prove that the option holds a value, which saves a second check; a value \
              moves in behind a shared reference"
)]

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use super::target::Platform;

/// A value that is valid in this program only, or no value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Attached<T> {
    /// Comes from a `'static` reference. A constant may hold a pointer to a static's word, but no
    /// reference (before Rust 1.90).
    present: *const AtomicU32,
    attachment: u32,
    value: Option<T>,
}

// SAFETY: the pointer stands for a `'static` reference to an atomic word.
unsafe impl<T: Send> Send for Attached<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Sync> Sync for Attached<T> {}

static DETACHED_WORD: AtomicU32 = AtomicU32::new(0);

impl<T> Attached<T> {
    /// Holds no value, in any program.
    pub const fn detached() -> Self {
        Attached {
            present: ptr::from_ref(&DETACHED_WORD),
            attachment: 1,
            value: None,
        }
    }

    /// Holds this value, which was made under an attachment. Without an attachment, it holds no
    /// value.
    pub fn new<P: Platform>(attachment: u32, value: T) -> Self {
        if attachment == 0 {
            return Attached::detached();
        }
        Attached {
            present: ptr::from_ref(P::attachment_word()),
            attachment,
            value: Some(value),
        }
    }

    /// The value, unless the program has forked since.
    #[inline(always)]
    pub fn live(&self) -> Option<&T> {
        // SAFETY: `present` was made from a `'static` reference.
        let present = unsafe { &*self.present };
        if present.load(Ordering::Acquire) != self.attachment {
            return None;
        }
        // SAFETY: `attachment` is 1 only in `detached`, where `present` is a private word that
        // stays 0. So the words can be equal only if there is a value.
        Some(unsafe { self.value.as_ref().unwrap_unchecked() })
    }

    /// The value, even in a fork.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }
}

/// An [`Attached`] into which a value can move once, while its owner is shared within a thread.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct AttachedOnce<T>(UnsafeCell<Attached<T>>);

impl<T> AttachedOnce<T> {
    /// Holds what `attached` holds.
    pub const fn new(attached: Attached<T>) -> Self {
        AttachedOnce(UnsafeCell::new(attached))
    }

    /// The value, unless the program has forked since.
    #[inline(always)]
    pub fn live(&self) -> Option<&T> {
        self.attached().live()
    }

    /// The value, even in a fork.
    pub fn get(&self) -> Option<&T> {
        self.attached().get()
    }

    /// Moves in what `attached` holds. Without effect if there is a value already.
    pub fn fill(&self, attached: Attached<T>) {
        if self.get().is_some() {
            return;
        }
        // SAFETY: the cell is not shared between threads (`UnsafeCell` is not `Sync`). A signal
        // handler that interrupts this thread reads either state or, during the copy, a `present` word
        // that differs from `attachment`: see below. There is no reference into the cell: `live` and
        // `get` return references to the value only, and there was no value.
        let cell = unsafe { &mut *self.0.get() };
        // Until the last line, `present` points to the word that is always 0, and `attachment` is not
        // 0. So a signal handler finds no value until the value is complete.
        cell.value = attached.value;
        cell.attachment = attached.attachment;
        compiler_fence(Ordering::SeqCst);
        cell.present = attached.present;
    }

    #[inline(always)]
    fn attached(&self) -> &Attached<T> {
        // SAFETY: a shared reference that no caller keeps while `fill` writes: this type is not
        // shared between threads, and what `live` and `get` return while there is no value does not
        // refer into the cell.
        unsafe { &*self.0.get() }
    }
}
