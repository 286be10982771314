//! What a process held that was killed is for others.
#![allow(unsafe_code, reason = "lays out a memory with a ring of free stations")]

use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::{Probe, Region, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::record::ProcessId;

use crate::desk::{Bare, Nowhere, Tray, births_in, events_in, tallies_in};

#[derive(Clone)]
#[repr(align(1024))]
struct Kib(#[expect(dead_code, reason = "room")] [u8; 1024]);

/// Memory with a ring of free stations.
pub fn memory(stations: u32, recording: &Recording) -> Region<'static> {
    let plan = Plan::without_lanes(stations);
    let kibs = plan.bytes().div_ceil(1024) as usize;
    let memory = Box::leak(vec![Kib([0; 1024]); kibs].into_boxed_slice());
    let (base, bytes) = (memory.as_mut_ptr().cast(), kibs * 1024);
    // SAFETY: zeroed, aligned, leaked, and touched by nothing but this region.
    unsafe { Region::create(base, bytes, plan, recording) }.expect("it fits")
}

// CTP-19, CTP-22, CTP-34
#[test]
fn stations_of_a_process_that_was_killed_are_used_again() {
    let region = memory(2, &Recording::default());
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    let probe: Probe<Bare> = Probe::new(region, 1);
    for name in ["first", "second"] {
        let task = probe.born(name);
        task.run();
        task.suspend(Wait::unknown());
        std::mem::forget(task); // as if its process were no more
    }
    harvest.pass(&region, &mut nowhere, &mut tray);
    assert_eq!(probe.born("too many").id(), 0);

    tray.0.clear();
    harvest.reap(ProcessId(1), &region, &mut nowhere, &mut tray);
    let tallies = tallies_in(&tray.0);
    assert!(
        tallies
            .iter()
            .all(|it| (it.attempted, it.recorded) == (3, 3))
    );
    assert_eq!(tallies.len(), 2);

    tray.0.clear();
    let third = probe.born("third");
    harvest.pass(&region, &mut nowhere, &mut tray);
    let births = births_in(&tray.0);
    assert_eq!(
        (births[0].name.as_str(), births[0].generation),
        ("third", 4)
    );
    assert_ne!(third.id(), 0);
    let events = events_in(&tray.0);
    assert_eq!(events.len(), 1, "none of those before it");
    assert_eq!(events[0].n, 0);
}
