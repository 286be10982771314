//! Read-modify-write instructions without a lock prefix, for words that only one thread and its own
//! signal handlers write. A handler cannot split a single instruction.
#![allow(unsafe_code, reason = "an instruction that no intrinsic offers")]

use crate::sync::AtomicU32;

macro_rules! exchange {
    ($name:ident, $atomic:ty, $word:ty, $instruction:literal, $rax:tt, $supported:meta) => {
        /// Changes `word` from `old` to `new`. Returns false, and writes nothing, if a handler has
        /// changed the word.
        #[inline]
        pub(crate) fn $name(word: &$atomic, old: $word, new: $word) -> bool {
            #[cfg(all($supported, not(loom)))]
            {
                // SAFETY: the word is valid and aligned, because it is behind a reference. Other
                // threads may read it at the same time: it is an atomic, and an aligned store of a
                // word is not torn (Intel SDM 3, 9.1.1). Only this thread writes it.
                unsafe {
                    core::arch::asm!(
                        $instruction,
                        "jne {lost}",
                        word = in(reg) word.as_ptr(),
                        new = in(reg) new,
                        inout($rax) old => _,
                        lost = label { return false },
                        options(nostack),
                    );
                }
                true
            }
            #[cfg(not(all($supported, not(loom))))]
            {
                // On AArch64 this compiles to a pair of exclusive accesses, without a barrier.
                use crate::sync::Ordering;
                word.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
            }
        }
    };
}

exchange!(
    exchange_u32,
    AtomicU32,
    u32,
    "cmpxchg dword ptr [{word}], {new:e}",
    "eax",
    any(target_arch = "x86", target_arch = "x86_64")
);

/// Adds 1 to `word`, modulo 2^32.
#[inline(always)]
pub(crate) fn count(word: &AtomicU32) {
    #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), not(loom)))]
    // SAFETY: as in `exchange`: a valid word, which only this thread writes.
    unsafe {
        core::arch::asm!(
            "inc dword ptr [{word}]",
            word = in(reg) word.as_ptr(),
            options(nostack),
        );
    }
    #[cfg(not(all(any(target_arch = "x86", target_arch = "x86_64"), not(loom))))]
    word.fetch_add(1, crate::sync::Ordering::Relaxed);
}
