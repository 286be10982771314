//! Whether a coroutine has a seat is asked at each event, and so is whether the program is still the one
//! that took it: one comparison tells both.
//!
//! ```text
//!                 present                              attachment
//!   has a seat    the platform's word                  as that word was when the seat was taken
//!   has none      a word that is 0 for good            1
//! ```
#![allow(
    unsafe_code,
    reason = "that the words are equal says what an option would be asked for once more"
)]

use core::sync::atomic::{AtomicU32, Ordering};

use crate::platform::Platform;
use crate::seat::Seat;

/// A seat, or none.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Seated<P> {
    present: &'static AtomicU32,
    attachment: u32,
    seat: Option<Seat<P>>,
}

static NOBODYS: AtomicU32 = AtomicU32::new(0);

impl<P> Seated<P> {
    /// No seat.
    pub const fn nowhere() -> Self {
        Seated {
            present: &NOBODYS,
            attachment: 1,
            seat: None,
        }
    }

    /// The seat, unless the program is another one by now.
    #[inline(always)]
    pub fn live(&self) -> Option<&Seat<P>> {
        if self.present.load(Ordering::Acquire) != self.attachment {
            return None;
        }
        // SAFETY: without a seat the two differ for good: see `nowhere`, of whose word nobody else knows.
        Some(unsafe { self.seat.as_ref().unwrap_unchecked() })
    }
}

impl<P: Platform> Seated<P> {
    /// This one, which was just taken.
    pub fn on(seat: Seat<P>) -> Self {
        Seated {
            present: P::attachment_word(),
            attachment: seat.probe.attachment,
            seat: Some(seat),
        }
    }
}
