//! Call stacks of coroutines that wait on stacks of their own: when they are read.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ctp_trace::record::{ProcessId, Record};
use ctp_trace::verdict::THRESHOLD;

use super::Session;
use super::inspections::PASS_PAUSE;
use crate::control::wire::Answer;
use crate::memory::clock::processor_time;
use crate::memory::memory_set::time_before;
use crate::monitor::inspections::MAX_STATIONS;
use crate::monitor::inspections::stacks::StackPlace;

/// Stacks of waits of this length are read while the program runs.
const LONG: Duration = Duration::from_nanos(THRESHOLD.0);
/// Maximum number of stacks that a scan finds.
const MAX_FOUND: usize = 1 << 12;
/// Maximum number of stacks that are read at the end.
const MAX_STACKS: usize = 1 << 16;
/// How long a command waits for stacks. Less than the time after which `ctp-record control` gives up.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Stacks that are read before the first of them are recorded.
const PART: usize = 1 << 11;

impl Session<'_> {
    /// Requests the stacks of long waits, if a scan is due. The stack of a wait is read once.
    pub(super) fn scan_for_stacks(&mut self) {
        if !self.inspections.stack_scans.is_due() || self.output.flight().is_some() {
            return;
        }
        let begin = processor_time();
        let scans = &mut self.inspections.stack_scans;
        let (regions, since_ns) = (&self.regions, time_before(LONG));
        let found = regions.next_found(&mut scans.cursor, MAX_STATIONS, MAX_FOUND, |place| {
            regions.stack_wait(place, since_ns)
        });
        let found = found.into_iter().map(|(_, place)| place).collect();
        let new = scans.take_unread(found);
        scans.note_scan(processor_time().saturating_sub(begin));
        self.request_stacks_at(new);
    }

    /// Requests the stacks of waits of this length, when something is reported as stuck. The stack of a wait is read once.
    pub(super) fn request_stuck_stacks(&mut self, length: Duration) {
        if self.output.flight().is_some() {
            return;
        }
        let (regions, since_ns) = (&self.regions, time_before(length));
        let found = regions.next_found(&mut (0, 0), usize::MAX, MAX_FOUND, |place| {
            regions.stack_wait(place, since_ns)
        });
        let found = found.into_iter().map(|(_, place)| place).collect();
        let new = self.inspections.stack_scans.take_unread(found);
        self.request_stacks_at(new);
    }

    /// Requests the stacks of all coroutines that wait on stacks of their own now, in this process or in all. Returns
    /// their number.
    pub(super) fn request_all_stacks(&mut self, pid: Option<u32>) -> usize {
        if self.output.flight().is_some() {
            return 0;
        }
        let only = pid.and_then(|pid| self.processes.id_of(pid));
        let (regions, now_ns) = (&self.regions, time_before(Duration::ZERO));
        let found = regions.next_found(&mut (0, 0), usize::MAX, MAX_STACKS, |place| {
            let found = regions.stack_wait(place, now_ns)?;
            only.is_none_or(|process| found.1.process == process)
                .then_some(found)
        });
        let places: Vec<StackPlace> = found.into_iter().map(|(_, place)| place).collect();
        let count = places.len();
        self.request_stacks_at(places);
        count
    }

    /// Reads the stacks of all coroutines that wait on stacks of their own now, for `ctp-record control`. Events are read
    /// meanwhile.
    pub(super) fn read_stacks(&mut self, pid: Option<u32>) -> Answer {
        if self.output.flight().is_some() {
            return Err(
                "a flight recorder reads no stacks: leave out --flight-recorder".to_owned(),
            );
        }
        let deadline = Instant::now() + TIMEOUT;
        self.await_stacks(deadline);
        let requested = self.request_all_stacks(pid);
        let counts = self.await_stacks(deadline);
        self.output.flush(self.regions.totals().lost);
        Ok(self.stack_facts(requested, counts))
    }

    /// Reads events until all requested stacks are read, or until the deadline.
    fn await_stacks(&mut self, deadline: Instant) -> StackCounts {
        let mut counts = StackCounts::default();
        loop {
            self.read();
            let is_last = !self.inspections.is_reading_stacks() || deadline <= Instant::now();
            counts += self.take_inspections();
            if is_last {
                return counts;
            }
            sleep(PASS_PAUSE);
        }
    }

    fn stack_facts(&self, requested: usize, counts: StackCounts) -> Vec<(String, String)> {
        let StackCounts { read, moving } = counts;
        let numbers = [
            ("at_ns", self.clock.now().0),
            ("stacks", read as u64),
            ("moving", moving as u64),
            ("unread", requested.saturating_sub(read + moving) as u64),
        ];
        let numbers = numbers.map(|(name, number)| (name.to_owned(), number.to_string()));
        let output = self.output.path().display().to_string();
        let mut facts = vec![("output".to_owned(), output)];
        facts.extend(numbers);
        facts
    }

    fn request_stacks_at(&mut self, places: Vec<StackPlace>) {
        let mut by_process: BTreeMap<ProcessId, Vec<StackPlace>> = BTreeMap::new();
        for place in places {
            by_process.entry(place.1.process).or_default().push(place);
        }
        for (process, places) in by_process {
            if let Some(pid) = self.processes.pid_of(process) {
                for part in places.chunks(PART) {
                    self.inspections.request_stacks(process, pid, part.to_vec());
                }
            }
        }
    }
}

/// How many call stacks were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StackCounts {
    read: usize,
    /// Coroutines that went on during each copy.
    moving: usize,
}

impl StackCounts {
    /// Counts the record, if it is a call stack.
    pub fn add(&mut self, record: &Record) {
        match record {
            Record::CoroutineStack(stack) if stack.is_moving => self.moving += 1,
            Record::CoroutineStack(_) => self.read += 1,
            _ => {}
        }
    }
}

impl AddAssign for StackCounts {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.moving += other.moving;
    }
}
