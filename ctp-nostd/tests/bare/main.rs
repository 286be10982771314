//! The probe on a platform of the test's own: the memory holds what was done.
//!
//! Each test has a board of its own, because tests run in parallel, and a board has a single clock,
//! `Local` and memory.
#![cfg(not(loom))]

use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::inspect::WokenBy;
use ctp_nostd::intern::{self, EntryKind};
use ctp_nostd::layout::Station;
use ctp_nostd::site::SiteWord;
use ctp_nostd::slot::{self, Epoch, EventKind, SlotReading};
use ctp_nostd::{Coroutine, Kind, Local, Memory, Platform, Region, Wait, WaitKind};

/// A board with a memory of this many stations. Its attachment is its number, because the whole
/// program shares a single cache of sites.
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

        #[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
        // SAFETY: one thread uses this platform, and no other platform has its `Local`.
        unsafe impl Platform for $name {
            fn now_ns() -> u64 {
                Self::clock().fetch_add(10, Ordering::Relaxed)
            }

            fn thread() -> u64 {
                $number
            }

            fn ring() {
                Self::rings().fetch_add(1, Ordering::Relaxed);
            }

            fn attachment_word() -> &'static AtomicU32 {
                static NUMBER: AtomicU32 = AtomicU32::new($number);
                &NUMBER
            }

            unsafe fn local() -> Option<&'static Local> {
                static LOCAL: Local = Local::new();
                Some(&LOCAL)
            }
        }
    };
}

mod compact;
mod freeze;
mod suspended_stack;
mod switch;
mod waits;
mod wakes;

/// The region as a reader of a dump sees it.
#[expect(unsafe_code, reason = "a static of the test's own as a region")]
fn dump<const STATIONS: usize>(memory: &'static Memory<STATIONS>) -> Region<'static> {
    let (base, bytes) = memory.extent();
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    unsafe { Region::new(base.cast_mut(), bytes, u32::MAX) }.expect("a memory is a region")
}

/// The events that still exist, with their indices.
fn events(station: &Station) -> Vec<(u64, Epoch)> {
    let first = station.event_head().saturating_sub(8);
    (first..station.event_head())
        .map(|n| match Dialect::PerSlot.fetch(station, n) {
            Fetched::Whole(epoch) => (n, epoch),
            other => panic!("event {n}: {other:?}"),
        })
        .collect()
}

fn kinds(station: &Station) -> Vec<u8> {
    events(station)
        .into_iter()
        .map(|(_, epoch)| epoch.tail.kind)
        .collect()
}

const BIRTH: u8 = EventKind::Birth as u8;
const RUN: u8 = EventKind::Run as u8;
const SUSPEND: u8 = EventKind::Suspend as u8;
const DEATH: u8 = EventKind::Death as u8;

fn waker_of(station: &Station) -> WokenBy {
    station.wakes().by
}

/// File and line of a site word.
fn line_of(region: &Region<'_>, site: u64) -> (String, u32) {
    let found = intern::lookup(region.sites, SiteWord(site).interned()).expect("a known site");
    assert_eq!(found.kind, EntryKind::Source as u32);
    (found.text.as_str().to_owned(), found.line)
}

board!(Life, 1, 2);

// CTP-06, CTP-20, CTP-26, CTP-37
#[test]
fn events_of_a_life_are_read_back() {
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
    let identity = region.stations[0]
        .identity()
        .expect("no coroutine is moving in");
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

    let identity = station.identity().expect("no coroutine is moving in");
    assert!(identity.is_dead && identity.is_extended && !identity.records_wakes);
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
fn last_eight_events_are_kept_and_the_rest_is_counted() {
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
        let SlotReading::Whole(seq, found) = slot::read(station.slot_of(n)) else {
            panic!("event {n} is not whole");
        };
        assert_eq!((seq, found), (2 * (n / 8) + 2, epoch));
    }
}

board!(Full, 3, 4);

// CTP-05, CTP-24
#[test]
fn coroutines_without_station_are_inert_and_counted() {
    let region = dump(Full::memory());
    let probe = Full::memory().probe::<Full>();
    let tasks: Vec<_> = (0..10).map(|_| probe.born("task")).collect();
    let ids: Vec<u64> = tasks.iter().map(Coroutine::id).collect();
    let (recorded, inert) = ids.split_at(4);
    assert!(recorded.iter().all(|id| *id != 0) && recorded.is_sorted_by(|a, b| a < b));
    assert_eq!(inert, [0; 6]);
    assert_eq!(region.header.counters().refused, 6);
    assert_eq!(region.allocated().len(), 4);

    let events = |station: &Station| station.event_head();
    let before: u64 = region.stations.iter().map(events).sum();
    let last = tasks.last().expect("ten tasks");
    last.run();
    last.waker().wake();
    last.suspend(Wait::unknown());
    let after: u64 = region.stations.iter().map(events).sum();
    assert_eq!(before, after, "an inert task writes nothing");
}

board!(Sleeper, 7, 1);

// CTP-16
#[test]
fn a_sleeping_recorder_gets_a_single_byte() {
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
fn full_name_table_is_counted() {
    let region = dump(Crowded::memory());
    let probe = Crowded::memory().probe::<Crowded>();
    for n in 0..20 {
        drop(probe.born(&format!("name {n}")));
    }
    let meta = |station: &Station| station.identity().expect("no coroutine is moving in").meta;
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
fn next_owner_continues_the_event_numbers() {
    let region = dump(Recycled::memory());
    let (station, probe) = (&region.stations[0], Recycled::memory().probe::<Recycled>());
    let mut ids = Vec::new();
    let mut stale = ctp_nostd::waker::Waker::mute();
    for uses in 1..30 {
        let (head, seqs) = (station.event_head(), station.seqs());
        let task = probe.born("task");
        let identity = station.identity().expect("no coroutine is moving in");
        assert_eq!((identity.base_n, identity.generation), (head, 2 * uses));
        assert!(!identity.is_dead && !identity.records_wakes);
        stale.wake();
        assert_eq!(
            station.wakes().count,
            0,
            "a wake of the previous coroutine does not count"
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
        region.header.limit_claims(0); // the station is free again
    }
    assert!(ids.is_sorted_by(|a, b| a < b), "no id is used twice");
}
