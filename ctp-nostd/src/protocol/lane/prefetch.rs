//! Prefetches a cache line that is about to be written. A line that the recorder has read is in the
//! cache of the recorder's processor. A store to it would wait until the next locked step, and that
//! step would wait too.
//!
//! Unless the program is compiled for a processor that has the `PREFETCHW` instruction, this
//! prefetches the line for reading, which every processor supports.
#![allow(unsafe_code, reason = "a hint is an intrinsic that takes an address")]

/// Prefetches the line of this address for a write. The address need not be mapped.
#[inline(always)]
pub(crate) fn for_write<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    // SAFETY: a prefetch reads nothing, and faults for no address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = at;
}
