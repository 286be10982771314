//! Statistics of waiting and running times that can be read whole at any time, even after the
//! writer died. Each statistic has two copies, and a latch says which copy is not being written.
//!
//! ```text
//!   the owner of the station                    the recorder, or the reader of a dump
//!   U1 fence                 (release)          X1 latch -> before          (acquire, U1, U4)
//!   U2 latch = 4k + 1        (relaxed)          X2 odd: B, even: A -> copy  (relaxed)
//!   U3 fence                 (release)          X3 fence                    (acquire, U3, U5)
//!      A                     (relaxed)          X4 latch -> after           (relaxed)
//!   U4 latch = 4k + 2        (release)             whole if no write to that copy can have
//!   U5 fence                 (release)             started since: after = before, or
//!      B                     (relaxed)             after = before + 2 = 4k + 4
//!   U6 latch = 4k + 4        (release)          else again, a few times; then BUSY
//! ```
//! A writer that dies within an update leaves one copy whole, and the latch says which. So no wide
//! atomic write is needed, and no reader delays the writer.
//!
//! An event is added before the head counts the event. Events that a signal handler records within
//! another event are added by that other event (E5 of `event/fast_path.rs`, `event/slow_path.rs`).
//! So no handler comes between these steps. If the latch is nevertheless not a multiple of four, an
//! update is in progress, and the aggregate is left alone.
//!
//! DTrace's principal buffers and the Linux kernel's `seqcount_latch` have the same idea: two
//! copies, of which readers take the copy that is not being written.

use crate::memory::layout::{Aggregate, Header, Station};
use crate::protocol::slot::{AFTER_FILTERED, EventKind};
use crate::sync::{AtomicU32, Ordering, fence};

/// Bins of an aggregate.
pub const BINS: usize = 16;
/// How often a reader tries: a writer holds either copy for a few nanoseconds.
const TRIES: usize = 64;

/// The durations that each bin counts: bin 0 those below 2^lo ns, bin i those below 2^(lo +
/// i·step), and the last bin all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins {
    lo: u32,
    step_shift: u32,
}

impl Default for Bins {
    fn default() -> Self {
        Bins::USUAL
    }
}

impl Bins {
    /// From 256 ns by factors of four to 69 s.
    pub const USUAL: Bins = Bins {
        lo: 8,
        step_shift: 1,
    };

    /// `step` is a power of two up to 32, so that a shift finds the bin; `lo` is at most 63.
    pub const fn new(lo: u32, step: u32) -> Option<Self> {
        if lo < u64::BITS && step.is_power_of_two() && step <= 32 {
            let step_shift = step.trailing_zeros();
            return Some(Bins { lo, step_shift });
        }
        None
    }

    /// log2 of the bound of bin 0.
    pub const fn lo(self) -> u32 {
        self.lo
    }

    /// log2 of the factor from one bound to the next.
    pub const fn step(self) -> u32 {
        1 << self.step_shift
    }

    /// The bin that counts this duration.
    #[inline]
    pub const fn of(self, ns: u64) -> usize {
        let in_bounds = ns >> self.lo; // the duration in units of bin 0
        let steps = (in_bounds | 1).ilog2() >> self.step_shift;
        let bin = steps + (in_bounds != 0) as u32;
        let last = BINS as u32 - 1;
        (if bin < last { bin } else { last }) as usize
    }
}

impl Header {
    /// The bins of this recording, if it keeps aggregates.
    pub fn bins(&self) -> Option<Bins> {
        let mode = self.lane_mode.load(Ordering::Relaxed);
        let lo = self.bin_lo.load(Ordering::Relaxed);
        let step = self.bin_step.load(Ordering::Relaxed);
        Bins::new(lo, step).filter(|_| mode == MODE_FLIGHT || mode == MODE_SUMMARY)
    }

    /// Whether this is the memory of a flight recorder.
    pub fn is_flight(&self) -> bool {
        self.lane_mode.load(Ordering::Relaxed) == MODE_FLIGHT
    }
}

/// Value of `lane_mode`: slots and lanes.
pub const MODE_HISTORY: u32 = 0;
/// Value of `lane_mode`: slots, lanes that overwrite old records, and aggregates.
pub const MODE_FLIGHT: u32 = 1;
/// Value of `lane_mode`: slots and aggregates.
pub const MODE_SUMMARY: u32 = 2;

/// Statistics of many durations. With `count` 0 there is no data, and the other fields have no
/// meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    /// Number of durations.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Number of durations in each of the [`Bins`]; 2^32 − 1 means that many or more.
    pub bins: [u32; BINS],
}

/// A statistic of a station, with both of its copies.
#[derive(Clone, Copy, Debug)]
pub struct Latched<'m> {
    latch: &'m AtomicU32,
    a: &'m Aggregate,
    b: &'m Aggregate,
}

impl<'m> Latched<'m> {
    /// A latch and its two copies.
    pub fn new(latch: &'m AtomicU32, a: &'m Aggregate, b: &'m Aggregate) -> Self {
        Latched { latch, a, b }
    }

    /// Owner, never nested in another of these calls: counts a duration. Returns false, and
    /// does nothing, if an update of this aggregate is in progress.
    #[inline(always)]
    pub fn add(&self, ns: u64, bins: Bins) -> bool {
        let idle = self.latch.load(Ordering::Relaxed);
        if !idle.is_multiple_of(4) {
            return false;
        }
        let sums = self.a.plus(ns, bins.of(ns));
        if self.a.is_within(ns) {
            self.update(idle, &sums, |_| ());
        } else {
            update_beyond(self.latch, self.a, self.b, ns, bins);
        }
        true
    }

    /// Writes these sums to both copies, and applies `more` to each.
    #[inline(always)]
    fn update(&self, idle: u32, sums: &Sums, more: impl Fn(&Aggregate)) {
        fence(Ordering::Release); // U1, pairs with X1
        self.latch.store(idle.wrapping_add(1), Ordering::Relaxed); // U2
        fence(Ordering::Release); // U3, pairs with X3
        self.a.store(sums);
        more(self.a);
        self.latch.store(idle.wrapping_add(2), Ordering::Release); // U4, pairs with X1
        fence(Ordering::Release); // U5, pairs with X3
        self.b.store(sums);
        more(self.b);
        self.latch.store(idle.wrapping_add(4), Ordering::Release); // U6
    }

    /// New owner, while nothing reads: empties both copies. The latch continues from any value.
    pub fn clear(&self) {
        self.a.clear();
        self.b.clear();
        let latch = self.latch.load(Ordering::Relaxed);
        let idle = (latch | 3).wrapping_add(1);
        self.latch.store(idle, Ordering::Relaxed);
    }

    /// Reader: returns the statistics, or `None` if the writer interfered in every try.
    pub fn read(&self) -> Option<Durations> {
        (0..TRIES).find_map(|_| self.read_once())
    }

    /// Tries once to read a whole copy.
    pub fn read_once(&self) -> Option<Durations> {
        let before = self.latch.load(Ordering::Acquire); // X1, pairs with U1 and U4
        let copy = if before % 2 == 1 { self.b } else { self.a };
        let durations = copy.load(); // X2
        fence(Ordering::Acquire); // X3, pairs with U3 and U5
        let after = self.latch.load(Ordering::Relaxed); // X4
        let ended = before % 4 == 2 && after == before.wrapping_add(2);
        (after == before || ended).then_some(durations)
    }
}

/// Updates both copies by a duration that is shorter or longer than all before. The sums are computed
/// again, so that the arguments fit into registers: arguments passed in memory would be written there
/// by every update.
#[cold]
#[inline(never)]
fn update_beyond(latch: &AtomicU32, a: &Aggregate, b: &Aggregate, ns: u64, bins: Bins) {
    let idle = latch.load(Ordering::Relaxed);
    let sums = a.plus(ns, bins.of(ns));
    Latched::new(latch, a, b).update(idle, &sums, |copy| copy.widen(ns));
}

/// New values for the words of a copy that each update changes.
struct Sums {
    count: u64,
    sum: u64,
    bin: usize,
    in_bin: u32,
}

impl Aggregate {
    #[inline(always)]
    fn plus(&self, ns: u64, bin: usize) -> Sums {
        let in_bin = self.bins[bin].load(Ordering::Relaxed);
        Sums {
            count: self.count.load(Ordering::Relaxed).wrapping_add(1),
            sum: self.sum.load(Ordering::Relaxed).wrapping_add(ns),
            bin,
            in_bin: in_bin.saturating_add(1),
        }
    }

    #[inline(always)]
    fn store(&self, sums: &Sums) {
        self.count.store(sums.count, Ordering::Relaxed);
        self.sum.store(sums.sum, Ordering::Relaxed);
        self.bins[sums.bin].store(sums.in_bin, Ordering::Relaxed);
    }

    /// Whether the duration is neither a new minimum nor a new maximum.
    #[inline(always)]
    fn is_within(&self, ns: u64) -> bool {
        let (min, max) = (&self.min, &self.max);
        min.load(Ordering::Relaxed) <= ns && ns <= max.load(Ordering::Relaxed)
    }

    fn widen(&self, ns: u64) {
        let (min, max) = (&self.min, &self.max);
        min.store(min.load(Ordering::Relaxed).min(ns), Ordering::Relaxed);
        max.store(max.load(Ordering::Relaxed).max(ns), Ordering::Relaxed);
    }

    fn load(&self) -> Durations {
        Durations {
            count: self.count.load(Ordering::Relaxed),
            sum_ns: self.sum.load(Ordering::Relaxed),
            min_ns: self.min.load(Ordering::Relaxed),
            max_ns: self.max.load(Ordering::Relaxed),
            bins: core::array::from_fn(|bin| self.bins[bin].load(Ordering::Relaxed)),
        }
    }

    fn clear(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.sum.store(0, Ordering::Relaxed);
        self.min.store(u64::MAX, Ordering::Relaxed);
        self.max.store(0, Ordering::Relaxed);
        for bin in &self.bins {
            bin.store(0, Ordering::Relaxed);
        }
    }
}

impl Station {
    /// Waits that ended in a run.
    pub fn waiting(&self) -> Latched<'_> {
        Latched::new(&self.latch_waiting, &self.waiting_a, &self.waiting_b)
    }

    /// Runs that ended.
    pub fn running(&self) -> Latched<'_> {
        Latched::new(&self.latch_running, &self.running_a, &self.running_b)
    }

    /// Owner, when a coroutine moves in: resets the statistics. `generation` is odd during the
    /// call.
    pub(crate) fn clear_aggregates(&self) {
        self.waiting().clear();
        self.running().clear();
    }

    /// Owner: `ns` passed between the previous event, of kind `before`, and this event. A wait that
    /// ends in a death was cancelled and is not counted. The event before a birth belongs to
    /// another coroutine. Where events were dropped, the time is not known.
    #[inline(always)]
    pub(crate) fn account(&self, before: u8, kind: u8, ns: u64, bins: Bins) {
        const BIRTH: u8 = EventKind::Birth as u8;
        const RUN: u8 = EventKind::Run as u8;
        const SUSPEND: u8 = EventKind::Suspend as u8;
        const DEATH: u8 = EventKind::Death as u8;
        if kind == BIRTH || kind & AFTER_FILTERED != 0 {
            return;
        }
        let durations = match before & !AFTER_FILTERED {
            RUN => self.running(),
            SUSPEND if kind != DEATH => self.waiting(),
            _ => return,
        };
        durations.add(ns, bins);
    }

    /// Recorder: whether the probe keeps aggregates of this coroutine, and the coroutine has not
    /// ended. A probe that keeps no aggregates leaves zeros in their words.
    pub fn is_counting(&self) -> bool {
        let Aggregate { count, min, .. } = &self.waiting_a;
        let is_kept = min.load(Ordering::Relaxed) != 0 || count.load(Ordering::Relaxed) != 0;
        is_kept && !self.has_ended()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const BIRTH: u8 = EventKind::Birth as u8;
    const RUN: u8 = EventKind::Run as u8;
    const SUSPEND: u8 = EventKind::Suspend as u8;

    /// A station with an owner that died within an update, after `step` of three steps.
    fn station_with_torn_update(station: &Station, step: u32) {
        station.running().add(5, Bins::USUAL);
        station.latch_running.store(4 + step, Ordering::Relaxed);
        let torn = if step == 1 {
            &station.running_a
        } else {
            &station.running_b
        };
        torn.sum.store(77, Ordering::Relaxed);
    }

    // AGG-06, AGG-21
    #[test]
    fn torn_update_is_readable_and_a_new_owner_resets() {
        for step in [1, 2] {
            let station = Station::default();
            station_with_torn_update(&station, step);
            let left = station
                .running()
                .read()
                .map(|durations| (durations.count, durations.sum_ns));
            assert_eq!(left, Some((1, 5)));
            station.clear_aggregates();
            let latch = station.latch_running.load(Ordering::Relaxed);
            assert_eq!(latch, 8, "the latch continues");
            station.account(RUN, BIRTH, 1000, Bins::USUAL);
            assert_eq!(
                station.running().read().map(|durations| durations.count),
                Some(0)
            );
            station.account(BIRTH, RUN, 1000, Bins::USUAL);
            station.account(RUN, SUSPEND, 9, Bins::USUAL);
            for copy in [&station.running_a, &station.running_b] {
                let found = copy.load();
                assert_eq!(
                    (found.count, found.sum_ns, found.min_ns, found.max_ns),
                    (1, 9, 9, 9)
                );
            }
        }
    }

    // LT-11
    #[test]
    fn time_around_dropped_events_is_not_counted() {
        let station = Station::default();
        station.clear_aggregates();
        station.account(RUN, SUSPEND | AFTER_FILTERED, 1000, Bins::USUAL);
        station.account(SUSPEND, RUN | AFTER_FILTERED, 1000, Bins::USUAL);
        assert_eq!(
            station.running().read().map(|durations| durations.count),
            Some(0)
        );
        assert_eq!(
            station.waiting().read().map(|durations| durations.count),
            Some(0)
        );
        station.account(RUN | AFTER_FILTERED, SUSPEND, 7, Bins::USUAL);
        assert_eq!(
            station.running().read().map(|durations| durations.sum_ns),
            Some(7)
        );
    }

    // AGG-23
    #[test]
    fn nested_update_is_rejected() {
        for step in [1, 2, 3] {
            let station = Station::default();
            station.clear_aggregates();
            station.latch_waiting.store(step, Ordering::Relaxed);
            assert!(!station.waiting().add(3, Bins::USUAL));
            assert_eq!(station.latch_waiting.load(Ordering::Relaxed), step);
            assert_eq!(station.waiting_a.load().count, 0);
            assert_eq!(station.waiting_b.load().count, 0);
        }
    }

    // AGG-14
    #[test]
    fn bins_saturate_and_the_latch_wraps() {
        let station = Station::default();
        station.clear_aggregates();
        station.latch_running.store(u32::MAX - 3, Ordering::Relaxed);
        station.running_a.bins[0].store(u32::MAX, Ordering::Relaxed);
        assert!(station.running().add(1, Bins::USUAL));
        assert_eq!(station.latch_running.load(Ordering::Relaxed), 0);
        let found = station.running().read().expect("no writer is active");
        assert_eq!((found.count, found.bins[0]), (1, u32::MAX));
    }
}
