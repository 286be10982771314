//! The callers of a function: return addresses, found by following saved frame pointers.
//!
//! ```text
//!   higher   | ...           |
//!            | return address|      into the caller's caller
//!     fp ──> | caller's fp   | ──┐  a frame record: two words, the same on x86-64 and aarch64
//!            | locals        |   │
//!            | return address|   │
//!            | saved fp      | ──┘
//!   lower    | locals        | <── sp
//! ```
//! A function that was compiled without frame pointers may hold any value in the register of the
//! frame pointer. So reads stay in a given range of a live stack, each record above the previous
//! one. The result is a claim, which the reader of a trace checks against the program's own tables.
#![allow(
    unsafe_code,
    reason = "reads registers, and words of the stack that no reference covers"
)]

use core::ops::Range;
use core::sync::atomic::AtomicUsize;
#[cfg(not(target_arch = "x86_64"))]
use core::sync::atomic::Ordering;

/// The position of a function: an address in its code, and its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FramePosition {
    pub pc: usize,
    pub fp: usize,
    pub sp: usize,
}

impl FramePosition {
    /// Whether the frame pointer can be valid. In a function without a frame pointer, the register
    /// often points elsewhere.
    #[inline(always)]
    pub fn may_have_record(&self) -> bool {
        self.sp <= self.fp && self.fp.is_multiple_of(WORD_BYTES)
    }
}

const WORD_BYTES: usize = size_of::<usize>();
const RECORD_BYTES: usize = 2 * WORD_BYTES;

/// The position of the calling function.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn here() -> FramePosition {
    let (pc, fp, sp);
    // SAFETY: copies three registers.
    unsafe {
        core::arch::asm!(
            "lea {pc}, [rip]", "mov {fp}, rbp", "mov {sp}, rsp",
            pc = out(reg) pc, fp = out(reg) fp, sp = out(reg) sp,
            options(nomem, nostack, preserves_flags),
        );
    }
    FramePosition { pc, fp, sp }
}

/// The position of the calling function.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn here() -> FramePosition {
    let (pc, fp, sp);
    // SAFETY: copies three registers.
    unsafe {
        core::arch::asm!(
            "adr {pc}, .", "mov {fp}, x29", "mov {sp}, sp",
            pc = out(reg) pc, fp = out(reg) fp, sp = out(reg) sp,
            options(nomem, nostack, preserves_flags),
        );
    }
    FramePosition { pc, fp, sp }
}

/// Not known on other targets, so that there is nothing to walk.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(crate) fn here() -> FramePosition {
    FramePosition {
        pc: 0,
        fp: 0,
        sp: 0,
    }
}

/// Passes the frame record of the function at `from` to `visit`, then that of its caller, and so on,
/// up to the function whose frame pointer is `base`, or until `visit` returns false. True if the
/// base was reached.
///
/// # Safety
/// - `stack` is readable during the call.
#[inline(always)]
pub(crate) unsafe fn walk(
    from: &FramePosition,
    stack: Range<usize>,
    base: usize,
    mut visit: impl FnMut(FrameRecord) -> bool,
) -> bool {
    let (mut fp, mut floor) = (from.fp, stack.start);
    while fp != base {
        if !is_record(fp, floor..stack.end) {
            return false;
        }
        // SAFETY: both words were just checked to lie in `stack`, aligned.
        let (next, returns_to) = unsafe { record(fp) };
        if !visit(FrameRecord { next, returns_to }) {
            return false;
        }
        (floor, fp) = (fp + RECORD_BYTES, next);
    }
    true
}

/// Whether the function at `from` returns to this address. If so, its frame pointer is valid.
///
/// # Safety
/// - `stack` is readable during the call.
#[inline(always)]
pub(crate) unsafe fn is_called_from(
    from: &FramePosition,
    stack: &Range<usize>,
    returns_to: usize,
) -> bool {
    // SAFETY: both words were just checked to lie in `stack`, aligned.
    is_record(from.fp, stack.clone()) && unsafe { record(from.fp) }.1 == returns_to
}

/// A frame record: its two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameRecord {
    pub next: usize,
    pub returns_to: usize,
}

/// Compares frame records with kept records.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(crate) struct RecordsMatch(core::arch::x86_64::__m128i);

#[cfg(target_arch = "x86_64")]
impl RecordsMatch {
    #[inline(always)]
    pub fn new() -> Self {
        // SAFETY: SSE2 is part of x86-64.
        RecordsMatch(unsafe { core::arch::x86_64::_mm_setzero_si128() })
    }

    /// # Safety
    /// The two words at `fp` are readable.
    #[inline(always)]
    pub unsafe fn compare(&mut self, fp: usize, kept: &[AtomicUsize; 2]) {
        // SAFETY: `fp` is readable by the caller's promise, `kept` by its reference; nothing else
        // is accessed.
        unsafe {
            core::arch::asm!(
                "movdqu {found}, xmmword ptr [{fp}]",
                "movdqu {kept}, xmmword ptr [{at}]",
                "pxor {found}, {kept}",
                "por {differs}, {found}",
                fp = in(reg) fp, at = in(reg) kept.as_ptr(),
                found = out(xmm_reg) _, kept = out(xmm_reg) _, differs = inout(xmm_reg) self.0,
                options(nostack, readonly, preserves_flags),
            );
        }
    }

    /// Whether all compared records were equal.
    #[inline(always)]
    pub fn are_equal(&self) -> bool {
        use core::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_setzero_si128};
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, _mm_setzero_si128())) == 0xFFFF }
    }
}

/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Debug)]
pub(crate) struct RecordsMatch(usize);

#[cfg(not(target_arch = "x86_64"))]
impl RecordsMatch {
    #[inline(always)]
    pub fn new() -> Self {
        RecordsMatch(0)
    }

    /// # Safety
    /// The two words at `fp` are readable.
    #[inline(always)]
    pub unsafe fn compare(&mut self, fp: usize, kept: &[AtomicUsize; 2]) {
        // SAFETY: the caller's promise.
        let (next, returns_to) = unsafe { record(fp) };
        let [kept_next, kept_returns_to] = kept;
        self.0 |= next ^ kept_next.load(Ordering::Relaxed);
        self.0 |= returns_to ^ kept_returns_to.load(Ordering::Relaxed);
    }

    /// Whether all compared records were equal.
    #[inline(always)]
    pub fn are_equal(&self) -> bool {
        self.0 == 0
    }
}

#[inline(always)]
fn is_record(fp: usize, stack: Range<usize>) -> bool {
    let room = stack.end.checked_sub(RECORD_BYTES);
    fp.is_multiple_of(WORD_BYTES) && stack.start <= fp && room.is_some_and(|last| fp <= last)
}

/// Reads a frame record in assembly, because to the compiler the words may belong to any object.
///
/// # Safety
/// The two words at `address` are readable.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn record(address: usize) -> (usize, usize) {
    let (next, returns_to);
    // SAFETY: the caller's promise; nothing else is accessed.
    unsafe {
        core::arch::asm!(
            "mov {returns_to}, qword ptr [{address} + 8]",
            "mov {next}, qword ptr [{address}]",
            address = in(reg) address, next = lateout(reg) next, returns_to = out(reg) returns_to,
            options(nostack, readonly, preserves_flags),
        );
    }
    (next, returns_to)
}

/// As on x86-64.
///
/// # Safety
/// The two words at `address` are readable.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn record(address: usize) -> (usize, usize) {
    let (next, returns_to);
    // SAFETY: the caller's promise; nothing else is accessed.
    unsafe {
        core::arch::asm!(
            "ldp {next}, {returns_to}, [{address}]",
            address = in(reg) address, next = out(reg) next, returns_to = out(reg) returns_to,
            options(nostack, readonly, preserves_flags),
        );
    }
    (next, returns_to)
}

/// On targets with unknown frames, nothing is read.
///
/// # Safety
/// None needed.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
unsafe fn record(_: usize) -> (usize, usize) {
    (0, 0)
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use crate::protocol::chain::Addresses;

    type Stack = [usize; 64];

    fn place(stack: &Stack, index: usize) -> usize {
        stack.as_ptr().addr() + index * WORD_BYTES
    }

    /// Writes frame records at these indexes: (index, index of the next record, return address).
    fn link(stack: &mut Stack, records: &[(usize, usize, usize)]) {
        for &(at, next, returns_to) in records {
            stack[at] = place(stack, next);
            stack[at + 1] = returns_to;
        }
    }

    /// Walks from the frame pointer `fp` up to `base`, in the stack without its first and last four
    /// words.
    fn walked(stack: &Stack, fp: usize, base: usize) -> (bool, Addresses) {
        let from = FramePosition { pc: 0, fp, sp: 0 };
        let mut addresses = Addresses::new();
        let range = place(stack, 4)..place(stack, 60);
        // SAFETY: the words are borrowed during the walk.
        let is_whole = unsafe {
            walk(&from, range, base, |record| {
                addresses.push(record.returns_to as u64).is_ok()
            })
        };
        (is_whole, addresses)
    }

    #[test]
    fn walk_follows_records_up_to_the_base() {
        let mut stack = [0xBAD; 64];
        link(&mut stack, &[(6, 20, 100), (20, 30, 200), (30, 62, 300)]);
        let (is_whole, addresses) = walked(&stack, place(&stack, 6), place(&stack, 62));
        assert!(is_whole);
        assert_eq!(addresses, [100, 200, 300]);
    }

    #[test]
    fn invalid_frame_pointer_is_not_followed() {
        let mut stack = [0xBAD; 64];
        link(&mut stack, &[(6, 20, 100)]);
        let hostile = [
            0,
            1,
            8,
            place(&stack, 3),
            place(&stack, 6) + 1,
            place(&stack, 59),
            place(&stack, 60),
            usize::MAX,
            usize::MAX - 7,
            isize::MAX as usize,
        ];
        for fp in hostile {
            let (is_whole, addresses) = walked(&stack, fp, place(&stack, 62));
            assert!(!is_whole && addresses.is_empty(), "{fp:#x}");
            // The same value as a saved frame pointer.
            stack[6] = fp;
            let (is_whole, addresses) = walked(&stack, place(&stack, 6), place(&stack, 62));
            assert!(!is_whole, "{fp:#x}");
            assert_eq!(addresses, [100], "{fp:#x}");
        }
    }

    #[test]
    fn walk_never_goes_back_and_ends() {
        let mut stack = [0xBAD; 64];
        link(&mut stack, &[(6, 20, 100), (20, 6, 200)]);
        let (is_whole, addresses) = walked(&stack, place(&stack, 6), place(&stack, 62));
        assert!(!is_whole);
        assert_eq!(addresses, [100, 200]);
        link(&mut stack, &[(6, 6, 100)]);
        assert!(!walked(&stack, place(&stack, 6), place(&stack, 62)).0);
        link(&mut stack, &[(6, 7, 100)]);
        assert_eq!(walked(&stack, place(&stack, 6), place(&stack, 62)).1, [100]);
    }

    #[test]
    fn too_long_chain_is_incomplete() {
        let mut stack = [0xBAD; 64];
        let records: [_; 28] = core::array::from_fn(|i| (4 + 2 * i, 6 + 2 * i, i));
        link(&mut stack, &records);
        let (is_whole, addresses) = walked(&stack, place(&stack, 4), place(&stack, 60));
        assert!(!is_whole && addresses.is_full());
    }

    #[inline(never)]
    fn own_frame() -> (FramePosition, FramePosition) {
        let inner = core::hint::black_box(here as fn() -> FramePosition)();
        (here(), inner)
    }

    #[test]
    fn function_finds_own_code_and_stack() {
        let (outer, inner) = own_frame();
        let local = 0usize;
        let near = |a: usize, b: usize| a.abs_diff(b) < 1 << 20;
        assert!(near(
            outer.pc,
            own_frame as fn() -> (FramePosition, FramePosition) as usize
        ));
        assert!(near(outer.sp, (&raw const local).addr()));
        assert!(inner.sp <= outer.sp);
    }
}
