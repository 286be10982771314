//! What a flight recorder remembers while the program runs, so that records in lanes can be interpreted
//! when a snapshot is taken: definitions, live coroutines, and coroutines that departed lately.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ctp_trace::record::{Birth, CoroutineId, Look, ProcessId, Record, Seen, Sockets};

use super::ended::EndedCoroutines;
use crate::harvest::{Sink, StationCoroutine};
use crate::leaves::Leaves;
use crate::output::deadlines::ProgramClocks;

/// A coroutine's state and birth.
#[derive(Clone, Debug)]
pub struct KnownCoroutine {
    /// Its station's state, when the station was read or when the coroutine departed.
    pub state: StationCoroutine,
    /// Its birth, as recorded when it was introduced.
    pub birth: Arc<Birth>,
}

/// Remembers the records of passes, which write no file.
#[derive(Debug, Default)]
pub struct FlightHistory {
    /// Definitions of processes, modules and sites.
    definitions: Vec<Record>,
    /// Ends of processes and changes of the filter.
    marks: Vec<Record>,
    /// Observations of descriptors, by the coroutine that has a station and waits for them; latest last.
    looks: HashMap<CoroutineId, Vec<Look>>,
    /// The latest observation of the sockets of each process.
    sockets: HashMap<ProcessId, Sockets>,
    /// What the leaf futures of await chains wait for.
    leaves: Leaves,
    /// The births of coroutines that have a station.
    births: HashMap<CoroutineId, Arc<Birth>>,
    /// Coroutines that departed, latest last.
    departed: VecDeque<Arc<KnownCoroutine>>,
    /// The sums of coroutines that departed earlier.
    ended_before: EndedCoroutines,
    /// The clocks by which programs state deadlines.
    clocks: ProgramClocks,
}

/// Departed coroutines that are remembered individually: about 50 MB.
const MAX_DEPARTED: usize = 1 << 16;

impl Sink for FlightHistory {
    fn take(&mut self, record: Record) {
        self.clocks.note_process(&record);
        self.leaves.note(&record);
        match record {
            Record::Process(_)
            | Record::Module(_)
            | Record::Site(_)
            | Record::Chain(_)
            | Record::Branches(_)
            | Record::Leaf(_) => {
                self.definitions.push(record);
            }
            Record::ProcessEnd(_) | Record::Control(_) => self.marks.push(record),
            Record::Birth(birth) => {
                self.births.insert(birth.coroutine, Arc::new(birth));
            }
            Record::Look(look) => self.note(look),
            Record::Sockets(sockets) => {
                self.sockets.insert(sockets.process, sockets);
            }
            // Everything else stays in the memory until its coroutine departs.
            _ => {}
        }
    }

    fn take_clock(&mut self, process: ProcessId, ahead_ns: i64) {
        self.clocks.note_clock(process, ahead_ns);
    }

    fn take_departed(&mut self, mut state: StationCoroutine) {
        self.looks.remove(&state.coroutine);
        let Some(birth) = self.births.remove(&state.coroutine) else {
            return;
        };
        if state.has_ended {
            // The latest events are still in lanes, or else too old for a snapshot.
            state.forget_slots();
        }
        self.departed
            .push_back(Arc::new(KnownCoroutine { state, birth }));
        if self.departed.len() > MAX_DEPARTED
            && let Some(oldest) = self.departed.pop_front()
        {
            self.ended_before.add(&oldest);
        }
    }
}

/// Observations kept of a wait: the last that found the descriptor open, then the first two and the last of
/// the remarkable observations since.
const MAX_LOOKS_PER_WAIT: usize = 4;

impl FlightHistory {
    fn note(&mut self, look: Look) {
        let looks = self.looks.entry(look.coroutine).or_default();
        let is_open = matches!(look.seen, Seen::Open | Seen::Empty);
        looks.retain(|before| before.since == look.since && !is_open);
        looks.truncate(MAX_LOOKS_PER_WAIT - 1);
        looks.push(look);
    }

    /// What the leaf futures of await chains wait for.
    pub fn leaves(&mut self) -> &mut Leaves {
        &mut self.leaves
    }

    /// The latest observation of the sockets of each process.
    pub fn sockets(&self) -> Vec<Sockets> {
        self.sockets.values().copied().collect()
    }

    /// All observations, in order for each wait.
    pub fn looks(&self) -> Vec<Look> {
        self.looks.values().flatten().copied().collect()
    }

    /// Adds what is known of the coroutine's birth.
    pub fn known(&self, state: StationCoroutine) -> Option<KnownCoroutine> {
        let birth = self.births.get(&state.coroutine)?.clone();
        Some(KnownCoroutine { state, birth })
    }

    /// Definitions of processes, modules and sites, in an order in which they can be written.
    pub fn definitions(&self) -> &[Record] {
        &self.definitions
    }

    /// Ends of processes and changes of the filter.
    pub fn marks(&self) -> &[Record] {
        &self.marks
    }

    /// The clocks of processes that do not use the recorder's clock.
    pub fn clocks(&self) -> &ProgramClocks {
        &self.clocks
    }

    /// Coroutines that departed and are remembered individually.
    pub fn departed(&self) -> Vec<Arc<KnownCoroutine>> {
        self.departed.iter().cloned().collect()
    }

    /// The sums of coroutines that departed earlier.
    pub fn ended_before(&self) -> &EndedCoroutines {
        &self.ended_before
    }
}
