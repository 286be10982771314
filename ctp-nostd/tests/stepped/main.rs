//! The memory after each instruction of an event, as a dump would have it: numbers and times that
//! pass 2^32 are whole, or known to be half-written. The same tests run with words of 64 bits and,
//! under `--cfg ctp_split_words`, with two halves of 32 bits.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
#![allow(
    unsafe_code,
    reason = "makes the processor trap after each instruction"
)]

mod embassy;
mod ring;

use std::arch::asm;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use ctp_nostd::layout::{Compact, Full, Layout, Slot};
use ctp_nostd::slot::{self, Epoch, SlotReading, event_in, event_of, final_seq_in};
use ctp_nostd::{
    CompactMemory, Coroutine, Memory, Platform, ProbeLayout, RegionOf, Wait, half_written,
};

const CROSSING: u64 = 1 << 32;

/// Bit 8 of the flags makes the processor trap after each instruction.
const TRAP: u32 = 1 << 8;

thread_local! {
    /// What is checked after each instruction. False if it is wrong.
    static CHECK: Cell<fn() -> bool> = const { Cell::new(|| true) };
    /// Instructions, and how often the check failed.
    static COUNTS: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    /// The check needs no further instructions.
    static IS_OVER: Cell<bool> = const { Cell::new(false) };
}

extern "C" fn trapped(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    let ((steps, wrong), is_right) = (COUNTS.get(), CHECK.get()());
    COUNTS.set((steps + 1, wrong + u32::from(!is_right)));
    if IS_OVER.get() {
        // SAFETY: the kernel gives the handler a context, and restores the flags from it.
        let flags = unsafe { &mut (*context).uc_mcontext.gregs[libc::REG_EFL as usize] };
        *flags &= !i64::from(TRAP);
    }
}

/// Runs `act`, and checks the memory after each of its instructions, until the check sets `IS_OVER`.
fn assert_at_each_instruction(check: fn() -> bool, act: &dyn Fn()) {
    // SAFETY: all zeroes is a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = trapped as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler accesses atomics and words of its thread, and the interrupted flags.
    unsafe { libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()) };
    CHECK.set(check);
    COUNTS.set((0, 0));
    IS_OVER.set(false);
    // SAFETY: changes the flag alone and restores the stack. The handler is installed.
    unsafe { asm!("pushfq", "or qword ptr [rsp], {trap}", "popfq", trap = const TRAP) };
    act();
    // SAFETY: as above.
    unsafe { asm!("pushfq", "and qword ptr [rsp], {rest}", "popfq", rest = const !(TRAP as i32)) };
    let (steps, wrong) = COUNTS.get();
    assert!(20 < steps || IS_OVER.get(), "{steps} instructions");
    assert_eq!(wrong, 0, "of {steps} instructions");
}

thread_local! {
    static SLOT: Slot = Slot::default();
}

fn event(n: u64) -> Epoch {
    Epoch {
        timestamp: n,
        arg: !n,
        generation: n as u32,
        ..Epoch::default()
    }
}

fn slot_is_right<L: Layout>() -> bool {
    match SLOT.with(slot::read) {
        SlotReading::Whole(seq, epoch) => {
            let n = event_in::<L>(0, seq);
            (seq, epoch) == (final_seq_in::<L>(n), event(n))
        }
        SlotReading::Writing(_) => true,
        SlotReading::Empty | SlotReading::Changed => false,
    }
}

// CTP-27
#[test]
fn sequence_is_whole_at_each_instruction() {
    let last = event_of(0, CROSSING - 2);
    SLOT.with(|slot| {
        slot::publish(slot, last, &event(last));
        assert_at_each_instruction(slot_is_right::<Full>, &|| {
            slot::publish(slot, last + 8, &event(last + 8));
        });
        let after = slot::read(slot);
        assert_eq!(after, SlotReading::Whole(CROSSING, event(last + 8)));
    });
}

// CTP-27
#[test]
fn compact_sequence_is_whole_at_each_instruction() {
    let last = event_in::<Compact>(0, CROSSING - 2);
    let next = last + Compact::SLOTS;
    SLOT.with(|slot| {
        slot::publish_in::<Compact>(slot, last, &event(last));
        assert_at_each_instruction(slot_is_right::<Compact>, &|| {
            slot::publish_in::<Compact>(slot, next, &event(next));
        });
        let after = slot::read(slot);
        assert_eq!(after, SlotReading::Whole(CROSSING, event(next)));
    });
}

static MEMORY: Memory<1, 1> = Memory::new();
static COMPACT: CompactMemory<1, 1> = CompactMemory::new();

/// The times before and after the clock passes 2^32.
const TIMES_NS: [u64; 3] = [CROSSING - 5, CROSSING + 3, 2 * CROSSING + 1];

struct Board;

impl Board {
    fn clock() -> &'static AtomicU64 {
        static CLOCK: AtomicU64 = AtomicU64::new(TIMES_NS[0]);
        &CLOCK
    }
}

// SAFETY: there is no `Local`.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        Self::clock().load(Relaxed)
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        static NUMBER: AtomicU32 = AtomicU32::new(9);
        &NUMBER
    }
}

const BYTES: usize = size_of::<Memory<1, 1>>();

#[repr(align(1024))]
struct Dump([AtomicU8; BYTES]);

/// A copy of the memory, as `ctp-record --image` reads it.
fn dump<L: Layout>((memory, bytes): (*const u8, usize)) -> RegionOf<'static, L> {
    static DUMP: Dump = Dump([const { AtomicU8::new(0) }; BYTES]);
    assert!(bytes <= BYTES);
    let base = DUMP.0.as_ptr() as *mut u8;
    // SAFETY: both are as long as that, and no other thread accesses them.
    unsafe { ptr::copy_nonoverlapping(memory, base, bytes) };
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    let region = unsafe { RegionOf::new(base, bytes, 1) }.expect("it is a region");
    half_written::repair(&region);
    region
}

fn dump_is_right<L: Layout>(dump: RegionOf<'_, L>) -> bool {
    let station = &dump.stations[0];
    let head = station.event_head();
    let times = [station.latest_event_ns(), station.wakes().at_ns];
    (CROSSING - 2..=CROSSING + 2).contains(&head)
        && times.iter().all(|at| *at == 0 || TIMES_NS.contains(at))
        && latest_is_right(&dump, head)
}

/// Whether the event before the head is whole. The first such event was never written, because the test
/// sets the head.
fn latest_is_right<L: Layout>(dump: &RegionOf<'_, L>, head: u64) -> bool {
    let latest = head - 1;
    let found = slot::read(dump.stations[0].slot_of(latest));
    let is_whole = matches!(
        found,
        SlotReading::Whole(seq, epoch)
            if seq == final_seq_in::<L>(latest) && TIMES_NS.contains(&epoch.timestamp)
    );
    is_whole || latest == CROSSING - 3
}

/// Records events of a coroutine as their numbers pass 2^32, with a check after each instruction.
fn cross<L: ProbeLayout>(
    task: &Coroutine<Board, L>,
    extent: (*const u8, usize),
    is_right: fn() -> bool,
) {
    let (base, bytes) = extent;
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    let region = unsafe { RegionOf::<L>::new(base as *mut u8, bytes, 1) }.expect("it is a region");
    task.run();
    task.waker().wake();
    region.put_back(0, CROSSING - 2);
    for (step, at_ns) in TIMES_NS.into_iter().enumerate() {
        Board::clock().store(at_ns, Relaxed);
        assert_at_each_instruction(is_right, &|| {
            task.suspend(Wait::user(3));
            task.waker().wake();
        });
        let station = &dump::<L>(extent).stations[0];
        assert_eq!(station.event_head(), CROSSING - 1 + step as u64);
        assert_eq!(
            (station.latest_event_ns(), station.wakes().at_ns),
            (at_ns, at_ns)
        );
    }
}

fn full_is_right() -> bool {
    dump_is_right(dump::<Full>(MEMORY.extent()))
}

fn compact_is_right() -> bool {
    dump_is_right(dump::<Compact>(COMPACT.extent()))
}

/// Both layouts in turn, because they share the clock and the copy.
// CTP-27, AGG-24
#[test]
fn dump_is_whole_at_each_instruction() {
    let task = MEMORY.probe().born("task");
    cross(&task, MEMORY.extent(), full_is_right);
    Board::clock().store(TIMES_NS[0], Relaxed);
    let task = COMPACT.probe().born("task");
    cross(&task, COMPACT.extent(), compact_is_right);
}
