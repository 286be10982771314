//! Stations of a killed process are reused.
#![allow(unsafe_code, reason = "lays out a memory with a ring of free stations")]

use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::{Probe, Region, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::record::ProcessId;

use crate::test_memory::{Bare, RecordBuffer, SingleProcess, births_in, events_in, tallies_in};

#[derive(Clone)]
#[repr(align(1024))]
struct Kib(#[expect(dead_code, reason = "room")] [u8; 1024]);

/// A memory with a ring of free stations.
pub fn memory(stations: u32, recording: &Recording) -> Region<'static> {
    let plan = Plan::without_lanes(stations);
    let kibs = plan.bytes().div_ceil(1024) as usize;
    let memory = Box::leak(vec![Kib([0; 1024]); kibs].into_boxed_slice());
    let (base, bytes) = (memory.as_mut_ptr().cast(), kibs * 1024);
    // SAFETY: zeroed, aligned, leaked, and touched by nothing but this region.
    unsafe { Region::create(base, bytes, plan, recording) }.expect("large enough")
}

// CTP-19, CTP-22, CTP-34
#[test]
fn stations_of_a_killed_process_are_reused() {
    let region = memory(2, &Recording::default());
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    let probe: Probe<Bare> = Probe::new(region, 1);
    for name in ["first", "second"] {
        let task = probe.born(name);
        task.run();
        task.suspend(Wait::unknown());
        std::mem::forget(task); // as if its process had been killed
    }
    harvest.pass(&region, &mut outside, &mut buffer);
    assert_eq!(probe.born("too many").id(), 0);

    buffer.0.clear();
    harvest.reap(ProcessId(1), &region, &mut outside, &mut buffer);
    let tallies = tallies_in(&buffer.0);
    assert!(
        tallies
            .iter()
            .all(|event_counts| (event_counts.attempted, event_counts.recorded) == (3, 3))
    );
    assert_eq!(tallies.len(), 2);

    buffer.0.clear();
    let third = probe.born("third");
    harvest.pass(&region, &mut outside, &mut buffer);
    let births = births_in(&buffer.0);
    assert_eq!(
        (births[0].name.as_str(), births[0].generation),
        ("third", 4)
    );
    assert_ne!(third.id(), 0);
    let events = events_in(&buffer.0);
    assert_eq!(events.len(), 1, "no event of the coroutine before");
    assert_eq!(events[0].n, 0);
}
