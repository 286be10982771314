//! The image of one memory: what was copied of its lanes and stations, with a station for each coroutine
//! that is told of.

use std::sync::Arc;

use ctp_nostd::lane::{Copied, DeedKind};
use ctp_nostd::layout::{MOST_STATIONS, Station};
use ctp_nostd::{Region, ShortLanes};
use ctp_trace::record::{Nanos, ProcessId};

use super::attribution::Whose;
use super::coroutine::SnapshotCoroutine;
use super::gathered::Part;
use super::known::{Known, OfMemory};
use super::lane_copy::LaneCopy;
use super::plan::Plan;
use super::renumbering::Renumbering;
use crate::harvest::image::{ImageLane, ImageTimes};
use crate::harvest::{Harvest, Sink, Totals};
use crate::memory::shm::Memory;

/// The image of one memory, and how far it was read.
#[derive(Debug)]
pub struct MemoryImage {
    /// For its tables of names and sites, which only grow.
    memory: Arc<Memory>,
    /// In place of the memory's stations.
    stations: Vec<Station>,
    harvest: Harvest,
    /// By station: the first event of which lanes tell, or the end of its events.
    in_lanes: Vec<u64>,
    /// The processes that attached, by the order of their attach ids.
    attached: Vec<ProcessId>,
    /// Records that claim to be of a time that cannot be.
    nonsense: u64,
}

/// One of the memories of a plan.
#[derive(Clone, Copy)]
struct OfPlan<'p> {
    plan: &'p Plan,
    /// Which one.
    index: usize,
    part: &'p Part,
}

/// The images of all memories. The lanes are moved out of the plan.
pub fn images(plan: &mut Plan, parts: &[Part], times: ImageTimes) -> Vec<MemoryImage> {
    let lanes = std::mem::take(&mut plan.lanes);
    let image = |(index, (lanes, part))| OfPlan { plan, index, part }.image(lanes, times);
    lanes
        .into_iter()
        .zip(parts)
        .enumerate()
        .map(image)
        .collect()
}

impl OfPlan<'_> {
    fn image(self, lanes: Vec<LaneCopy>, times: ImageTimes) -> MemoryImage {
        let told = self.told();
        let renumbering = Renumbering {
            attribution: &self.plan.attributions[self.index],
            stations: &self.numbers(&told),
        };
        let told = told.iter().map(|which| &self.plan.coroutines[*which]);
        let coroutines: Vec<_> = told.clone().map(SnapshotCoroutine::to_image).collect();
        let stations: Vec<_> = told.clone().map(|it| station(it, &renumbering)).collect();
        let nonsense = lanes.iter().map(|lane| lane.later_than(times.latest_ns));
        let nonsense = nonsense.sum();
        let lanes = lanes.into_iter().map(|lane| self.lane(lane, &renumbering));
        let (lanes, sites) = (lanes.collect(), self.part.sites.clone());
        MemoryImage {
            memory: self.part.memory.clone(),
            harvest: Harvest::of_image(&coroutines, &stations, lanes, sites, times),
            stations,
            in_lanes: told.map(SnapshotCoroutine::first_in_lanes).collect(),
            attached: self.part.attached.clone(),
            nonsense,
        }
    }

    /// The coroutines of this memory that are told of, by their numbers in the plan.
    fn told(self) -> Vec<usize> {
        let is_told = |(_, one): &(usize, &SnapshotCoroutine)| {
            one.is_told && one.occupant().memory == self.part.number
        };
        let told = self.plan.coroutines.iter().enumerate().filter(is_told);
        // Records have no bits for more. No memory has as many stations as this.
        let told = told.take(MOST_STATIONS as usize);
        told.map(|(which, _)| which).collect()
    }

    /// By coroutine: its station in the image, if it has one, and the generation of that.
    fn numbers(self, told: &[usize]) -> Vec<Option<(u32, u32)>> {
        let mut numbers = vec![None; self.plan.coroutines.len()];
        for (station, which) in (0..).zip(told) {
            let generation = self.plan.coroutines[*which].occupant().generation;
            numbers[*which] = Some((station, generation));
        }
        numbers
    }

    /// The records of a lane from the beginning of the window to its end.
    fn lane(self, lane: LaneCopy, renumbering: &Renumbering<'_>) -> ImageLane {
        let is_in_window = |copied: &Copied| self.plan.since_ns <= copied.at();
        let first = lane.records.iter().position(is_in_window);
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

    /// A thread is of the process of the coroutines that run on it.
    fn process_of(self, records: &[Copied]) -> Option<ProcessId> {
        let attribution = &self.plan.attributions[self.index];
        records.iter().find_map(|copied| {
            let (at, payload) = copied.read();
            let is_deed = DeedKind::from_code(payload.kind).is_some();
            match attribution.of_event(at, &payload) {
                Whose::Of(which, _) if !is_deed => {
                    Some(self.plan.coroutines[which].occupant().process)
                }
                _ => None,
            }
        })
    }
}

fn station(one: &SnapshotCoroutine, renumbering: &Renumbering<'_>) -> Station {
    one.occupant()
        .to_station(|at_ns, word| renumbering.waker(at_ns, word))
}

impl MemoryImage {
    /// Reads the events of each station that are before those of lanes.
    pub fn read_held(&mut self, known: &mut Known, sink: &mut dyn Sink) {
        for (index, end_n) in self.in_lanes.iter().enumerate() {
            let harvest = &mut self.harvest;
            let (region, mut outside) = read(&self.memory, &self.stations, &self.attached, known);
            harvest.read_held((index, *end_n), &region, &mut outside, sink);
        }
    }

    /// Reads what lanes hold up to this time.
    pub fn read_lanes_until(&mut self, at: Nanos, known: &mut Known, sink: &mut dyn Sink) {
        let (region, mut outside) = read(&self.memory, &self.stations, &self.attached, known);
        self.harvest
            .read_lanes_until(at, &region, &mut outside, sink);
    }

    /// Reads everything else, and closes each coroutine's account.
    pub fn read_all(&mut self, known: &mut Known, sink: &mut dyn Sink) {
        let (region, mut outside) = read(&self.memory, &self.stations, &self.attached, known);
        self.harvest.read_all(&region, &mut outside, sink);
    }

    /// What was found so far.
    pub fn totals(&self) -> Totals {
        let totals = self.harvest.totals();
        Totals {
            quarantined: totals.quarantined + self.nonsense,
            ..totals
        }
    }
}

/// What a harvest reads: the tables of the memory, but the stations of the image and no lanes, and what is
/// known of the world outside.
fn read<'r>(
    memory: &'r Memory,
    stations: &'r [Station],
    attached: &'r [ProcessId],
    known: &'r mut Known,
) -> (Region<'r>, OfMemory<'r>) {
    let region = Region {
        stations,
        free: &[],
        lanes: &[],
        records: &[],
        short: ShortLanes::default(),
        ..memory.region()
    };
    let outside = OfMemory {
        known,
        attaches: region.attaches,
        attached,
    };
    (region, outside)
}
