//! An aggregate whose owner is interrupted by signal handlers that add to the very same one.
#![allow(unsafe_code, reason = "signal handlers, and a signal to one thread")]

use std::os::unix::thread::JoinHandleExt as _;
use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread;

use ctp_nostd::aggregate::{Bins, Latched};
use ctp_nostd::layout::Aggregate;

#[derive(Default)]
struct Words {
    latch: AtomicU32,
    a: Aggregate,
    b: Aggregate,
}

impl Words {
    fn latched(&self) -> Latched<'_> {
        Latched::new(&self.latch, &self.a, &self.b)
    }
}

static WORDS: LazyLock<Words> = LazyLock::new(Words::default);
static ADDED_AMID: AtomicU64 = AtomicU64::new(0);
static IS_OVER: AtomicBool = AtomicBool::new(false);
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

extern "C" fn interrupt(_: libc::c_int) {
    let counter = match WORDS.latched().add(1_000_000, Bins::USUAL) {
        true => &ADDED_AMID,
        false => &LEFT_OUT,
    };
    counter.fetch_add(1, Relaxed);
}

const SIGNALS: u64 = 20_000;

/// Adds as long as signals come; returns how often.
fn own() -> u64 {
    let mut added = 0;
    while !IS_OVER.load(Relaxed) {
        assert!(WORDS.latched().add(5, Bins::USUAL), "a handler never lasts");
        added += 1;
    }
    added
}

// AGG-23
#[test]
fn a_handler_that_comes_amid_an_update_leaves_its_own_out() {
    WORDS.latched().clear();
    let begun = WORDS.latch.load(Relaxed);
    let handler = interrupt as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler touches atomics only. No other test uses this signal.
    unsafe { libc::signal(libc::SIGUSR2, handler) };
    let owner = thread::spawn(own);
    for _ in 0..SIGNALS {
        // SAFETY: its thread is there, for it goes on until it is told that it is over.
        unsafe { libc::pthread_kill(owner.as_pthread_t(), libc::SIGUSR2) };
    }
    IS_OVER.store(true, Relaxed);
    let added = owner.join().expect("an owner does not panic");
    let (amid, left_out) = (ADDED_AMID.load(Relaxed), LEFT_OUT.load(Relaxed));
    println!("{added} updates, {amid} between them, {left_out} left out");
    assert!(0 < amid + left_out);
    let found = WORDS.latched().read().expect("nobody writes");
    assert_eq!(found.count, added + amid);
    assert_eq!(found.sum_ns, 5 * added + 1_000_000 * amid);
    let steps = WORDS.latch.load(Relaxed).wrapping_sub(begun);
    assert_eq!(
        u64::from(steps),
        4 * found.count % (1 << 32),
        "it never went back"
    );
}
