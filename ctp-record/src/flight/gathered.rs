//! All that a snapshot is made of, gathered in one go by the thread that reads the memories, so that
//! stations may be used again as soon as that is done: first what lanes hold, then the stations, so
//! that everybody who is in a lane is known.

use std::collections::HashMap;
use std::sync::Arc;

use ctp_nostd::inspect::Counters;
use ctp_trace::record::{Ending, Look, Nanos, ProcessId, Record, Start};

use super::chronicle::{Chronicle, KnownCoroutine};
use super::ended::EndedCoroutines;
use super::lane_copy::{self, LaneCopy};
use crate::harvest::{Numbers, SiteTable};
use crate::memory::clock::monotonic_ns;
use crate::memory::memories::{Look as Contents, Memories};
use crate::memory::shm::Memory;
use crate::output::deadlines::ProgramClocks;
use crate::proc::processes::Processes;
use crate::session::vigil;
use crate::session::wait;

/// What there is, and at which time.
///
/// Everything that the thread which writes is handed over at once: no field changes after that.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The first record of the trace.
    pub start: Start,
    /// What lanes hold, by memory.
    pub lanes: Vec<Vec<LaneCopy>>,
    /// Up to when lanes have everything, on the monotonic clock.
    pub until_ns: u64,
    /// When stations were looked at after that.
    pub looked_ns: u64,
    /// Leave out what is older than so many nanoseconds.
    pub length_ns: Option<u64>,
    /// Processes, modules, sites.
    pub definitions: Vec<Record>,
    /// Ends of processes, and changes of what is kept.
    pub marks: Vec<Record>,
    /// What was seen from outside.
    pub looks: Vec<Look>,
    /// The memories.
    pub parts: Vec<Part>,
    /// Who has left lately.
    pub gone: Vec<Arc<KnownCoroutine>>,
    /// What those come to that left before.
    pub ended_before: EndedCoroutines,
    /// The clocks of processes that have another one.
    pub clocks: ProgramClocks,
    /// The numbers of the trace so far.
    pub numbers: Numbers,
    /// The program of each process.
    pub programs: HashMap<ProcessId, u32>,
    /// Of all memories.
    pub counters: Counters,
    /// How and when the recording ended; it goes on if this is nothing.
    pub ended: Option<(Ending, Nanos)>,
    /// The thread at which the program crashed, or 0.
    pub faulting_tid: u64,
    /// Processes that are not recorded.
    pub unrecorded: u64,
}

/// One memory.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its number in the recording.
    pub number: u32,
    /// Whose lanes are to be read.
    pub memory: Arc<Memory>,
    /// The processes that attached, in the order of their attach ids, which begin at 1.
    pub attached: Vec<ProcessId>,
    /// The sites that are known.
    pub sites: SiteTable,
    /// Who lives there.
    pub living: Vec<Arc<KnownCoroutine>>,
}

impl Gathered {
    /// Copies lanes, meets whoever is new, and looks at every station once.
    pub fn take(
        start: &Start,
        memories: &mut Memories,
        processes: &mut Processes,
        chronicle: &mut Chronicle,
    ) -> Self {
        // What was written before this is seen after it.
        wait::order();
        let (lanes, until_ns) = lane_copy::up_to_now(&memories.all());
        // Whoever has written until then is known after this.
        wait::order();
        memories.pass(processes, chronicle);
        let looks = memories.look();
        let looked_ns = monotonic_ns();
        Gathered {
            lanes: lane_copy::by_recorders_clock(lanes, &looks),
            until_ns,
            looked_ns,
            ..Gathered::seen(looks, start, memories, processes, chronicle)
        }
    }

    /// The same when it is over, as of now: what those do later who go on is not of this recording.
    /// They write over stations first, which hold least, so that these are looked at before lanes.
    pub fn take_last(
        start: &Start,
        memories: &mut Memories,
        processes: &mut Processes,
        chronicle: &mut Chronicle,
    ) -> Self {
        wait::order();
        let until_ns = monotonic_ns();
        memories.pass(processes, chronicle);
        memories.introduce_silent_peers(processes, chronicle);
        let looks = memories.look();
        wait::order();
        let lanes = lane_copy::once(&memories.all());
        Gathered {
            lanes: lane_copy::by_recorders_clock(lane_copy::within_time(lanes), &looks),
            until_ns,
            looked_ns: until_ns,
            ..Gathered::seen(looks, start, memories, processes, chronicle)
        }
    }

    /// What was seen of stations, without lanes and times.
    fn seen(
        looks: Vec<Contents>,
        start: &Start,
        memories: &Memories,
        processes: &mut Processes,
        chronicle: &mut Chronicle,
    ) -> Self {
        processes.look_at_all(chronicle);
        let parts = looks.into_iter().map(|it| Part::of(it, chronicle));
        Gathered {
            parts: parts.collect(),
            numbers: processes.numbers().clone(),
            programs: processes.program_of().clone(),
            counters: memories.counters(),
            ..Gathered::remembered(start, chronicle)
        }
    }

    /// How it ended, and when: at this time if it is known that nobody lived longer, but not before
    /// what was told last. When that was gathered does not matter.
    pub fn end(&mut self, how: Ending, alive: Nanos) -> Nanos {
        let zero_ns = self.start.started_monotonic_ns;
        let nanos = |at_ns: u64| Nanos(at_ns.saturating_sub(zero_ns));
        let at = vigil::end(alive, nanos(self.latest_ns()), nanos(self.until_ns));
        self.ended = Some((how, at));
        at
    }

    /// When the latest was that can be told.
    fn latest_ns(&self) -> u64 {
        let lanes = self.lanes.iter().flatten();
        let in_lanes = lanes.filter_map(|lane| lane.latest(self.until_ns));
        let living = self.parts.iter().flat_map(|part| &part.living);
        let all = living.chain(&self.gone);
        let in_stations = all.filter_map(|one| one.occupant.latest_until(self.until_ns));
        in_lanes.chain(in_stations).max().unwrap_or(0)
    }

    /// When the recording ended, if it did, on the monotonic clock.
    pub fn ended_ns(&self) -> Option<u64> {
        let zero_ns = self.start.started_monotonic_ns;
        self.ended.map(|(_, at)| zero_ns.saturating_add(at.0))
    }

    /// Up to when something can be told: what is read later is dated so.
    pub fn end_at(&self) -> Nanos {
        let zero_ns = self.start.started_monotonic_ns;
        let looked = Nanos(self.looked_ns.saturating_sub(zero_ns));
        self.ended.map_or(looked, |(_, at)| at)
    }

    /// What needs no look, of a recording that goes on.
    pub(super) fn remembered(start: &Start, chronicle: &Chronicle) -> Self {
        Gathered {
            start: start.clone(),
            definitions: chronicle.definitions().to_vec(),
            marks: chronicle.marks().to_vec(),
            looks: chronicle.looks(),
            gone: chronicle.gone(),
            ended_before: chronicle.ended_before().clone(),
            clocks: chronicle.clocks().clone(),
            ..Gathered::default()
        }
    }
}

impl Part {
    pub(super) fn of(look: Contents, chronicle: &Chronicle) -> Self {
        let coroutines = look.coroutines.into_iter();
        let living = coroutines.filter_map(|coroutine| chronicle.known(coroutine));
        Part {
            number: look.number,
            memory: look.memory,
            attached: look.attached,
            sites: look.sites,
            living: living.map(Arc::new).collect(),
        }
    }

    /// The process with this attach id.
    pub fn process(&self, attach_id: u32) -> Option<ProcessId> {
        let row = (attach_id as usize).checked_sub(1)?;
        self.attached.get(row).copied()
    }
}
