//! What a flight recorder remembers while the program runs, so that records in lanes mean something
//! when a snapshot is taken: the definitions, who lives, and who has left lately.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ctp_trace::record::{Birth, CoroutineId, Look, ProcessId, Record, Seen};

use super::ended::EndedCoroutines;
use crate::harvest::{Sink, StationCoroutine};
use crate::output::deadlines::ProgramClocks;

/// A coroutine with all that is known of it.
#[derive(Clone, Debug)]
pub struct KnownCoroutine {
    /// As its station had it when it was looked at, or when the coroutine left.
    pub occupant: StationCoroutine,
    /// As it was met.
    pub birth: Arc<Birth>,
}

/// Takes the records of passes that write no file.
#[derive(Debug, Default)]
pub struct Chronicle {
    /// Processes, modules, sites.
    definitions: Vec<Record>,
    /// Ends of processes, and changes of what is kept.
    marks: Vec<Record>,
    /// What was seen from outside of what those wait for that have a station, the latest last.
    looks: HashMap<CoroutineId, Vec<Look>>,
    /// Of those that have a station.
    births: HashMap<CoroutineId, Arc<Birth>>,
    /// Who left, the latest last.
    gone: VecDeque<Arc<KnownCoroutine>>,
    /// What those come to that left before.
    ended_before: EndedCoroutines,
    /// By which the deadlines of events are told.
    clocks: ProgramClocks,
}

/// So many that left are known one by one: about 50 MB.
const MOST_GONE: usize = 1 << 16;

impl Sink for Chronicle {
    fn take(&mut self, record: Record) {
        self.clocks.note_process(&record);
        match record {
            Record::Process(_) | Record::Module(_) | Record::Site(_) | Record::Chain(_) => {
                self.definitions.push(record);
            }
            Record::ProcessEnd(_) | Record::Control(_) => self.marks.push(record),
            Record::Birth(birth) => {
                self.births.insert(birth.coroutine, Arc::new(birth));
            }
            Record::Look(look) => self.note(look),
            // What else there is stands in the memory too, until its coroutine leaves.
            _ => {}
        }
    }

    fn take_clock(&mut self, process: ProcessId, ahead_ns: i64) {
        self.clocks.note_clock(process, ahead_ns);
    }

    fn take_departed(&mut self, mut occupant: StationCoroutine) {
        self.looks.remove(&occupant.coroutine);
        let Some(birth) = self.births.remove(&occupant.coroutine) else {
            return;
        };
        if occupant.has_ended {
            // Lanes have what was last; where they do not, it was long ago.
            occupant.forget_slots();
        }
        self.gone
            .push_back(Arc::new(KnownCoroutine { occupant, birth }));
        if self.gone.len() > MOST_GONE
            && let Some(oldest) = self.gone.pop_front()
        {
            self.ended_before.add(&oldest);
        }
    }
}

/// Looks at one wait that are kept: the last one at what was open, and the first two and the last of
/// what was remarkable since.
const MOST_LOOKS: usize = 4;

impl Chronicle {
    fn note(&mut self, look: Look) {
        let looks = self.looks.entry(look.coroutine).or_default();
        let is_open = matches!(look.seen, Seen::Open | Seen::Empty);
        looks.retain(|before| before.since == look.since && !is_open);
        looks.truncate(MOST_LOOKS - 1);
        looks.push(look);
    }

    /// What was seen from outside, of each wait in order.
    pub fn looks(&self) -> Vec<Look> {
        self.looks.values().flatten().copied().collect()
    }

    /// With what is known of its birth.
    pub fn known(&self, occupant: StationCoroutine) -> Option<KnownCoroutine> {
        let birth = self.births.get(&occupant.coroutine)?.clone();
        Some(KnownCoroutine { occupant, birth })
    }

    /// Processes, modules and sites, in an order in which each may be written.
    pub fn definitions(&self) -> &[Record] {
        &self.definitions
    }

    /// Ends of processes, and changes of what is kept.
    pub fn marks(&self) -> &[Record] {
        &self.marks
    }

    /// The clocks of processes that have another one.
    pub fn clocks(&self) -> &ProgramClocks {
        &self.clocks
    }

    /// Who left and is known one by one.
    pub fn gone(&self) -> Vec<Arc<KnownCoroutine>> {
        self.gone.iter().cloned().collect()
    }

    /// What those come to that left before.
    pub fn ended_before(&self) -> &EndedCoroutines {
        &self.ended_before
    }
}
