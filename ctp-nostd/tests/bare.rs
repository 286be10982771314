//! The probe on a platform of the test's own: what the memory holds is what was done.
//!
//! Each test has a board for itself: tests run at the same time, and a board has one clock, one
//! `Local` and one memory.
#![cfg(not(loom))]

use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ctp_nostd::control::Control;
use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::inspect::WokenBy;
use ctp_nostd::intern::{self, EntryKind};
use ctp_nostd::layout::{Station, seat_word};
use ctp_nostd::site::SiteWord;
use ctp_nostd::slot::{self, Epoch, EventKind, Snapshot};
use ctp_nostd::{
    Coroutine, Kind, Local, Memory, Platform, Region, WAIT_IDLE, WAIT_ONE_OF_SEVERAL, Wait,
    WaitKind, wake,
};

/// A board with a memory of so many stations. Its attachment is its number, because the cache of
/// sites is one for the whole program.
macro_rules! board {
    ($name:ident, $number:literal, $stations:literal) => {
        struct $name;

        impl $name {
            fn memory() -> &'static Memory<$stations> {
                static MEMORY: Memory<$stations> = Memory::new();
                &MEMORY
            }

            fn clock() -> &'static AtomicU64 {
                static CLOCK: AtomicU64 = AtomicU64::new(1000);
                &CLOCK
            }

            fn rings() -> &'static AtomicU32 {
                static RINGS: AtomicU32 = AtomicU32::new(0);
                &RINGS
            }
        }

        impl Platform for $name {
            fn now_ns() -> u64 {
                Self::clock().fetch_add(10, Ordering::Relaxed)
            }

            fn thread() -> u64 {
                $number
            }

            fn ring() {
                Self::rings().fetch_add(1, Ordering::Relaxed);
            }

            fn attachment() -> u32 {
                $number
            }

            fn local() -> Option<&'static Local> {
                static LOCAL: Local = Local::new();
                Some(&LOCAL)
            }
        }
    };
}

/// As whoever dumps the memory sees it.
#[expect(unsafe_code, reason = "a static of the test's own as a region")]
fn dump<const STATIONS: usize>(memory: &'static Memory<STATIONS>) -> Region<'static> {
    let (base, bytes) = memory.extent();
    // SAFETY: a static is mapped for ever; all of its words are atomics, also the first of each.
    unsafe { Region::new(base.cast_mut(), bytes, u32::MAX) }.expect("a memory is a region")
}

/// The events that are still there, with their indices.
fn events(station: &Station) -> Vec<(u64, Epoch)> {
    let first = station.event_head().saturating_sub(8);
    let fetch = |n| match Dialect::PerSlot.fetch(station, n) {
        Fetched::Whole(epoch) => (n, epoch),
        other => panic!("event {n}: {other:?}"),
    };
    (first..station.event_head()).map(fetch).collect()
}

fn kinds(station: &Station) -> Vec<u8> {
    let kind = |(_, epoch): (u64, Epoch)| epoch.tail.kind;
    events(station).into_iter().map(kind).collect()
}

const BIRTH: u8 = EventKind::Birth as u8;
const RUN: u8 = EventKind::Run as u8;
const SUSPEND: u8 = EventKind::Suspend as u8;
const DEATH: u8 = EventKind::Death as u8;

/// File and line of a site word.
fn line_of(region: &Region<'_>, site: u64) -> (String, u32) {
    let found = intern::lookup(region.sites, SiteWord(site).interned()).expect("a known site");
    assert_eq!(found.kind, EntryKind::Source as u32);
    (found.text.as_str().to_owned(), found.line)
}

board!(Life, 1, 2);

// CTP-06, CTP-20, CTP-26, CTP-37
#[test]
fn a_life_is_read_back() {
    let region = dump(Life::memory());
    let place = Location::caller();
    let task = Life::memory()
        .probe::<Life>()
        .born_as("sensor", Kind::Bare, place);
    task.run();
    let (wait, line) = (Wait::user(7), line!());
    task.suspend(wait);
    task.run();
    let id = task.id();
    let identity = region.stations[0].identity().expect("nobody is moving in");
    assert!(!identity.is_dead);
    drop(task);

    let station = &region.stations[0];
    assert_eq!(kinds(station), [BIRTH, RUN, SUSPEND, RUN, DEATH]);
    let found = events(station);
    assert!(found.is_sorted_by_key(|(_, epoch)| epoch.timestamp));
    for (_, epoch) in &found {
        assert_eq!((epoch.tid, epoch.generation), (1, identity.generation));
        let is_suspend = epoch.tail.kind == SUSPEND;
        assert_eq!(
            epoch.tail.is_active, !is_suspend,
            "v1 sees only a suspend as inactive"
        );
        assert_eq!(epoch.addr != 0, is_suspend);
    }
    let (_, suspend) = found[2];
    assert_eq!(
        (suspend.tail.wait_kind, suspend.arg),
        (WaitKind::User as u8, 7)
    );
    assert_eq!(line_of(&region, suspend.site), (file!().to_owned(), line));

    let identity = station.identity().expect("nobody is moving in");
    assert!(identity.is_dead && identity.extended && !identity.tells_wakes);
    assert_eq!((identity.probe_id, identity.base_n), (id, 0));
    assert_eq!((identity.kind, identity.generation), (Kind::Bare as u8, 2));
    assert!(identity.birth_ts <= found[0].1.timestamp);
    let name = intern::lookup(region.names, identity.meta).expect("a name");
    assert_eq!(name.text.as_str(), "sensor");
    assert_eq!(
        intern::lookup(region.sites, name.site)
            .expect("a site")
            .line,
        place.line()
    );
}

board!(Laps, 2, 1);

// CTP-07, CTP-11
#[test]
fn the_last_eight_events_stay_and_the_rest_is_counted() {
    let region = dump(Laps::memory());
    let station = &region.stations[0];
    let task = Laps::memory().probe::<Laps>().born("busy");
    let mut before = station.seqs();
    for attempted in (2..100).step_by(2) {
        task.run();
        task.suspend(Wait::to_yield());
        let seqs = station.seqs();
        assert!(seqs.iter().zip(before).all(|(now, before)| *now >= before));
        before = seqs;

        assert_eq!(station.event_head(), attempted + 1);
        let Fetched::Overwritten(oldest) = Dialect::PerSlot.fetch(station, 0) else {
            assert!(attempted < 8);
            continue;
        };
        let harvested = (oldest..=attempted).count() as u64;
        assert!(oldest <= attempted - 7 && harvested + oldest == attempted + 1);
    }
    for (n, epoch) in events(station) {
        let Snapshot::Whole(seq, found) = slot::snapshot(station.slot_of(n)) else {
            panic!("nobody writes event {n}");
        };
        assert_eq!((seq, found), (2 * (n / 8) + 2, epoch));
    }
}

board!(Full, 3, 4);

// CTP-05, CTP-24
#[test]
fn the_rest_is_mute_and_counted() {
    let region = dump(Full::memory());
    let probe = Full::memory().probe::<Full>();
    let tasks: Vec<_> = (0..10).map(|_| probe.born("one of many")).collect();
    let ids: Vec<u64> = tasks.iter().map(Coroutine::id).collect();
    let (seated, mute) = ids.split_at(4);
    assert!(seated.iter().all(|id| *id != 0) && seated.is_sorted_by(|a, b| a < b));
    assert_eq!(mute, [0; 6]);
    assert_eq!(region.header.counters().refused, 6);
    assert_eq!(region.allocated().len(), 4);

    let events = |station: &Station| station.event_head();
    let before: u64 = region.stations.iter().map(events).sum();
    let last = tasks.last().expect("ten tasks");
    last.run();
    last.waker().wake();
    last.suspend(Wait::unknown());
    let after: u64 = region.stations.iter().map(events).sum();
    assert_eq!(before, after, "a mute task writes nowhere");
}

board!(Nested, 4, 3);

fn waker_of(station: &Station) -> WokenBy {
    station.wakes().by
}

// CT-15
#[test]
fn a_wake_names_the_coroutine_that_runs() {
    let region = dump(Nested::memory());
    let probe = Nested::memory().probe::<Nested>();
    let [outer, inner, woken] = ["outer", "inner", "woken"].map(|name| probe.born(name));
    let waker = woken.waker();
    let wake = || {
        waker.wake();
        waker_of(&region.stations[2])
    };
    assert_eq!(wake(), WokenBy::Thread(4), "nobody runs");
    outer.run();
    assert_eq!(wake(), WokenBy::Coroutine(seat_word(0, 2)));
    inner.run();
    inner.run();
    assert_eq!(wake(), WokenBy::Coroutine(seat_word(1, 2)));
    inner.suspend(Wait::unknown());
    assert_eq!(
        wake(),
        WokenBy::Coroutine(seat_word(0, 2)),
        "the outer one runs on"
    );
    woken.suspend(Wait::unknown());
    assert_eq!(
        wake(),
        WokenBy::Coroutine(seat_word(0, 2)),
        "one that did not run changes nothing"
    );
    inner.run();
    drop(inner);
    assert_eq!(
        wake(),
        WokenBy::Coroutine(seat_word(0, 2)),
        "also after the inner one's end"
    );
    outer.suspend(Wait::unknown());
    assert_eq!(wake(), WokenBy::Thread(4));
    assert_eq!(region.stations[2].wakes().count, 7);
}

board!(Woken, 5, 2);

// CT-15
#[test]
fn a_suspend_carries_the_wakes_that_led_to_its_run() {
    let region = dump(Woken::memory());
    let task = Woken::memory().probe::<Woken>().born("sleeper");
    let station = &region.stations[0];
    let is_woken = || {
        let (_, last) = *events(station).last().expect("an event");
        let word = wake::word(2) | station.wakes().count;
        wake::woken_since(word, last.tail.wake_seen)
    };
    assert!(!station.identity().expect("seated").tells_wakes);
    let waker = task.waker();
    assert!(station.identity().expect("seated").tells_wakes);
    task.run();
    task.suspend(Wait::unknown());
    assert!(!is_woken());
    waker.wake();
    assert!(is_woken());
    task.run();
    waker.wake(); // while it runs
    task.suspend(Wait::unknown());
    assert!(is_woken());
    task.run();
    task.suspend(Wait::unknown());
    assert!(!is_woken());
    task.run();
    waker.wake();
    task.run(); // it goes on by what that wake left, and owes it no run any more
    task.suspend(Wait::unknown());
    assert!(!is_woken());
}

board!(Noted, 6, 1);

#[track_caller]
fn leaf() -> Wait {
    Wait::readable(17)
}

// CT-13
#[test]
fn a_suspend_carries_what_a_leaf_announced() {
    let region = dump(Noted::memory());
    let probe = Noted::memory().probe::<Noted>();
    let task = probe.born("reader");
    let last = || events(&region.stations[0]).pop().expect("an event").1;
    task.run();
    let (wait, line) = (leaf(), line!());
    probe.waits_for(wait);
    task.suspend_noted();
    assert_eq!(
        (last().tail.wait_kind, last().arg),
        (WaitKind::Readable as u8, 17)
    );
    assert_eq!(line_of(&region, last().site), (file!().to_owned(), line));

    task.suspend_noted();
    assert_eq!(
        (last().tail.wait_kind, last().site),
        (WaitKind::Unknown as u8, 0)
    );
    probe.waits_for(wait);
    task.run(); // what was announced before is not of this run
    task.suspend_noted();
    assert_eq!(
        (last().tail.wait_kind, last().site),
        (WaitKind::Unknown as u8, 0)
    );
}

board!(Marked, 11, 1);

#[test]
fn a_suspend_carries_what_is_said_of_its_wait() {
    let region = dump(Marked::memory());
    let probe = Marked::memory().probe::<Marked>();
    let task = probe.born("listener");
    let code = || {
        events(&region.stations[0])
            .pop()
            .expect("an event")
            .1
            .tail
            .wait_kind
    };
    task.run();
    task.suspend(leaf().idle());
    assert_eq!(code(), WaitKind::Readable as u8 | WAIT_IDLE);
    task.run();
    probe.waits_for(leaf().idle());
    probe.waits_for(Wait::timer(5));
    task.suspend_noted();
    assert_eq!(code(), WaitKind::Timer as u8 | WAIT_ONE_OF_SEVERAL);
    assert_eq!(WaitKind::from_code(code()), WaitKind::Timer);
}

board!(Around, 21, 2);

#[test]
fn whoever_polls_one_that_waits_may_go_on_by_that_too() {
    let region = dump(Around::memory());
    let probe = Around::memory().probe::<Around>();
    let (around, inside) = (probe.born("around"), probe.born("inside"));
    let code = |station: usize| {
        let last = events(&region.stations[station]).pop();
        last.expect("an event").1.tail.wait_kind
    };
    around.run();
    inside.run();
    probe.waits_for(Wait::timer(5));
    inside.suspend_noted();
    probe.waits_for(leaf());
    around.suspend_noted();
    assert_eq!(code(1), WaitKind::Timer as u8);
    assert_eq!(code(0), WaitKind::Readable as u8 | WAIT_ONE_OF_SEVERAL);

    around.run();
    inside.run();
    inside.suspend_noted();
    around.suspend_noted();
    assert_eq!(code(0), WaitKind::Unknown as u8, "it said nothing");
    around.run();
    probe.waits_for(leaf());
    around.suspend_noted();
    assert_eq!(code(0), WaitKind::Readable as u8, "that was before");
}

board!(Sleeper, 7, 1);

// CTP-16
#[test]
fn a_sleeping_recorder_is_rung_once() {
    let region = dump(Sleeper::memory());
    let task = Sleeper::memory().probe::<Sleeper>().born("ringer");
    assert_eq!(Sleeper::rings().load(Ordering::Relaxed), 0);
    ctp_nostd::doorbell::arm(region.header.tracer_sleeping());
    (0..3).for_each(|_| task.run());
    assert_eq!(Sleeper::rings().load(Ordering::Relaxed), 1);
    assert!(!ctp_nostd::doorbell::disarm(
        region.header.tracer_sleeping()
    ));
}

board!(Backwards, 8, 1);

// CTP-26
#[test]
fn time_never_goes_back() {
    let region = dump(Backwards::memory());
    let task = Backwards::memory().probe::<Backwards>().born("traveller");
    for now in [5000, 400, 6000, 0, 6001] {
        Backwards::clock().store(now, Ordering::Relaxed);
        task.run();
    }
    let times = events(&region.stations[0])
        .into_iter()
        .map(|(_, epoch)| epoch.timestamp);
    assert!(times.is_sorted());
}

board!(Crowded, 9, 20);

#[test]
fn a_full_table_gives_no_name_and_is_counted() {
    let region = dump(Crowded::memory());
    let probe = Crowded::memory().probe::<Crowded>();
    for n in 0..20 {
        drop(probe.born(&format!("name {n}")));
    }
    let meta = |station: &Station| station.identity().expect("nobody is moving in").meta;
    let names = region.stations.iter().map(meta);
    let found: Vec<_> = names
        .map(|meta| intern::lookup(region.names, meta))
        .collect();
    let unnamed = found.iter().filter(|name| name.is_none()).count();
    assert_eq!(region.names.len(), 16);
    assert_eq!((unnamed, region.header.counters().unnamed), (4, 4));
    for (n, name) in found.iter().enumerate() {
        let text = name.as_ref().map(|name| name.text.as_str());
        assert!(text.is_none_or(|text| text == format!("name {n}")));
    }
}

board!(Recycled, 10, 1);

// CTP-07, CTP-22, CTP-24
#[test]
fn the_next_occupant_goes_on_where_the_last_one_ended() {
    let region = dump(Recycled::memory());
    let (station, probe) = (&region.stations[0], Recycled::memory().probe::<Recycled>());
    let mut ids = Vec::new();
    let mut stale = ctp_nostd::waker::Waker::mute();
    for uses in 1..30 {
        let (head, seqs) = (station.event_head(), station.seqs());
        let task = probe.born("one after the other");
        let identity = station.identity().expect("nobody is moving in");
        assert_eq!((identity.base_n, identity.generation), (head, 2 * uses));
        assert!(!identity.is_dead && !identity.tells_wakes);
        stale.wake();
        assert_eq!(
            station.wakes().count,
            0,
            "a wake of the previous occupant does not count"
        );
        (0..uses).for_each(|_| task.run());
        assert!(
            station
                .seqs()
                .iter()
                .zip(seqs)
                .all(|(now, before)| *now >= before)
        );
        ids.push(task.id());
        stale = task.waker();
        drop(task);
        region.header.rein_in(0); // the station is free again
    }
    assert!(ids.is_sorted_by(|a, b| a < b), "no id is used twice");
}

board!(Handing, 11, 2);

#[test]
fn a_switch_is_a_suspend_and_a_run_at_one_time() {
    let region = dump(Handing::memory());
    let probe = Handing::memory().probe::<Handing>();
    let [from, to] = ["from", "to"].map(|name| probe.born(name));
    from.run(); // this thread looks for a lane, which takes the slow way
    to.waker().wake();
    let before = Handing::clock().load(Ordering::Relaxed);
    let (wait, line) = (Wait::readable(9), line!());
    from.switch_to(wait, &to);
    let looks = (Handing::clock().load(Ordering::Relaxed) - before) / 10;
    assert_eq!(looks, 1, "at the clock");

    let [left, entered] = [0, 1].map(|index| {
        let station = &region.stations[index];
        (kinds(station), events(station).pop().expect("an event").1)
    });
    assert_eq!(left.0, [BIRTH, RUN, SUSPEND]);
    assert_eq!(entered.0, [BIRTH, RUN]);
    assert_eq!(left.1.timestamp, entered.1.timestamp);
    assert_eq!((left.1.tail.wait_kind, left.1.arg), (1, 9));
    assert_eq!(line_of(&region, left.1.site), (file!().to_owned(), line));
    assert_eq!(entered.1.tail.wake_seen, 1);
    from.waker().wake();
    let to_word = seat_word(1, 2);
    assert_eq!(waker_of(&region.stations[0]), WokenBy::Coroutine(to_word));
}

board!(Filtered, 12, 2);

// LT-11
#[test]
fn of_a_switch_each_event_is_kept_or_counted() {
    let region = dump(Filtered::memory());
    let probe = Filtered::memory().probe::<Filtered>();
    let [from, to] = ["from", "to"].map(|name| probe.born(name));
    let switch_under = |without_runs, without_suspends| {
        region.header.command(Control {
            without_runs,
            without_suspends,
            ..Control::default()
        });
        from.switch_to(Wait::to_yield(), &to);
        [0, 1].map(|index| {
            let station = &region.stations[index];
            (station.event_head(), station.filtered())
        })
    };
    assert_eq!(switch_under(true, false), [(2, 0), (1, 1)]);
    assert_eq!(switch_under(false, true), [(2, 1), (2, 1)]);
    assert_eq!(switch_under(true, true), [(2, 2), (2, 2)]);
    assert_eq!(switch_under(false, false), [(3, 2), (3, 2)]);
    region.header.command(Control::default());
}

board!(Alone, 13, 1);

#[test]
fn a_switch_of_one_that_nobody_records_is_the_others_event() {
    let station = &dump(Alone::memory()).stations[0];
    let task = Alone::memory().probe::<Alone>().born("only one");
    Coroutine::mute().switch_to(Wait::to_yield(), &task);
    task.switch_to(Wait::to_yield(), &Coroutine::mute());
    task.switch_to(Wait::to_yield(), &task);
    assert_eq!(kinds(station), [BIRTH, RUN, SUSPEND, SUSPEND, RUN]);
}
