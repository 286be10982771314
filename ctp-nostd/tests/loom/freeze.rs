//! A coroutine that waits before its run while its stack is copied.

use ctp_nostd::control::Control;
use ctp_nostd::freeze::Freeze;
use ctp_nostd::layout::{Header, Station};
use ctp_nostd::slot::EventKind;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use crate::check;
use crate::suspended_stack::{Coroutine, Run};

const GENERATION: u32 = 0;

/// Where a coroutine waits for the copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Before its run.
    BeforeTheRun,
    /// In its run, which has begun.
    InTheRun,
    Never,
}

fn wait_while_frozen(station: &Station) {
    if let Some(freeze) = station.freeze(GENERATION) {
        while station.is_held(freeze) {
            thread::yield_now();
        }
    }
}

/// A run and a suspend, as [`Coroutine::go_on`].
fn go_on(coroutine: &Coroutine, wait: Wait) {
    match wait {
        Wait::BeforeTheRun => wait_while_frozen(&coroutine.station),
        Wait::InTheRun => {
            assert!(coroutine.station.begin_event(1));
            wait_while_frozen(&coroutine.station);
            coroutine.station.publish_events(2);
            coroutine.stack.store(2, Relaxed);
            return coroutine.event(2, EventKind::Suspend, 0);
        }
        Wait::Never => {}
    }
    coroutine.go_on(Run::Kept);
}

fn copy_of_a_frozen_coroutine_is_accepted(wait: Wait) {
    check(move || {
        let coroutine = Arc::new(Coroutine::default());
        coroutine.stack.store(1, Relaxed);
        coroutine.suspend(0, 1);
        let station = &coroutine.station;
        let freeze = station.request_freeze(GENERATION, 1).expect("a new head");
        let owner = Arc::clone(&coroutine);
        let owner = thread::spawn(move || go_on(&owner, wait));
        let (position, copy) = coroutine.read(true).expect("a refused copy");
        assert_eq!((position.pc, copy), (1, 1));
        assert!(station.withdraw_freeze(freeze));
        owner.join().expect("an owner does not panic");
    });
}

// STB-02, STB-07
#[test]
fn copy_of_a_frozen_coroutine_is_valid() {
    copy_of_a_frozen_coroutine_is_accepted(Wait::BeforeTheRun);
}

#[test]
#[should_panic = "a refused copy"]
fn without_the_wait_a_copy_is_refused() {
    copy_of_a_frozen_coroutine_is_accepted(Wait::Never);
}

#[test]
#[should_panic = "a refused copy"]
fn without_the_order_of_wait_and_run_a_copy_is_refused() {
    copy_of_a_frozen_coroutine_is_accepted(Wait::InTheRun);
}

// STB-26
#[test]
fn copy_is_no_mix_if_the_request_comes_late() {
    check(|| {
        let coroutine = Arc::new(Coroutine::default());
        coroutine.stack.store(1, Relaxed);
        coroutine.suspend(0, 1);
        let owner = Arc::clone(&coroutine);
        let owner = thread::spawn(move || go_on(&owner, Wait::BeforeTheRun));
        let station = &coroutine.station;
        let freeze = station.request_freeze(GENERATION, 1).expect("a new head");
        if let Some((position, copy)) = coroutine.read(true) {
            assert_eq!(position.pc, copy, "a mix");
        }
        assert!(station.withdraw_freeze(freeze));
        owner.join().expect("an owner does not panic");
    });
}

/// The memory of a program.
#[derive(Default)]
struct Memory {
    header: Header,
    station: Station,
}

/// Ends a request whose owner does not wait any longer. Returns whether the recorder has withdrawn it.
fn end_of_a_request(withdraw: fn(&Station, Freeze) -> bool) {
    check(move || {
        let memory = Arc::new(Memory::default());
        memory.station.publish_events(1);
        let freeze = memory.station.request_freeze(GENERATION, 1);
        let freeze = freeze.expect("a new head");
        memory.header.begin_freezes();
        let owner = Arc::clone(&memory);
        let owner = thread::spawn(move || {
            if let Some(freeze) = owner.station.freeze(GENERATION) {
                owner.station.break_freeze(freeze, &owner.header);
            }
        });
        let is_withdrawn = withdraw(&memory.station, freeze);
        memory.header.end_freezes();
        owner.join().expect("an owner does not panic");
        let broken = memory.header.counters().broken_freezes;
        assert_eq!(u32::from(is_withdrawn) + broken, 1, "ended twice");
        assert!(!memory.station.is_held(freeze) && !memory.header.has_freezes());
    });
}

// STB-10
#[test]
fn request_is_withdrawn_or_broken() {
    end_of_a_request(Station::withdraw_freeze);
}

#[test]
#[should_panic = "ended twice"]
fn without_the_exchange_a_request_ends_twice() {
    end_of_a_request(|station, freeze| {
        let is_held = station.is_held(freeze);
        station.withdraw_freeze(freeze);
        is_held
    });
}

/// Bit of a word that the recorder sets and clears while another thread replaces the rest.
const FREEZES: u32 = 1 << 5;

// STB-08
#[test]
fn change_of_the_filter_keeps_no_request_alive() {
    check(|| {
        let header = Arc::new(Header::default());
        let other = Arc::clone(&header);
        let freezes = thread::spawn(move || {
            other.begin_freezes();
            other.end_freezes();
        });
        header.command(Control {
            stopped: true,
            ..Control::default()
        });
        freezes.join().expect("a recorder does not panic");
        assert!(!header.has_freezes());
    });
}

#[test]
#[should_panic = "a request that nothing ends"]
fn without_the_exchange_a_filter_keeps_a_request_alive() {
    check(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let freezes = thread::spawn(move || {
            other.fetch_or(FREEZES, Relaxed);
            other.fetch_and(!FREEZES, Relaxed);
        });
        word.store(1 | word.load(Relaxed) & FREEZES, Relaxed);
        freezes.join().expect("a recorder does not panic");
        let left = word.load(Relaxed) & FREEZES;
        assert_eq!(left, 0, "a request that nothing ends");
    });
}
