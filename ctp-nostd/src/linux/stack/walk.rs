//! Who called: return addresses, by following saved frame pointers.
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
//! A function that was compiled without frame pointers keeps anything in that register. So nothing
//! is read but what lies in a given stretch of a live stack, each record above the one before; and
//! what is read is a claim, which the reader of a trace checks against the program's own tables.
#![allow(
    unsafe_code,
    reason = "reads registers, and words of the stack that no reference covers"
)]

use core::ops::Range;
use core::sync::atomic::AtomicUsize;
#[cfg(not(target_arch = "x86_64"))]
use core::sync::atomic::Ordering;

/// Where a function is: some address in its code, and its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Here {
    pub pc: usize,
    pub fp: usize,
    pub sp: usize,
}

impl Here {
    /// Could its frame pointer be one? That of a function compiled without often points elsewhere.
    #[inline(always)]
    pub fn may_have_a_record(&self) -> bool {
        self.sp <= self.fp && self.fp.is_multiple_of(WORD_BYTES)
    }
}

const WORD_BYTES: usize = size_of::<usize>();
const RECORD_BYTES: usize = 2 * WORD_BYTES;

/// Of the function that asks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn here() -> Here {
    let (pc, fp, sp);
    // SAFETY: copies three registers.
    unsafe {
        core::arch::asm!(
            "lea {pc}, [rip]", "mov {fp}, rbp", "mov {sp}, rsp",
            pc = out(reg) pc, fp = out(reg) fp, sp = out(reg) sp,
            options(nomem, nostack, preserves_flags),
        );
    }
    Here { pc, fp, sp }
}

/// Of the function that asks.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn here() -> Here {
    let (pc, fp, sp);
    // SAFETY: copies three registers.
    unsafe {
        core::arch::asm!(
            "adr {pc}, .", "mov {fp}, x29", "mov {sp}, sp",
            pc = out(reg) pc, fp = out(reg) fp, sp = out(reg) sp,
            options(nomem, nostack, preserves_flags),
        );
    }
    Here { pc, fp, sp }
}

/// Not known here: there is nothing to walk.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(crate) fn here() -> Here {
    Here {
        pc: 0,
        fp: 0,
        sp: 0,
    }
}

/// Tells where the function at `from` was called, and so on, up to the function whose frame pointer
/// is `base`, or until `told` has enough. True if that was reached.
///
/// # Safety
/// - `stack` can be read for as long as this takes.
#[inline(always)]
pub(crate) unsafe fn walk(
    from: &Here,
    stack: Range<usize>,
    base: usize,
    mut told: impl FnMut(Record) -> bool,
) -> bool {
    let (mut fp, mut floor) = (from.fp, stack.start);
    while fp != base {
        if !is_record(fp, floor..stack.end) {
            return false;
        }
        // SAFETY: just checked to lie in `stack`, both words of it, aligned.
        let (next, returns_to) = unsafe { record(fp) };
        if !told(Record { next, returns_to }) {
            return false;
        }
        (floor, fp) = (fp + RECORD_BYTES, next);
    }
    true
}

/// Was the function at `from` called so that it returns to this address? Then its frame pointer is
/// one.
///
/// # Safety
/// - `stack` can be read for as long as this takes.
#[inline(always)]
pub(crate) unsafe fn is_called_from(from: &Here, stack: &Range<usize>, returns_to: usize) -> bool {
    // SAFETY: just checked to lie in `stack`, both words of it, aligned.
    is_record(from.fp, stack.clone()) && unsafe { record(from.fp) }.1 == returns_to
}

/// A frame record: its two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub next: usize,
    pub returns_to: usize,
}

/// Whether frame records read as others that are kept.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(crate) struct Alike(core::arch::x86_64::__m128i);

#[cfg(target_arch = "x86_64")]
impl Alike {
    #[inline(always)]
    pub fn new() -> Self {
        // SAFETY: SSE2 is part of x86-64. So it is below.
        Alike(unsafe { core::arch::x86_64::_mm_setzero_si128() })
    }

    /// # Safety
    /// The two words at `fp` can be read.
    #[inline(always)]
    pub unsafe fn look(&mut self, fp: usize, kept: &[AtomicUsize; 2]) {
        // SAFETY: the caller's promise, and a reference; nothing else is touched.
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

    /// Are they alike so far?
    #[inline(always)]
    pub fn are(&self) -> bool {
        use core::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_setzero_si128};
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, _mm_setzero_si128())) == 0xFFFF }
    }
}

/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Debug)]
pub(crate) struct Alike(usize);

#[cfg(not(target_arch = "x86_64"))]
impl Alike {
    #[inline(always)]
    pub fn new() -> Self {
        Alike(0)
    }

    /// # Safety
    /// The two words at `fp` can be read.
    #[inline(always)]
    pub unsafe fn look(&mut self, fp: usize, kept: &[AtomicUsize; 2]) {
        // SAFETY: the caller's promise.
        let (next, returns_to) = unsafe { record(fp) };
        let [kept_next, kept_returns_to] = kept;
        self.0 |= next ^ kept_next.load(Ordering::Relaxed);
        self.0 |= returns_to ^ kept_returns_to.load(Ordering::Relaxed);
    }

    /// Are they alike so far?
    #[inline(always)]
    pub fn are(&self) -> bool {
        self.0 == 0
    }
}

#[inline(always)]
fn is_record(fp: usize, stack: Range<usize>) -> bool {
    let room = stack.end.checked_sub(RECORD_BYTES);
    fp.is_multiple_of(WORD_BYTES) && stack.start <= fp && room.is_some_and(|last| fp <= last)
}

/// By instructions of its own: to the compiler the words may belong to anybody.
///
/// # Safety
/// The two words at `address` can be read.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn record(address: usize) -> (usize, usize) {
    let (next, returns_to);
    // SAFETY: the caller's promise; nothing else is touched.
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
/// The two words at `address` can be read.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn record(address: usize) -> (usize, usize) {
    let (next, returns_to);
    // SAFETY: the caller's promise; nothing else is touched.
    unsafe {
        core::arch::asm!(
            "ldp {next}, {returns_to}, [{address}]",
            address = in(reg) address, next = out(reg) next, returns_to = out(reg) returns_to,
            options(nostack, readonly, preserves_flags),
        );
    }
    (next, returns_to)
}

/// Where frames are not known, nothing is read.
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

    /// Frame records at these places: (index, index of the next one, return address).
    fn link(stack: &mut Stack, records: &[(usize, usize, usize)]) {
        for &(at, next, returns_to) in records {
            stack[at] = place(stack, next);
            stack[at + 1] = returns_to;
        }
    }

    /// From the frame pointer `fp` up to `base`, in the words from the fourth on but the last four.
    fn walked(stack: &Stack, fp: usize, base: usize) -> (bool, Addresses) {
        let from = Here { pc: 0, fp, sp: 0 };
        let mut addresses = Addresses::new();
        let range = place(stack, 4)..place(stack, 60);
        // SAFETY: the words are borrowed meanwhile.
        let is_whole = unsafe {
            walk(&from, range, base, |it| {
                addresses.push(it.returns_to as u64).is_ok()
            })
        };
        (is_whole, addresses)
    }

    #[test]
    fn each_record_leads_to_the_caller_up_to_the_base() {
        let mut stack = [0xBAD; 64];
        link(&mut stack, &[(6, 20, 100), (20, 30, 200), (30, 62, 300)]);
        let (is_whole, addresses) = walked(&stack, place(&stack, 6), place(&stack, 62));
        assert!(is_whole);
        assert_eq!(addresses, [100, 200, 300]);
    }

    #[test]
    fn a_frame_pointer_outside_of_the_stack_or_not_aligned_is_not_followed() {
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
            // The same in the place of a saved one.
            stack[6] = fp;
            let (is_whole, addresses) = walked(&stack, place(&stack, 6), place(&stack, 62));
            assert!(!is_whole, "{fp:#x}");
            assert_eq!(addresses, [100], "{fp:#x}");
        }
    }

    #[test]
    fn a_walk_never_goes_back_and_ends() {
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
    fn a_chain_that_is_too_long_is_not_whole() {
        let mut stack = [0xBAD; 64];
        let records: [_; 28] = core::array::from_fn(|i| (4 + 2 * i, 6 + 2 * i, i));
        link(&mut stack, &records);
        let (is_whole, addresses) = walked(&stack, place(&stack, 4), place(&stack, 60));
        assert!(!is_whole && addresses.is_full());
    }

    #[inline(never)]
    fn own_frame() -> (Here, Here) {
        let inner = core::hint::black_box(here as fn() -> Here)();
        (here(), inner)
    }

    #[test]
    fn a_function_finds_its_own_code_and_stack() {
        let (outer, inner) = own_frame();
        let local = 0usize;
        let near = |a: usize, b: usize| a.abs_diff(b) < 1 << 20;
        assert!(near(outer.pc, own_frame as fn() -> (Here, Here) as usize));
        assert!(near(outer.sp, (&raw const local).addr()));
        assert!(inner.sp <= outer.sp);
    }
}
