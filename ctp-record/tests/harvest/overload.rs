//! Lanes with more records than a round takes, or than the backlog has room for.

use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::create::Plan;
use ctp_nostd::lane::{Payload, ThreadEventKind};
use ctp_nostd::slot::EventKind as StoredKind;
use ctp_nostd::{Platform, Probe, Region, Wait};
use ctp_record::backlog::Backlog;
use ctp_record::harvest::Harvest;
use ctp_record::pace::PassOutcome;
use ctp_trace::record::{Act, CoroutineId, Event, EventKind, Record};

use crate::lanes::{LANELESS, NOW, TurnTaking, cycles, memory_of, switch_to_thread};
use crate::test_memory::{RecordBuffer, SingleProcess, events_in};

const A_MS: u64 = 1_000_000;

/// A memory for three coroutines and as many threads.
fn memory(lane_records: u32) -> Region<'static> {
    memory_of(Plan {
        stations: 3,
        lanes: 3,
        lane_records,
        short_lanes: 0,
    })
}

/// A reader of a memory, with the records that it emitted.
struct Reading {
    region: Region<'static>,
    harvest: Harvest,
    outside: SingleProcess,
    buffer: RecordBuffer,
}

impl Reading {
    fn of(region: Region<'static>, harvest: Harvest) -> Self {
        Reading {
            region,
            harvest,
            outside: SingleProcess::default(),
            buffer: RecordBuffer::default(),
        }
    }

    fn pass(&mut self) -> PassOutcome {
        let (outside, buffer) = (&mut self.outside, &mut self.buffer);
        self.harvest.pass(&self.region, outside, buffer)
    }

    fn finish(&mut self) {
        let (outside, buffer) = (&mut self.outside, &mut self.buffer);
        self.harvest.finish(&self.region, outside, buffer);
    }

    fn events_of(&self, coroutine: u32) -> Vec<Event> {
        events_in(&self.buffer.0)
            .into_iter()
            .filter(|event| event.coroutine == CoroutineId(coroutine))
            .collect()
    }

    /// The numbers of a coroutine's events.
    fn numbers_of(&self, coroutine: u32) -> Vec<u64> {
        let events = self.events_of(coroutine).into_iter();
        events.map(|event| event.n).collect()
    }
}

// LT-05, LT-07
#[test]
fn no_event_waits_for_records_that_found_no_room() {
    const TEST: usize = 12;
    let region = memory(8192);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let (hot, long, task) = (probe.born("hot"), probe.born("long"), probe.born("task"));
    switch_to_thread(TEST, 2);
    cycles(&long, 2_000);
    cycles(&task, 10);
    switch_to_thread(TEST, 3);
    cycles(&task, 10);
    switch_to_thread(TEST, 1);
    cycles(&hot, 4_000);
    let harvest = Harvest::new(0).within(Backlog::of(1 << 15));
    let mut reading = Reading::of(region, harvest);
    for _ in 0..8 {
        reading.pass();
    }
    reading.finish();
    assert_eq!(reading.numbers_of(3), (0..=40).collect::<Vec<u64>>());
    assert_eq!(reading.harvest.totals().lost, 0);
}

// LT-05, LT-07
#[test]
fn event_in_no_lane_delays_no_others_during_overload() {
    const TEST: usize = 17;
    let region = memory(1 << 15);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let (task, hot) = (probe.born("task"), probe.born("hot"));
    switch_to_thread(TEST, LANELESS);
    cycles(&task, 10);
    switch_to_thread(TEST, 1);
    cycles(&task, 3);
    switch_to_thread(TEST, 2);
    NOW[TEST].store(A_MS, Relaxed);
    cycles(&hot, 12_000);
    let mut reading = Reading::of(region, Harvest::new(0));
    reading.pass();
    let found = reading.pass();
    assert!(found.is_cut_short, "hot has more");
    let of_the_task = reading.numbers_of(1);
    assert_eq!(
        of_the_task[of_the_task.len() - 6..],
        [21, 22, 23, 24, 25, 26]
    );
    reading.finish();
    assert_eq!(reading.numbers_of(1), of_the_task);
    assert_eq!(reading.numbers_of(2), (0..=24_000).collect::<Vec<u64>>());
}

// CT-15, LT-05
#[test]
fn wake_precedes_the_end_of_the_coroutine() {
    const TEST: usize = 19;
    let region = memory(128);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let (other, task) = (probe.born("other"), probe.born("task"));
    switch_to_thread(TEST, LANELESS);
    cycles(&other, 10);
    switch_to_thread(TEST, 1);
    cycles(&other, 1);
    let wake = Payload {
        kind: ThreadEventKind::Wake as u8,
        station: 1,
        uses: 1,
        n: 1,
        ..Payload::default()
    };
    let ring = region.ring(0).expect("thread 1 has a lane");
    let (at_ns, place) = ring.reserve(TurnTaking::<TEST>::now_ns);
    place.expect("there is room").commit(at_ns, wake);
    switch_to_thread(TEST, 2);
    NOW[TEST].store(A_MS, Relaxed);
    drop(task);
    let mut reading = Reading::of(region, Harvest::new(0));
    for _ in 0..3 {
        reading.pass();
    }
    let place = |is_found: fn(&Record) -> bool| reading.buffer.0.iter().position(is_found);
    let wake = place(
        |record| matches!(record, Record::ThreadEvent(thread_event) if matches!(thread_event.act, Act::Wake(_))),
    );
    let death =
        place(|record| matches!(record, Record::Event(event) if event.kind == EventKind::Death));
    assert!(wake.is_some() && wake < death, "{wake:?} {death:?}");
}

// CTP-08, LT-05
#[test]
fn record_added_to_another_lane_after_the_read_is_waited_for() {
    const TEST: usize = 20;
    let region = memory(128);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let (_task, other) = (probe.born("task"), probe.born("other"));
    switch_to_thread(TEST, 2);
    cycles(&other, 1);
    let event = |n: u64| Payload {
        kind: StoredKind::Run as u8,
        uses: 1,
        n,
        ..Payload::default()
    };
    let [first, second] = [0, 1].map(|lane| {
        let ring = region.ring(lane).expect("both threads have a lane");
        let (at_ns, place) = ring.reserve(TurnTaking::<TEST>::now_ns);
        (at_ns, place.expect("there is room"))
    });
    let mut reading = Reading::of(region, Harvest::new(0));
    second.1.commit(second.0, event(2));
    reading.pass();
    first.1.commit(first.0, event(1));
    reading.pass();
    assert_eq!(reading.numbers_of(1), [0, 1, 2]);
}

// CTP-08, LT-05
#[test]
fn of_two_events_at_the_same_time_the_earlier_comes_first() {
    const TEST: usize = 18;
    let region = memory(1 << 14);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let (task, hot) = (probe.born("task"), probe.born("hot"));
    switch_to_thread(TEST, 2);
    cycles(&hot, 1);
    switch_to_thread(TEST, 1);
    // So many that later records wait for the next round.
    cycles(&hot, 5_000);
    let at_same_time = |thread: usize| {
        switch_to_thread(TEST, thread);
        NOW[TEST].store(A_MS, Relaxed);
    };
    at_same_time(2);
    task.run();
    at_same_time(1);
    task.suspend(Wait::unknown());
    cycles(&task, 10);
    let mut reading = Reading::of(region, Harvest::new(0));
    reading.pass();
    reading.finish();
    assert_eq!(reading.numbers_of(1), (0..=22).collect::<Vec<u64>>());
    let own = reading.events_of(1);
    assert_eq!(own[1].at, own[2].at);
    assert_eq!(reading.harvest.totals().lost, 0);
}
