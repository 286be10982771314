//! Builds the image of a memory: what was copied of its lanes and stations, with a station for each
//! coroutine in the snapshot.

use std::sync::Arc;

use ctp_nostd::lane::{Copied, ThreadEventKind};
use ctp_nostd::layout::{MAX_STATIONS, Station};
use ctp_nostd::{Region, ShortLanes};
use ctp_trace::record::{Nanos, ProcessId};

use super::attribution::RecordOwner;
use super::coroutine::SnapshotCoroutine;
use super::known_processes::{KnownOutside, KnownProcesses};
use super::lane_copy::LaneCopy;
use super::plan::SnapshotPlan;
use super::renumbering::Renumbering;
use super::snapshot_input::SnapshotMemory;
use crate::harvest::image::{ImageLane, ImageTimes};
use crate::harvest::{Harvest, Sink, Totals};
use crate::memory::shm::Memory;

/// The image of a memory and its reader.
#[derive(Debug)]
pub struct MemoryImage {
    /// The memory, for its tables of names and sites, which only grow.
    memory: Arc<Memory>,
    /// The image's stations.
    stations: Vec<Station>,
    harvest: Harvest,
    /// By station: the first event that lanes have, else the end of its events.
    in_lanes: Vec<u64>,
    /// The processes that attached, by attach id.
    attached: Vec<ProcessId>,
    /// Records with an impossible time.
    nonsense: u64,
}

/// A memory of a plan.
#[derive(Clone, Copy)]
struct ImageBuilder<'p> {
    plan: &'p SnapshotPlan,
    /// The index of the memory in the plan.
    index: usize,
    part: &'p SnapshotMemory,
}

/// Builds the images of all memories. Moves the lanes out of the plan.
pub fn images(
    plan: &mut SnapshotPlan,
    parts: &[SnapshotMemory],
    times: ImageTimes,
) -> Vec<MemoryImage> {
    let lanes = std::mem::take(&mut plan.lanes);
    lanes
        .into_iter()
        .zip(parts)
        .enumerate()
        .map(|(index, (lanes, part))| ImageBuilder { plan, index, part }.image(lanes, times))
        .collect()
}

impl ImageBuilder<'_> {
    fn image(self, lanes: Vec<LaneCopy>, times: ImageTimes) -> MemoryImage {
        let included = self.included();
        let renumbering = Renumbering {
            attribution: &self.plan.attributions[self.index],
            stations: &self.station_numbers(&included),
        };
        let included = included.iter().map(|which| &self.plan.coroutines[*which]);
        let coroutines: Vec<_> = included.clone().map(SnapshotCoroutine::to_image).collect();
        let stations: Vec<_> = included
            .clone()
            .map(|coroutine| station(coroutine, &renumbering))
            .collect();
        let nonsense = lanes.iter().map(|lane| lane.later_than(times.latest_ns));
        let nonsense = nonsense.sum();
        let lanes = lanes.into_iter().map(|lane| self.lane(lane, &renumbering));
        let (lanes, sites) = (lanes.collect(), self.part.sites.clone());
        MemoryImage {
            memory: self.part.memory.clone(),
            harvest: Harvest::of_image(&coroutines, &stations, lanes, sites, times),
            stations,
            in_lanes: included.map(SnapshotCoroutine::first_in_lanes).collect(),
            attached: self.part.attached.clone(),
            nonsense,
        }
    }

    /// The indexes in the plan of this memory's coroutines that the snapshot contains.
    fn included(self) -> Vec<usize> {
        let all = self.plan.coroutines.iter().enumerate();
        let included = all.filter(|(_, coroutine)| {
            coroutine.is_included && coroutine.state().memory == self.part.number
        });
        // Records have no bits for greater station numbers. No memory has as many stations as this.
        let included = included.take(MAX_STATIONS as usize);
        included.map(|(which, _)| which).collect()
    }

    /// By coroutine: its station in the image, if it has one, and the station's generation.
    fn station_numbers(self, included: &[usize]) -> Vec<Option<(u32, u32)>> {
        let mut numbers = vec![None; self.plan.coroutines.len()];
        for (station, which) in (0..).zip(included) {
            let generation = self.plan.coroutines[*which].state().generation;
            numbers[*which] = Some((station, generation));
        }
        numbers
    }

    /// Converts the records of a lane within the window.
    fn lane(self, lane: LaneCopy, renumbering: &Renumbering<'_>) -> ImageLane {
        let first = lane
            .records
            .iter()
            .position(|copied| self.plan.since_ns <= copied.at());
        let first = first.unwrap_or(lane.records.len());
        let (tid, attach_id) = lane.author_at(first);
        let records = &lane.records[first..];
        let process = attach_id.and_then(|id| self.part.process(id));
        let process = process.or_else(|| self.process_of(records));
        let process = process.or(self.part.attached.first().copied());
        let records = records
            .iter()
            .filter(|copied| copied.at() <= self.plan.until_ns);
        ImageLane {
            records: records
                .filter_map(|copied| renumbering.record(copied))
                .collect(),
            tid,
            process: process.unwrap_or_default(),
            lost: lane.refused,
            reported_lost: (lane.overwritten == 0).then_some(0),
            is_damaged: lane.is_damaged,
        }
    }

    /// The process of the coroutines that run on the thread.
    fn process_of(self, records: &[Copied]) -> Option<ProcessId> {
        let attribution = &self.plan.attributions[self.index];
        records.iter().find_map(|copied| {
            let (at, payload) = copied.read();
            let is_thread_event = ThreadEventKind::from_code(payload.kind).is_some();
            match attribution.owner_of_event(at, &payload) {
                RecordOwner::Coroutine(which, _) if !is_thread_event => {
                    Some(self.plan.coroutines[which].state().process)
                }
                _ => None,
            }
        })
    }
}

fn station(coroutine: &SnapshotCoroutine, renumbering: &Renumbering<'_>) -> Station {
    coroutine
        .state()
        .to_station(|at_ns, word| renumbering.waker(at_ns, word))
}

impl MemoryImage {
    /// Reads the events that stations hold and that precede those of lanes.
    pub fn read_held(&mut self, known: &mut KnownProcesses, sink: &mut dyn Sink) {
        for (index, end_n) in self.in_lanes.iter().enumerate() {
            let harvest = &mut self.harvest;
            let (region, mut outside) = read(&self.memory, &self.stations, &self.attached, known);
            harvest.read_held((index, *end_n), &region, &mut outside, sink);
        }
    }

    /// Reads the lanes' records up to this time.
    pub fn read_lanes_until(&mut self, at: Nanos, known: &mut KnownProcesses, sink: &mut dyn Sink) {
        let (region, mut outside) = read(&self.memory, &self.stations, &self.attached, known);
        self.harvest
            .read_lanes_until(at, &region, &mut outside, sink);
    }

    /// Reads everything else and closes each coroutine's account.
    pub fn read_all(&mut self, known: &mut KnownProcesses, sink: &mut dyn Sink) {
        let (region, mut outside) = read(&self.memory, &self.stations, &self.attached, known);
        self.harvest.read_all(&region, &mut outside, sink);
    }

    /// Counts of what was found so far.
    pub fn totals(&self) -> Totals {
        let totals = self.harvest.totals();
        Totals {
            quarantined: totals.quarantined + self.nonsense,
            ..totals
        }
    }
}

/// The input of the image's harvest: the memory's tables with the image's stations and no lanes, and what is
/// known of processes.
fn read<'r>(
    memory: &'r Memory,
    stations: &'r [Station],
    attached: &'r [ProcessId],
    known: &'r mut KnownProcesses,
) -> (Region<'r>, KnownOutside<'r>) {
    let region = Region {
        stations,
        free: &[],
        lanes: &[],
        records: &[],
        short: ShortLanes::default(),
        ..memory.region()
    };
    let outside = KnownOutside {
        known,
        attaches: region.attaches,
        attached,
    };
    (region, outside)
}
