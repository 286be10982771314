//! A harvest over an image: what a flight recorder copied of one memory, in which each coroutine has a
//! station of its own.
//!
//! Lanes and stations are read by the same code as those of a live memory. Only the beginning differs:
//! the coroutines are known, and each begins in the middle of its history.

use ctp_nostd::Region;
use ctp_nostd::lane::Copied;
use ctp_nostd::layout::Station;
use ctp_trace::record::{Nanos, ProcessId};

use super::cell::Cell;
use super::cells::Cells;
use super::horizon::Horizon;
use super::lanes::{Lanes, Reach};
use super::latest::Latest;
use super::stop::Stop;
use super::{Harvest, Outside, Pass, Places, Sink, StationCoroutine};

/// What is read of one coroutine.
#[derive(Debug)]
pub(crate) struct ImageCoroutine<'i> {
    /// As its station had it.
    pub coroutine: &'i StationCoroutine,
    /// The first event to read. Those before it are counted elsewhere.
    pub first_n: u64,
    /// The event behind the last one to read, if not all are.
    pub end_n: Option<u64>,
}

/// What was copied of one lane.
#[derive(Debug, Default)]
pub(crate) struct ImageLane {
    /// Its records, the oldest first. `station` is the number of a station of the image.
    pub records: Vec<Copied>,
    /// The thread that wrote the first of them, and its process.
    pub tid: u64,
    pub process: ProcessId,
    /// Records that ever found no room, modulo 2^32.
    pub lost: u32,
    /// How many of these were told before the first record, if that is known.
    pub told_lost: Option<u32>,
    /// Its words cannot be true.
    pub is_damaged: bool,
}

/// When things can have happened in an image, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageTimes {
    /// The trace's zero.
    pub start_ns: u64,
    /// What claims to be later makes no sense.
    pub latest_ns: u64,
    /// What stations tell of later times is not wanted.
    pub until_ns: u64,
    /// The time of losses that tell no time.
    pub dated_ns: u64,
}

impl Harvest {
    /// Begins with an image, whose `stations` are those of the coroutines, in the same order.
    pub(crate) fn of_image(
        coroutines: &[ImageCoroutine<'_>],
        stations: &[Station],
        lanes: Vec<ImageLane>,
        places: Places,
        times: ImageTimes,
    ) -> Self {
        let ends = coroutines.iter().map(|one| one.end_n);
        let lost = |lane: &ImageLane| (!lane.is_damaged).then_some(lane.lost);
        let lost = lanes.iter().map(lost).collect();
        let stop = Stop::of_image(stations.iter().zip(ends), lost, times.until_ns);
        let cells = coroutines.iter();
        let cells: Vec<Cell> = cells
            .map(|one| Cell::of_image(one.coroutine, one.first_n))
            .collect();
        let horizon = Horizon::of_image(times.start_ns, times.latest_ns);
        let mut harvest = Harvest {
            lanes: Lanes::of_image(lanes),
            places,
            // It is known of each coroutine whether anybody but the recorder kept events out.
            is_controlled: true,
            latest: Latest::at(horizon.nanos(times.dated_ns)),
            stop: Some(stop),
            ..Harvest::new(times.start_ns)
        };
        harvest.totals.filtered = cells.iter().map(Cell::filtered).sum();
        (harvest.cells, harvest.horizon) = (Cells::of_image(cells), horizon);
        harvest
    }

    /// Reads the events that stations hold before those of lanes: of the station at `index`, those before
    /// event `end_n`.
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

    /// Reads what lanes hold up to this time.
    pub(crate) fn read_lanes_until(
        &mut self,
        at: Nanos,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) {
        let until_ns = self.horizon.start_ns().saturating_add(at.0);
        let mut pass = Pass::over(region, outside, sink);
        self.drain_lanes(Reach::Until(until_ns), &mut pass);
    }

    /// Reads everything else, and closes each coroutine's account.
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
