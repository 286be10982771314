//! A cache line that is about to be written is asked for before it is needed. One that the recorder has
//! read is in its processor's cache: a store would wait there until the next step that is locked, and
//! that step with it.
//!
//! Unless the program is compiled for a processor that is known to have the instruction (`PREFETCHW`),
//! this asks for the line to read it, which any has.
#![allow(unsafe_code, reason = "a hint is an intrinsic that takes an address")]

/// The line where this address lies is written soon. There need not be anything.
#[inline(always)]
pub(crate) fn for_write<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    // SAFETY: a hint reads nothing, and faults nowhere.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = at;
}
