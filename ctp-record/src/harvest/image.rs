//! Reads an image: what a flight recorder copied of one memory, rearranged so that each coroutine has
//! a station of its own.
//!
//! Lanes and stations of an image are read by the same code as those of a live memory. Only the start
//! differs: the coroutines are known, and each begins in the middle of its history.

use ctp_nostd::Region;
use ctp_nostd::lane::Copied;
use ctp_nostd::layout::Station;
use ctp_trace::record::{Nanos, ProcessId};

use super::cell::StationCell;
use super::cells::StationCells;
use super::horizon::Horizon;
use super::lanes::{Lanes, TimeLimit};
use super::latest::LatestTimes;
use super::stop::Stop;
use super::{Harvest, Outside, Pass, Sink, SiteTable, StationCoroutine};

/// The part of a coroutine's history that an image holds.
#[derive(Debug)]
pub(crate) struct ImageCoroutine<'i> {
    /// The coroutine, as its station stated it.
    pub coroutine: &'i StationCoroutine,
    /// The first event to read. Earlier events are counted elsewhere.
    pub first_n: u64,
    /// The end of the events to read, or `None` to read all.
    pub end_n: Option<u64>,
}

/// The copy of a lane.
#[derive(Debug, Default)]
pub(crate) struct ImageLane {
    /// Its records, oldest first. `station` is the number of a station of the image.
    pub records: Vec<Copied>,
    /// The thread that wrote the first record, and its process.
    pub tid: u64,
    pub process: ProcessId,
    /// All records that found no room in the lane, modulo 2^32.
    pub lost: u32,
    /// How many of these were reported before the first record, if known.
    pub reported_lost: Option<u32>,
    /// The lane's words are impossible.
    pub is_damaged: bool,
}

/// The times that are possible in an image, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageTimes {
    /// The trace's zero.
    pub start_ns: u64,
    /// A later time is impossible.
    pub latest_ns: u64,
    /// What stations state about later times is left out.
    pub until_ns: u64,
    /// The time given to losses that have no time of their own.
    pub dated_ns: u64,
}

impl Harvest {
    /// Creates a reader of an image, with one station per coroutine, in the same order.
    pub(crate) fn of_image(
        coroutines: &[ImageCoroutine<'_>],
        stations: &[Station],
        lanes: Vec<ImageLane>,
        sites: SiteTable,
        times: ImageTimes,
    ) -> Self {
        let ends = coroutines.iter().map(|coroutine| coroutine.end_n);
        let lost = lanes
            .iter()
            .map(|lane| (!lane.is_damaged).then_some(lane.lost))
            .collect();
        let stop = Stop::of_image(stations.iter().zip(ends), lost, times.until_ns);
        let cells = coroutines.iter();
        let cells: Vec<StationCell> = cells
            .map(|coroutine| StationCell::of_image(coroutine.coroutine, coroutine.first_n))
            .collect();
        let horizon = Horizon::of_image(times.start_ns, times.latest_ns);
        let mut harvest = Harvest {
            lanes: Lanes::of_image(lanes),
            sites,
            // Each coroutine's account states whether events were excluded other than by the recorder.
            is_controlled: true,
            latest: LatestTimes::at(horizon.nanos(times.dated_ns)),
            stop: Some(stop),
            ..Harvest::new(times.start_ns)
        };
        harvest.totals.filtered = cells.iter().map(StationCell::filtered).sum();
        (harvest.cells, harvest.horizon) = (StationCells::of_image(cells), horizon);
        harvest
    }

    /// Reads the events before `end_n` from the slots of the station at `index`. They precede the events of lanes.
    pub(crate) fn read_held(
        &mut self,
        (index, end_n): (usize, u64),
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) {
        let mut pass = Pass::over(region, outside, sink);
        self.drain_slots_before(index, end_n, &mut pass);
    }

    /// Reads the lanes' records up to this time.
    pub(crate) fn read_lanes_until(
        &mut self,
        at: Nanos,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) {
        let until_ns = self.horizon.start_ns().saturating_add(at.0);
        let mut pass = Pass::over(region, outside, sink);
        self.drain_lanes(TimeLimit::Until(until_ns), &mut pass);
    }

    /// Reads everything else and closes each coroutine's account.
    pub(crate) fn read_all(
        &mut self,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) {
        let mut pass = Pass::over(region, outside, sink);
        self.take_rest(&mut pass);
    }
}
