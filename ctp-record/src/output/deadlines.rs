//! Converts deadlines of programs in another time namespace to the clock of the trace.
//!
//! The times of events are on the recorder's clock: the probe takes them from the processor's counter, or the
//! recorder converted them when it read them. A deadline is stated by the program, on its own clock.

use std::borrow::Cow;
use std::collections::HashMap;

use ctp_trace::record::{CoroutineId, Event, ProcessId, Record, WaitKind};

use crate::harvest::{Sink, StationCoroutine};
use crate::proc::time_namespace;

/// The processes with another clock, and their coroutines, with the nanoseconds by which the clock is
/// ahead. Usually there are none.
#[derive(Clone, Debug, Default)]
pub struct ProgramClocks {
    processes: HashMap<ProcessId, i64>,
    coroutines: HashMap<CoroutineId, i64>,
}

impl ProgramClocks {
    /// Notes the clock of the process that this record describes, while the process runs.
    pub fn note_process(&mut self, record: &Record) {
        if let Record::Process(process) = record
            && let Some(ahead_ns) = time_namespace::ahead_ns(process.pid)
        {
            self.note_clock(process.id, ahead_ns);
        }
    }

    /// Notes the clock of a process.
    pub fn note_clock(&mut self, process: ProcessId, ahead_ns: i64) {
        if ahead_ns != 0 {
            self.processes.insert(process, ahead_ns);
        }
    }

    /// Notes a coroutine's birth or end.
    pub fn note_coroutine(&mut self, record: &Record) {
        match record {
            Record::Birth(birth) => {
                if let Some(ahead_ns) = self.processes.get(&birth.process) {
                    self.coroutines.insert(birth.coroutine, *ahead_ns);
                }
            }
            Record::EventCounts(event_counts) => {
                self.coroutines.remove(&event_counts.coroutine);
            }
            _ => {}
        }
    }

    /// Converts a record's deadline to the trace's clock.
    pub fn corrected(&self, record: Record) -> Record {
        match record {
            Record::Event(event) => Record::Event(self.event(event)),
            other => other,
        }
    }

    /// Converts the events' deadlines to the trace's clock.
    pub fn corrected_events<'e>(&self, events: &'e [Event]) -> Cow<'e, [Event]> {
        if self.coroutines.is_empty() {
            return Cow::Borrowed(events);
        }
        Cow::Owned(events.iter().map(|event| self.event(*event)).collect())
    }

    fn event(&self, event: Event) -> Event {
        // 0 means an unknown deadline.
        if event.wait != WaitKind::Timer || event.arg == 0 {
            return event;
        }
        let ahead_ns = self.coroutines.get(&event.coroutine).copied();
        let behind_ns = ahead_ns.unwrap_or(0).saturating_neg();
        let deadline = event.arg.saturating_add_signed(behind_ns);
        Event {
            arg: deadline.max(1),
            ..event
        }
    }
}

/// Converts deadlines on the way to another sink.
pub struct CorrectingSink<'s> {
    pub clocks: ProgramClocks,
    pub sink: &'s mut dyn Sink,
}

impl Sink for CorrectingSink<'_> {
    fn take(&mut self, record: Record) {
        self.clocks.note_coroutine(&record);
        self.sink.take(self.clocks.corrected(record));
    }

    fn take_events(&mut self, events: &[Event]) {
        self.sink.take_events(&self.clocks.corrected_events(events));
    }

    fn take_departed(&mut self, departed: StationCoroutine) {
        self.sink.take_departed(departed);
    }
}

#[cfg(test)]
mod tests {
    use ctp_trace::record::{Birth, EventKind};

    use super::*;

    const FOREIGN: ProcessId = ProcessId(2);

    fn clocks(ahead_ns: i64) -> ProgramClocks {
        let mut clocks = ProgramClocks::default();
        clocks.processes.insert(FOREIGN, ahead_ns);
        for (coroutine, process) in [(1, ProcessId(1)), (2, FOREIGN)] {
            clocks.note_coroutine(&Record::Birth(Birth {
                coroutine: CoroutineId(coroutine),
                process,
                ..Birth::default()
            }));
        }
        clocks
    }

    fn deadline(clocks: &ProgramClocks, coroutine: u32, wait: WaitKind, arg: u64) -> u64 {
        let event = Event {
            coroutine: CoroutineId(coroutine),
            kind: EventKind::Suspend,
            wait,
            arg,
            ..Event::default()
        };
        clocks.corrected_events(&[event])[0].arg
    }

    #[test]
    fn only_deadlines_of_foreign_clocks_are_converted() {
        let ahead = clocks(50);
        assert_eq!(deadline(&ahead, 2, WaitKind::Timer, 170), 120);
        assert_eq!(deadline(&ahead, 1, WaitKind::Timer, 170), 170);
        assert_eq!(deadline(&ahead, 2, WaitKind::Readable, 170), 170);
        assert_eq!(deadline(&clocks(-50), 2, WaitKind::Timer, 170), 220);
    }

    #[test]
    fn unknown_and_infinite_deadlines_stay_so() {
        let ahead = clocks(50);
        assert_eq!(deadline(&ahead, 2, WaitKind::Timer, 0), 0);
        assert_eq!(deadline(&ahead, 2, WaitKind::Timer, 20), 1);
        assert_eq!(
            deadline(&clocks(-50), 2, WaitKind::Timer, u64::MAX),
            u64::MAX
        );
    }
}
