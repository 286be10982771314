//! The hooks of embassy's executor, called in the order in which the executor calls them: the memory
//! holds what the tasks did.
#![cfg(not(loom))]

mod by_trait;
mod storage;

use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::intern;
use ctp_nostd::layout::Station;
use ctp_nostd::site::SiteWord;
use ctp_nostd::slot::EventKind;
use ctp_nostd::{Embassy, Platform, Region, Wait, WaitKind};
use ctp_trace::verdict::wakes_since;

/// A board. Its attachment is its number, because the whole program shares a single cache of sites.
macro_rules! board {
    ($name:ident, $number:literal) => {
        struct $name;

        #[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
        // SAFETY: one thread uses this platform, and no other platform has its `Local`.
        unsafe impl ctp_nostd::Platform for $name {
            fn now_ns() -> u64 {
                static CLOCK: std::sync::atomic::AtomicU64 =
                    std::sync::atomic::AtomicU64::new(1000);
                CLOCK.fetch_add(10, std::sync::atomic::Ordering::Relaxed)
            }

            fn thread() -> u64 {
                $number
            }

            fn ring() {}

            fn attachment_word() -> &'static std::sync::atomic::AtomicU32 {
                static NUMBER: std::sync::atomic::AtomicU32 =
                    std::sync::atomic::AtomicU32::new($number);
                &NUMBER
            }

            unsafe fn local() -> Option<&'static ctp_nostd::Local> {
                static LOCAL: ctp_nostd::Local = ctp_nostd::Local::new();
                Some(&LOCAL)
            }
        }
    };
}
pub(crate) use board;

const EXECUTOR: u32 = 0x2000_0000;
const BIRTH: u8 = EventKind::Birth as u8;
const RUN: u8 = EventKind::Run as u8;
const SUSPEND: u8 = EventKind::Suspend as u8;
const DEATH: u8 = EventKind::Death as u8;

/// The region as a reader of a dump sees it.
#[expect(unsafe_code, reason = "a static of the test's own as a region")]
fn dump<P: Platform, const STATIONS: usize>(
    memory: &'static Embassy<P, STATIONS>,
) -> Region<'static> {
    let (base, bytes) = memory.extent();
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    unsafe { Region::new(base as *mut u8, bytes, u32::MAX) }.expect("a memory is a region")
}

/// The events of a station that still exist, from this event on.
fn events_from(station: &Station, first: u64) -> Vec<ctp_nostd::slot::Epoch> {
    let first = first.max(station.event_head().saturating_sub(8));
    (first..station.event_head())
        .map(|n| match Dialect::PerSlot.fetch(station, n) {
            Fetched::Whole(epoch) => epoch,
            other => panic!("event {n}: {other:?}"),
        })
        .collect()
}

/// The kinds of the events of the station's present coroutine.
fn kinds(station: &Station) -> Vec<u8> {
    let identity = station.identity().expect("no coroutine is moving in");
    let events = events_from(station, identity.base_n);
    events.iter().map(|epoch| epoch.tail.kind).collect()
}

/// Name and line of the spawn site of the station's present coroutine.
fn name_of(region: &Region<'_>, station: &Station) -> Option<(String, Option<u32>)> {
    let identity = station.identity().expect("no coroutine is moving in");
    let name = intern::lookup(region.names, identity.meta)?;
    let site = intern::lookup(region.sites, name.site);
    Some((name.text.as_str().to_owned(), site.map(|site| site.line)))
}

/// The hooks, as the executor declares them.
#[expect(unsafe_code, reason = "the executor calls the hooks by their symbols")]
mod executor {
    // SAFETY: `embassy!` defines these functions with these signatures.
    unsafe extern "Rust" {
        pub safe fn _embassy_trace_poll_start(executor_id: u32);
        pub safe fn _embassy_trace_task_new(executor_id: u32, task_id: u32);
        pub safe fn _embassy_trace_task_end(executor_id: u32, task_id: u32);
        pub safe fn _embassy_trace_task_exec_begin(executor_id: u32, task_id: u32);
        pub safe fn _embassy_trace_task_exec_end(executor_id: u32, task_id: u32);
        pub safe fn _embassy_trace_task_ready_begin(executor_id: u32, task_id: u32);
        pub safe fn _embassy_trace_executor_idle(executor_id: u32);
    }
}

board!(Hooked, 1);
ctp_nostd::embassy!(static HOOKED: Embassy<Hooked, 4> = Embassy::new());

// CTP-20, LT-27
#[test]
fn hooks_record_the_life_of_a_task() {
    use executor::*;
    let (task, region) = (0x2000_0100, dump(&HOOKED));
    HOOKED.name(task, "radio");
    let spawned = line!() - 1;
    _embassy_trace_task_new(EXECUTOR, task);
    _embassy_trace_task_ready_begin(EXECUTOR, task);
    _embassy_trace_poll_start(EXECUTOR);
    _embassy_trace_task_exec_begin(EXECUTOR, task);
    let (wait, line) = (Wait::user(43), line!());
    HOOKED.probe().waits_for(wait);
    _embassy_trace_task_exec_end(EXECUTOR, task);
    _embassy_trace_executor_idle(EXECUTOR);

    let station = &region.stations[0];
    assert_eq!(kinds(station), [BIRTH, RUN, SUSPEND]);
    let suspend = &events_from(station, 2)[0];
    assert_eq!(
        (suspend.tail.wait_kind, suspend.arg),
        (WaitKind::User as u8, 43)
    );
    let site = intern::lookup(region.sites, SiteWord(suspend.site).interned());
    assert_eq!(site.map(|site| site.line), Some(line));
    let (name, at) = name_of(&region, station).expect("it has a name");
    assert_eq!((name.as_str(), at), ("radio", Some(spawned)));
    let wakes = station.wakes();
    assert_eq!(wakes.count, 1);
    assert_eq!(wakes_since(wakes.count, suspend.tail.wake_seen), Some(0));

    _embassy_trace_task_ready_begin(EXECUTOR, task);
    assert_eq!(
        wakes_since(station.wakes().count, suspend.tail.wake_seen),
        Some(1)
    );
    _embassy_trace_poll_start(EXECUTOR);
    _embassy_trace_task_exec_begin(EXECUTOR, task);
    _embassy_trace_task_end(EXECUTOR, task);
    _embassy_trace_task_exec_end(EXECUTOR, task);
    _embassy_trace_executor_idle(EXECUTOR);
    assert_eq!(kinds(station), [BIRTH, RUN, SUSPEND, RUN, DEATH]);
    assert!(station.identity().is_some_and(|identity| identity.is_dead));
}

board!(Unnamed, 2);
static UNNAMED: Embassy<Unnamed, 2> = Embassy::new();

// LT-27
#[test]
fn wakers_of_tasks_are_not_counted() {
    let region = dump(&UNNAMED);
    UNNAMED.task_new(7);
    let station = &region.stations[0];
    let identity = station.identity().expect("no coroutine is moving in");
    // Without a count, no verdict can say that no waker is left.
    assert_eq!(station.wakers(identity.generation), None);
    assert!(identity.records_wakes);
    assert!(name_of(&region, &region.stations[0]).is_none());
    UNNAMED.task_name_set(7, "blink");
    let (name, site) = name_of(&region, &region.stations[0]).expect("it has a name");
    assert_eq!((name.as_str(), site), ("blink", None));
}

board!(Inside, 3);
static INSIDE: Embassy<Inside, 2> = Embassy::new();

// LT-27
#[test]
fn wake_during_a_poll_needs_another_poll() {
    let region = dump(&INSIDE);
    INSIDE.task_new(7);
    INSIDE.task_exec_begin(EXECUTOR, 7);
    INSIDE.task_ready_begin(7); // in an interrupt handler
    INSIDE.task_exec_end(EXECUTOR, 7);
    let station = &region.stations[0];
    let suspend = &events_from(station, 2)[0];
    assert_eq!(
        wakes_since(station.wakes().count, suspend.tail.wake_seen),
        Some(1)
    );
    // The executor polls the task again, or another executor's hooks name the same task.
    INSIDE.task_exec_end(EXECUTOR, 7);
    assert_eq!(kinds(station), [BIRTH, RUN, SUSPEND]);
}

board!(Awaited, 4);
static AWAITED: Embassy<Awaited, 2> = Embassy::new();

// LT-27
#[test]
fn traced_future_records_the_awaiting_line() {
    use std::future::{Future, pending};
    use std::task::{Context, Waker};

    let region = dump(&AWAITED);
    AWAITED.task_new(7);
    AWAITED.task_exec_begin(EXECUTOR, 7);
    let mut future = std::pin::pin!(AWAITED.traced(pending::<()>()));
    let line = line!() - 1;
    let polled = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    AWAITED.task_exec_end(EXECUTOR, 7);
    let suspend = &events_from(&region.stations[0], 2)[0];
    let site = intern::lookup(region.sites, SiteWord(suspend.site).interned()).expect("a site");
    assert_eq!((site.text.as_str(), site.line), (file!(), line));
}
