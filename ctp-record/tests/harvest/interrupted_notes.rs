//! Announced waits of a thread that a signal handler interrupts after each instruction in turn. The
//! handler announces a wait itself, for its own coroutine or for the interrupted coroutine.
#![cfg(target_arch = "x86_64")]
#![allow(
    unsafe_code,
    reason = "makes the processor trap after each instruction"
)]

use std::arch::asm;
use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::layout::Station;
use ctp_nostd::slot::{self, SlotReading};
use ctp_nostd::{Coroutine, Local, Memory, Platform, Region, WAIT_ONE_OF_SEVERAL, Wait, WaitKind};

/// A platform with one thread and a clock that counts readings.
struct Stepped;

static MEMORY: Memory<4> = Memory::new();

// SAFETY: one thread uses this platform, and no other platform has its `Local`.
unsafe impl Platform for Stepped {
    fn now_ns() -> u64 {
        static NOW: AtomicU64 = AtomicU64::new(1);
        NOW.fetch_add(1, Relaxed)
    }

    fn thread() -> u64 {
        1
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        static LOCAL: Local = Local::new();
        Some(&LOCAL)
    }
}

/// Bit 8 of the flags makes the processor trap after each instruction.
const TRAP: i64 = 1 << 8;

thread_local! {
    /// Instructions until the handler acts, once.
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    static ACTION: Cell<fn()> = const { Cell::new(|| ()) };
}

extern "C" fn trapped(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    match LEFT.get() {
        Some(0) => {
            LEFT.set(None);
            ACTION.get()();
            // SAFETY: with SA_SIGINFO, the third argument points to a `ucontext_t`.
            let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
            context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP;
        }
        Some(left) => LEFT.set(Some(left - 1)),
        None => {}
    }
}

/// Runs `act` and calls `action` in a handler after `after` instructions. False if `act` has fewer.
#[inline(never)]
fn interrupted(after: u32, action: fn(), act: &dyn Fn()) -> bool {
    ACTION.set(action);
    LEFT.set(Some(after));
    // SAFETY: changes the flag alone and restores the stack. The handler is installed.
    unsafe { asm!("pushfq", "or qword ptr [rsp], {trap}", "popfq", trap = const TRAP) };
    act();
    // SAFETY: as above.
    unsafe { asm!("pushfq", "and qword ptr [rsp], {rest}", "popfq", rest = const !TRAP) };
    LEFT.take().is_none()
}

fn listen() {
    // SAFETY: all zeroes is a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO;
    action.sa_sigaction = trapped as *const () as libc::sighandler_t;
    // SAFETY: the handler accesses atomics and words of its thread. No other test uses this signal.
    unsafe { libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()) };
}

/// By station: the interrupted coroutine, its successor, the handler's, and a later one.
struct TestTasks([Coroutine<Stepped>; 4]);

// SAFETY: only one thread and its handlers use them.
unsafe impl Send for TestTasks {}
// SAFETY: as above.
unsafe impl Sync for TestTasks {}

static TEST_TASKS: OnceLock<TestTasks> = OnceLock::new();

fn task_at(index: usize) -> &'static Coroutine<Stepped> {
    let born =
        || ["first", "next", "handler's", "later"].map(|name| MEMORY.probe::<Stepped>().born(name));
    &TEST_TASKS.get_or_init(|| TestTasks(born())).0[index]
}

fn station(index: usize) -> &'static Station {
    let (base, bytes) = MEMORY.extent();
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    let region = unsafe { Region::new(base.cast_mut(), bytes, u32::MAX) };
    &region.expect("a memory is a region").stations[index]
}

/// A wait: its code and its resource.
type AnnouncedWait = (u8, u64);

/// The wait of a coroutine's latest event.
fn latest_wait(index: usize) -> AnnouncedWait {
    let station = station(index);
    match slot::read(station.slot_of(station.event_head() - 1)) {
        SlotReading::Whole(_, epoch) => (epoch.tail.wait_kind, epoch.arg),
        other => panic!("{other:?}"),
    }
}

fn announce(resource: u64) {
    MEMORY.probe::<Stepped>().waits_for(Wait::user(resource));
}

const NOTHING: AnnouncedWait = (WaitKind::Unknown as u8, 0);
const OF_HANDLER: u64 = 99;

const fn alone(resource: u64) -> AnnouncedWait {
    (WaitKind::User as u8, resource)
}

/// What handlers do, and the wait of their coroutine afterwards.
const HANDLERS: [(fn(), AnnouncedWait); 3] = [
    (runs_coroutine, NOTHING),
    (announces_for_own, alone(OF_HANDLER)),
    (announces_and_waits_for_another, alone(1)),
];

fn runs_coroutine() {
    task_at(2).run();
    task_at(2).suspend_announced();
}

fn announces_for_own() {
    task_at(2).run();
    announce(OF_HANDLER);
    task_at(2).suspend_announced();
}

fn announces_and_waits_for_another() {
    task_at(2).run();
    announce(OF_HANDLER);
    task_at(2).suspend(Wait::user(1));
}

/// Interrupts after each instruction in optimised builds. Other builds have too many instructions, at ten
/// microseconds each.
const STEP: usize = if cfg!(debug_assertions) { 151 } else { 1 };

/// Repeats `before` and `act`, interrupted one step later each time. Asserts that the wait of the
/// coroutine with this index is among `ends` afterwards.
fn at_each_instruction(before: &dyn Fn(), act: &dyn Fn(), index: usize, ends: &[AnnouncedWait]) {
    for (action, expected) in HANDLERS {
        let came = |after: &u32| {
            before();
            let came = interrupted(*after, action, act);
            task_at(index).suspend_announced();
            assert!(
                ends.contains(&latest_wait(index)),
                "{:?} at {after}",
                latest_wait(index)
            );
            assert!(
                !came || latest_wait(2) == expected,
                "{:?} at {after}",
                latest_wait(2)
            );
            task_at(3).run();
            announce(7);
            task_at(3).suspend_announced();
            assert_eq!(latest_wait(3), alone(7), "at {after}");
            came
        };
        let instants = (0..).step_by(STEP).take_while(came).count();
        assert!(2 < instants, "{instants}");
    }
}

// CT-13, CTP-30
#[test]
fn announced_wait_stays_with_the_coroutine_in_any_handler() {
    listen();
    let runs = || task_at(0).run();
    let nothing = &[NOTHING];
    at_each_instruction(&runs, &|| task_at(0).suspend_announced(), 0, nothing);
    at_each_instruction(&|| (), &runs, 0, nothing);
    let (code, resource) = alone(5);
    let one_of_several_waits = (code | WAIT_ONE_OF_SEVERAL, resource);
    let announced = [NOTHING, alone(5), one_of_several_waits];
    at_each_instruction(&runs, &|| announce(5), 0, &announced);
    let switches = || task_at(0).switch_to(Wait::user(3), task_at(1));
    at_each_instruction(&runs, &switches, 1, nothing);
    let both = || {
        announce(5);
        task_at(0).suspend(Wait::user(2));
        task_at(1).run();
    };
    at_each_instruction(&runs, &both, 1, nothing);
}
