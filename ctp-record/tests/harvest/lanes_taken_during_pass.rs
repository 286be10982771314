//! Lanes that are taken while a pass reads.

use ctp_nostd::{Coroutine, Platform, Probe};
use ctp_record::harvest::{Harvest, Outside, Sink, StationProcess, TraceNumbers};
use ctp_trace::record::{CoroutineId, Event, ProcessId};

use crate::lanes::{LANELESS, TurnTaking, cycles, memory, numbers, switch_to_thread};
use crate::test_memory::{RecordBuffer, events_in};

/// When the reader asks for a process for the first time, this coroutine runs in a thread with a lane and
/// ends.
struct RunsDuringPass<P: Platform>(TraceNumbers, Option<Coroutine<P>>);

/// Cycles that the coroutine runs.
const CYCLES_DURING_PASS: u64 = 20;

impl<P: Platform> Outside for RunsDuringPass<P> {
    fn numbers(&mut self) -> &mut TraceNumbers {
        &mut self.0
    }

    fn process(&mut self, _: StationProcess, _: &mut dyn Sink) -> ProcessId {
        if let Some(task) = self.1.take() {
            cycles(&task, CYCLES_DURING_PASS);
        }
        ProcessId(1)
    }

    fn is_text(&mut self, _: ProcessId, _: u64, _: &mut dyn Sink) -> bool {
        false
    }
}

// LT-07
#[test]
fn first_lane_may_be_taken_during_a_pass() {
    const TEST: usize = 9;
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    switch_to_thread(TEST, LANELESS);
    let (_first, second) = (probe.born("first"), probe.born("second"));
    switch_to_thread(TEST, 1);
    let (mut outside, mut buffer) = (
        RunsDuringPass(TraceNumbers::default(), Some(second)),
        RecordBuffer::default(),
    );
    let mut harvest = Harvest::new(0);
    harvest.pass(&region, &mut outside, &mut buffer);
    harvest.finish(&region, &mut outside, &mut buffer);
    let is_of_second = |event: &&Event| event.coroutine == CoroutineId(2);
    let events = events_in(&buffer.0);
    let numbers: Vec<u64> = events
        .iter()
        .filter(is_of_second)
        .map(|event| event.n)
        .collect();
    // Its birth was recorded by a thread without a lane, and overwritten before the first read.
    assert_eq!(
        numbers,
        (1..=2 * CYCLES_DURING_PASS + 1).collect::<Vec<u64>>()
    );
    assert_eq!(harvest.totals().lost, 1);
}

// LT-07
#[test]
fn events_in_a_lane_taken_during_a_read_are_read_there() {
    const TEST: usize = 10;
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    switch_to_thread(TEST, LANELESS);
    let task = probe.born("task");
    switch_to_thread(TEST, 1);
    let (mut outside, mut buffer) = (
        RunsDuringPass(TraceNumbers::default(), Some(task)),
        RecordBuffer::default(),
    );
    let mut harvest = Harvest::new(0);
    harvest.pass(&region, &mut outside, &mut buffer);
    harvest.finish(&region, &mut outside, &mut buffer);
    let events = numbers(&events_in(&buffer.0));
    assert_eq!(
        events,
        (1..=2 * CYCLES_DURING_PASS + 1).collect::<Vec<u64>>()
    );
    assert_eq!(harvest.totals().lost, 1, "its birth");
}
