//! What is announced on a thread, where a signal handler comes after each of its instructions, by turns,
//! and announces something itself, for a coroutine that it runs or for whoever runs there.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code, reason = "a processor that stops after each instruction")]

use std::arch::asm;
use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::layout::Station;
use ctp_nostd::slot::{self, Snapshot};
use ctp_nostd::{Coroutine, Local, Memory, Platform, Region, WAIT_ONE_OF_SEVERAL, Wait, WaitKind};

/// One thread, whose clock goes on by itself.
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

/// Bit 8 of the flags: the processor traps after each instruction.
const TRAP: i64 = 1 << 8;

thread_local! {
    /// Instructions until the handler does what it does, which it does once.
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    static DOES: Cell<fn()> = const { Cell::new(|| ()) };
}

extern "C" fn trapped(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    match LEFT.get() {
        Some(0) => {
            LEFT.set(None);
            DOES.get()();
            // SAFETY: with SA_SIGINFO that is what the third argument points to.
            let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
            context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP;
        }
        Some(left) => LEFT.set(Some(left - 1)),
        None => {}
    }
}

/// Does `act`, and after so many instructions of it what a handler does. False if there are fewer.
#[inline(never)]
fn interrupted(after: u32, does: fn(), act: &dyn Fn()) -> bool {
    DOES.set(does);
    LEFT.set(Some(after));
    // SAFETY: the flag alone changes, and what was pushed is taken back. The handler is there.
    unsafe { asm!("pushfq", "or qword ptr [rsp], {trap}", "popfq", trap = const TRAP) };
    act();
    // SAFETY: as above.
    unsafe { asm!("pushfq", "and qword ptr [rsp], {rest}", "popfq", rest = const !TRAP) };
    LEFT.take().is_none()
}

fn listen() {
    // SAFETY: all zeroes is a valid one.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO;
    action.sa_sigaction = trapped as *const () as libc::sighandler_t;
    // SAFETY: the handler touches atomics and words of its thread. No other test uses this signal.
    unsafe { libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()) };
}

/// By station: the one that is interrupted, the one after it, the handler's, and one that comes later.
struct Cast([Coroutine<Stepped>; 4]);

// SAFETY: one thread and its handlers use them.
unsafe impl Send for Cast {}
// SAFETY: as above.
unsafe impl Sync for Cast {}

static CAST: OnceLock<Cast> = OnceLock::new();

fn cast(index: usize) -> &'static Coroutine<Stepped> {
    let born =
        || ["one", "next", "handler's", "later"].map(|it| MEMORY.probe::<Stepped>().born(it));
    &CAST.get_or_init(|| Cast(born())).0[index]
}

fn station(index: usize) -> &'static Station {
    let (base, bytes) = MEMORY.extent();
    // SAFETY: a static is mapped for ever; all of its words are atomics, also the first of each.
    let region = unsafe { Region::new(base.cast_mut(), bytes, u32::MAX) };
    &region.expect("a memory is a region").stations[index]
}

/// For what one waits: code and resource.
type Said = (u8, u64);

/// By its latest event.
fn said(index: usize) -> Said {
    let station = station(index);
    match slot::snapshot(station.slot_of(station.event_head() - 1)) {
        Snapshot::Whole(_, epoch) => (epoch.tail.wait_kind, epoch.arg),
        other => panic!("{other:?}"),
    }
}

fn announce(resource: u64) {
    MEMORY.probe::<Stepped>().waits_for(Wait::user(resource));
}

const NOTHING: Said = (WaitKind::Unknown as u8, 0);
const OF_HANDLER: u64 = 99;

const fn alone(resource: u64) -> Said {
    (WaitKind::User as u8, resource)
}

/// What handlers do, and what theirs then waits for.
const HANDLERS: [(fn(), Said); 3] = [
    (runs_one, NOTHING),
    (announces_for_its_own, alone(OF_HANDLER)),
    (announces_and_waits_for_another, alone(1)),
];

fn runs_one() {
    cast(2).run();
    cast(2).suspend_noted();
}

fn announces_for_its_own() {
    cast(2).run();
    announce(OF_HANDLER);
    cast(2).suspend_noted();
}

fn announces_and_waits_for_another() {
    cast(2).run();
    announce(OF_HANDLER);
    cast(2).suspend(Wait::user(1));
}

/// After each instruction where the program is optimised; else there are too many of them, at ten
/// microseconds each.
const STEP: usize = if cfg!(debug_assertions) { 151 } else { 1 };

/// Does it again and again, a handler coming later each time: the coroutine with this index waits for one
/// of these in the end.
fn at_each_instruction(before: &dyn Fn(), act: &dyn Fn(), index: usize, ends: &[Said]) {
    for (does, its) in HANDLERS {
        let came = |after: &u32| {
            before();
            let came = interrupted(*after, does, act);
            cast(index).suspend_noted();
            assert!(ends.contains(&said(index)), "{:?} at {after}", said(index));
            assert!(!came || said(2) == its, "{:?} at {after}", said(2));
            cast(3).run();
            announce(7);
            cast(3).suspend_noted();
            assert_eq!(said(3), alone(7), "at {after}");
            came
        };
        let instants = (0..).step_by(STEP).take_while(came).count();
        assert!(2 < instants, "{instants}");
    }
}

// CT-13, CTP-30
#[test]
fn what_is_announced_is_nobody_elses_whenever_a_handler_comes() {
    listen();
    let runs = || cast(0).run();
    let nothing = &[NOTHING];
    at_each_instruction(&runs, &|| cast(0).suspend_noted(), 0, nothing);
    at_each_instruction(&|| (), &runs, 0, nothing);
    let (code, resource) = alone(5);
    let beside_its = (code | WAIT_ONE_OF_SEVERAL, resource);
    let announced = [NOTHING, alone(5), beside_its];
    at_each_instruction(&runs, &|| announce(5), 0, &announced);
    let switches = || cast(0).switch_to(Wait::user(3), cast(1));
    at_each_instruction(&runs, &switches, 1, nothing);
    let both = || {
        announce(5);
        cast(0).suspend(Wait::user(2));
        cast(1).run();
    };
    at_each_instruction(&runs, &both, 1, nothing);
}
