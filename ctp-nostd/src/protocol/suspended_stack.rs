//! Where a coroutine with a stack of its own waits, so that the recorder can read its call stack.
//!
//! ```text
//!   owner                                        recorder
//!   CO1 pc, fp, on the coroutine's stack         CR1 head -> h; event h - 1: a suspend after CO1
//!   CO2 the suspend: slot with the stack             (acquire, pairs with CO2)
//!       pointer; head = n + 1        (release)   CR2 pc, fp                            (relaxed)
//!       waits while frozen: GO1 to GO3           CR3 a copy of the stack, from outside
//!   CO3 the run: begun = n + 2       (relaxed)
//!   CO4 fence                        (release)   CR4 fence             (acquire, pairs with CO4)
//!   CO5 the function of CO1 returns: from now    CR5 begun and head still h, and no event
//!       on, the coroutine changes its stack          dropped by a filter?              (relaxed)
//! ```
//! The event head is the version: each event of the station moves it forward, also an event of a
//! later coroutine, and it never goes back. CO3 is E3 of `event/fast_path.rs`, and CO4 is W2 of
//! [`crate::slot`]. A run that a filter drops does not move the head: there, CO3 sets `state`, and
//! CO4 is a fence of its own (`control.rs`).
//!
//! If CR2 or CR3 saw what the coroutine stored after CO4, in a later CO1 or on its stack, then the
//! fences CO4 and CR4 make CR5 see CO3, so the copy is refused. Therefore a copy that CR5 accepts is
//! the stack of that suspend.
//!
//! Usually neither side waits for the other. A coroutine that goes on during three copies in a row may
//! have to wait before its next CO3, see [`crate::freeze`]. The argument above does not depend on
//! that.
//!
//! After CO2, the coroutine still runs on its stack until the switch to another stack, and may run
//! there before CO3. That changes variables and the memory below the stack pointer of CO1, but
//! neither return addresses nor saved registers, because the function of CO1 has not returned.
//!
//! The slot's `addr` distinguishes a suspend after CO1: there it is 1 more than the stack pointer,
//! thus odd. In any other suspend it is the address of the coroutine's handle, which is even.
#![allow(
    unsafe_code,
    reason = "reads registers and stores them in the station, in two instructions less than safe code"
)]

use crate::memory::layout::{Layout, Station, StationOf};
use crate::protocol::control;
use crate::protocol::slot::{self, AFTER_FILTERED, EventKind, SlotReading};
use crate::sync::{Ordering, fence};

/// Added to the stack pointer in `addr`. Stack pointers are even.
const HAS_POSITION: u64 = 1;

impl Station {
    /// Owner: CO1 with the position of the caller. Returns the `addr` of the suspend.
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    #[inline(always)]
    pub(crate) fn store_caller(&self) -> Option<u64> {
        let addr: u64;
        // SAFETY: both words are aligned atomics behind `self`, which only this owner writes. A
        // `mov` of 8 bytes is an atomic store. The stack is not touched.
        unsafe {
            core::arch::asm!(
                "lea {addr}, [rip]",
                "mov [{station} + {pc}], {addr}",
                "mov [{station} + {fp}], rbp",
                "lea {addr}, [rsp + {mark}]",
                station = in(reg) core::ptr::from_ref(self),
                addr = out(reg) addr,
                pc = const core::mem::offset_of!(Station, pc),
                fp = const core::mem::offset_of!(Station, fp),
                mark = const HAS_POSITION,
                options(nostack, preserves_flags),
            );
        }
        Some(addr)
    }

    /// Owner: CO1 with the position of the caller. Returns the `addr` of the suspend.
    #[cfg(all(target_arch = "aarch64", not(loom)))]
    #[inline(always)]
    pub(crate) fn store_caller(&self) -> Option<u64> {
        let addr: u64;
        // SAFETY: both words are aligned atomics behind `self`, which only this owner writes. A
        // `str` of 8 bytes is an atomic store. The stack is not touched.
        unsafe {
            core::arch::asm!(
                "adr {addr}, .",
                "str {addr}, [{station}, #{pc}]",
                "str x29, [{station}, #{fp}]",
                "add {addr}, sp, #{mark}",
                station = in(reg) core::ptr::from_ref(self),
                addr = out(reg) addr,
                pc = const core::mem::offset_of!(Station, pc),
                fp = const core::mem::offset_of!(Station, fp),
                mark = const HAS_POSITION,
                options(nostack, preserves_flags),
            );
        }
        Some(addr)
    }

    /// Owner: nothing is stored, because the registers of this processor are not known.
    #[cfg(any(loom, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    #[inline(always)]
    pub(crate) fn store_caller(&self) -> Option<u64> {
        None
    }

    /// Owner: CO1 with this position, which need not be that of the caller. Returns the `addr` of
    /// the suspend.
    pub fn store_position(&self, pc: u64, sp: u64, fp: u64) -> u64 {
        self.pc.store(pc, Ordering::Relaxed);
        self.fp.store(fp, Ordering::Relaxed);
        sp | HAS_POSITION
    }
}

/// The steps of an event that change the version.
impl<L: Layout> StationOf<L> {
    /// Owner: event `n` begins (CO3). Returns false if a handler has begun an event in between.
    #[inline(always)]
    pub fn begin_event(&self, n: u64) -> bool {
        control::enter(&self.begun, n as u32)
    }

    /// Owner: all events before `head` are complete (CO2).
    #[inline(always)]
    pub fn publish_events(&self, head: u64) {
        self.event_head.store(head, Ordering::Release);
    }
}

impl Station {
    /// Recorder: whether any coroutine of this station has stored a position.
    pub fn has_position(&self) -> bool {
        self.pc.load(Ordering::Relaxed) != 0
    }
}

/// Where a coroutine waits on a stack of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspendedStack {
    /// The version: the event head.
    head: u64,
    /// Identifies the coroutine among those that used the station.
    pub generation: u32,
    /// When the coroutine suspended: nanoseconds on the program's monotonic clock.
    pub at_ns: u64,
    /// An address in the function that recorded the suspend.
    pub pc: u64,
    /// The stack pointer there.
    pub sp: u64,
    /// The frame pointer there.
    pub fp: u64,
}

/// Why a station has no stack to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStack {
    /// No coroutine uses the station, or its coroutine has not run yet.
    NeverRan,
    /// The coroutine runs.
    Runs,
    /// The coroutine has ended.
    Ended,
    /// The coroutine waits, and did not say where.
    NotStored,
    /// A filter dropped the latest event.
    Filtered,
    /// The coroutine changes its state at this moment.
    Changes,
}

impl SuspendedStack {
    /// Recorder: CR1 and CR2.
    ///
    /// # Errors
    /// [`NoStack`]: the coroutine does not wait on a stack of its own.
    pub fn read(station: &Station) -> Result<Self, NoStack> {
        let head = station.event_head(); // CR1, pairs with CO2
        let generation = station.generation.load(Ordering::Acquire);
        if station.is_dead.load(Ordering::Acquire) != 0 {
            return Err(NoStack::Ended);
        }
        if station.hidden_kind().is_some() {
            return Err(NoStack::Filtered);
        }
        let latest = head.wrapping_sub(1);
        let epoch = match slot::read(station.slot_of(latest)) {
            SlotReading::Empty => return Err(NoStack::NeverRan),
            SlotReading::Whole(seq, epoch) if seq == slot::final_seq(latest) => epoch,
            _ => return Err(NoStack::Changes),
        };
        if epoch.generation != generation {
            return Err(NoStack::Changes); // another coroutine moves in
        }
        check_kind(epoch.tail.kind)?;
        if epoch.addr & HAS_POSITION == 0 {
            return Err(NoStack::NotStored);
        }
        Ok(SuspendedStack {
            head,
            generation,
            at_ns: epoch.timestamp,
            pc: station.pc.load(Ordering::Relaxed), // CR2
            sp: epoch.addr & !HAS_POSITION,
            fp: station.fp.load(Ordering::Relaxed), // CR2
        })
    }

    /// Recorder: CR4 and CR5. Whether the coroutine has waited all the time since the read. If so, a
    /// copy of its stack that was made in between is valid.
    pub fn is_still(&self, station: &Station) -> bool {
        fence(Ordering::Acquire); // CR4, pairs with CO4
        !station.is_inside()
            && station.event_head.load(Ordering::Relaxed) == self.head
            && station.hidden_kind().is_none()
            && station.generation.load(Ordering::Relaxed) == self.generation
    }
}

/// Only a suspended coroutine has a stack that does not change.
fn check_kind(kind: u8) -> Result<(), NoStack> {
    match kind & !AFTER_FILTERED {
        kind if kind == EventKind::Suspend as u8 => Ok(()),
        kind if kind == EventKind::Run as u8 => Err(NoStack::Runs),
        kind if kind == EventKind::Birth as u8 => Err(NoStack::NeverRan),
        kind if kind == EventKind::Death as u8 => Err(NoStack::Ended),
        _ => Err(NoStack::Changes),
    }
}
