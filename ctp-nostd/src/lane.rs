//! Lanes: one ring of records a thread, so that history is whole. Both halves.
//!
//! ```text
//!   the thread (and its signal handlers)        the recorder
//!   T1 head -> h            (relaxed)           R1 head -> limit                  (relaxed)
//!   T2 tail -> t            (acquire, R5)       R2 ring[r].commit -> lap of r?    (acquire, T6)
//!      full if h - t = length: lost += 1           else nobody has committed it yet: stop
//!   T3 what time is it                          R3 payload -> copy                (relaxed)
//!   T4 head: h -> h + 1     (one instruction)   R4 r += 1, to R2 while r < limit
//!      else a handler came between: T1          R5 tail = r                       (release)
//!   T5 ring[h].payload      (relaxed)
//!   T6 ring[h].commit       (release)
//! ```
//! The time is read before the place is taken, and anew if a handler took it, so a lane's times
//! never go back. A place that was taken is always filled, unless the thread dies first: then
//! [`Ring::is_abandoned`] tells, once another thread has the lane. Nobody ever waits; a record for
//! which there is no room is counted.

use crate::layout::{Lane, LaneRecord, MOST_STATIONS};
use crate::site::SiteWord;
use crate::sync::Ordering;
use crate::unlocked;

/// Kind of the record that says: from here on the lane is another thread's. Smaller kinds are
/// those of [`EventKind`](crate::slot::EventKind).
pub const THREAD_BEGINS: u8 = 7;

/// One record, without its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// An [`EventKind`](crate::slot::EventKind), or [`THREAD_BEGINS`].
    pub kind: u8,
    /// A [`crate::WaitKind`].
    pub wait_kind: u8,
    /// Low bits of the station's use.
    pub uses: u8,
    /// Which station.
    pub station: u32,
    /// Low bits of the event's index, as many as [`n_bits`](Payload::n_bits) says.
    pub n: u64,
    /// A site word.
    pub site: u64,
    /// By kind, see `LAYOUT.md`.
    pub arg: u64,
}

const STATION_BITS: u32 = MOST_STATIONS.ilog2();
const LAPS: u64 = (1 << 15) - 1;
const LAP_SHIFT: u32 = 49;
const KIND_SHIFT: u32 = 44;
const N_SHIFT: u32 = 28;
const N_BITS: u32 = 16;
const WAIT_SHIFT: u32 = 56;
/// In a site word that is an id, or none, these bits hold more of the event's index.
const MORE_N_SHIFT: u32 = 32;
const MORE_N_BITS: u32 = WAIT_SHIFT - MORE_N_SHIFT;

impl Payload {
    /// How many bits of the event's index it has.
    pub const fn n_bits(&self) -> u32 {
        match SiteWord(self.site).address() {
            Some(_) => N_BITS,
            None => N_BITS + MORE_N_BITS,
        }
    }

    const fn to_commit(self, lap: u64) -> u64 {
        lap << LAP_SHIFT
            | ((self.kind % 32) as u64) << KIND_SHIFT
            | low_bits(self.n, N_BITS) << N_SHIFT
            | (self.uses as u64) << STATION_BITS
            | (self.station % MOST_STATIONS) as u64
    }

    const fn to_site(self) -> u64 {
        let wait = low_bits(self.wait_kind as u64, 7) << WAIT_SHIFT;
        match SiteWord(self.site).address() {
            Some(address) => low_bits(address, WAIT_SHIFT) | wait,
            None => {
                let more = low_bits(self.n >> N_BITS, MORE_N_BITS) << MORE_N_SHIFT;
                IS_ID | wait | more | low_bits(self.site, MORE_N_SHIFT)
            }
        }
    }

    const fn from_words(commit: u64, site: u64, arg: u64) -> Self {
        let is_id = site & IS_ID != 0;
        let more = if is_id {
            low_bits(site >> MORE_N_SHIFT, MORE_N_BITS)
        } else {
            0
        };
        Payload {
            kind: low_bits(commit >> KIND_SHIFT, 5) as u8,
            wait_kind: low_bits(site >> WAIT_SHIFT, 7) as u8,
            uses: (commit >> STATION_BITS) as u8,
            station: low_bits(commit, STATION_BITS) as u32,
            n: low_bits(commit >> N_SHIFT, N_BITS) | more << N_BITS,
            site: match is_id {
                true => SiteWord::from_id(site as u32).0,
                false => low_bits(site, WAIT_SHIFT),
            },
            arg,
        }
    }
}

/// Bit 63 of a site word.
const IS_ID: u64 = SiteWord::from_id(1).0 & !1;

const fn low_bits(word: u64, bits: u32) -> u64 {
    word & ((1 << bits) - 1)
}

/// A lane and its records, as many as a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'m> {
    lane: &'m Lane,
    records: &'m [LaneRecord],
}

impl<'m> Ring<'m> {
    /// Of as many records as a power of two.
    pub fn new(lane: &'m Lane, records: &'m [LaneRecord]) -> Self {
        Ring { lane, records }
    }

    fn length(&self) -> u64 {
        self.records.len() as u64
    }

    #[inline]
    fn place(&self, at: u64) -> Option<&'m LaneRecord> {
        self.records
            .get(at as usize & self.records.len().wrapping_sub(1))
    }

    #[inline]
    fn lap(&self, at: u64) -> u64 {
        (at >> self.length().trailing_zeros()) % LAPS + 1
    }

    /// The thread: takes the next place. Gives the time, and the place if there is one.
    #[inline]
    pub fn reserve(&self, now: impl Fn() -> u64) -> (u64, Option<u64>) {
        loop {
            let head = self.lane.head.load(Ordering::Relaxed); // T1
            let tail = self.lane.tail.load(Ordering::Acquire); // T2, pairs with R5
            let at = now(); // T3
            if head.wrapping_sub(tail) >= self.length() {
                self.count_lost();
                return (at, None);
            }
            if unlocked::exchange(&self.lane.head, head, head.wrapping_add(1)) {
                return (at, Some(head)); // T4
            }
        }
    }

    /// The thread: fills in what [`reserve`](Ring::reserve) gave.
    #[inline]
    pub fn commit(&self, place: u64, at: u64, payload: Payload) {
        let Some(record) = self.place(place) else {
            return;
        };
        record.at.store(at, Ordering::Relaxed); // T5
        record.site.store(payload.to_site(), Ordering::Relaxed);
        record.arg.store(payload.arg, Ordering::Relaxed);
        let commit = payload.to_commit(self.lap(place));
        record.commit.store(commit, Ordering::Release); // T6, pairs with R2
    }

    /// Handlers count here too.
    #[cold]
    fn count_lost(&self) {
        self.lane.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Recorder: how many records were reserved. What each says is read with [`read`](Ring::read).
    pub fn head(&self) -> u64 {
        self.lane.head.load(Ordering::Relaxed) // R1
    }

    /// Recorder: how many records it has said that it read.
    pub fn tail(&self) -> u64 {
        self.lane.tail.load(Ordering::Relaxed)
    }

    /// Recorder: how many records there is room for.
    pub fn capacity(&self) -> u64 {
        self.length()
    }

    /// Recorder: records that found no room, modulo 2^32.
    pub fn lost(&self) -> u32 {
        self.lane.lost.load(Ordering::Relaxed)
    }

    /// Recorder: has a thread ever had it?
    pub fn is_used(&self) -> bool {
        self.lane.thread.load(Ordering::Relaxed) != 0
    }

    /// Recorder: the time and payload of this record, once it is committed.
    #[inline]
    pub fn read(&self, at: u64) -> Option<(u64, Payload)> {
        let record = self.place(at)?;
        let commit = record.commit.load(Ordering::Acquire); // R2, pairs with T6
        if commit >> LAP_SHIFT != self.lap(at) {
            return None;
        }
        let payload = Payload::from_words(
            commit,
            record.site.load(Ordering::Relaxed), // R3
            record.arg.load(Ordering::Relaxed),
        );
        Some((record.at.load(Ordering::Relaxed), payload))
    }

    /// Recorder: was this record, which nobody has committed, reserved by a thread that is gone?
    /// So it is if a later one says that another thread has the lane.
    pub fn is_abandoned(&self, at: u64, limit: u64) -> bool {
        let later = (at.wrapping_add(1)..limit).take(self.records.len());
        let is_start = |(_, payload): (u64, Payload)| payload.kind == THREAD_BEGINS;
        later.filter_map(|at| self.read(at)).any(is_start)
    }

    /// Recorder: all before this one may be overwritten.
    pub fn release(&self, tail: u64) {
        self.lane.tail.store(tail, Ordering::Release); // R5, pairs with T2
    }
}

/// How many lanes that are in use are asked for while there are others that nobody has had: to
/// ask whether a thread is gone takes a system call.
const ASKED_AT_MOST: usize = 16;

/// A thread without a lane takes one: that of a thread that is gone, else one that nobody had.
/// `is_gone` tells of a thread of this process; `introduce` says in the lane whose it is now, if
/// there is room for that.
pub fn claim(
    lanes: &[Lane],
    thread: u32,
    is_gone: impl Fn(u32) -> bool,
    introduce: impl Fn(usize) -> bool,
) -> Option<usize> {
    let is_used = |(_, lane): &(usize, &Lane)| lane.thread.load(Ordering::Relaxed) != 0;
    let all = || lanes.iter().enumerate();
    let asked_at_once = all().take(ASKED_AT_MOST).filter(is_used);
    let fresh = all().filter(|lane| !is_used(lane));
    let asked_at_last = all().skip(ASKED_AT_MOST).filter(is_used);
    asked_at_once
        .chain(fresh)
        .chain(asked_at_last)
        .find(|(index, lane)| take(lane, thread, &is_gone) && introduce(*index))
        .map(|(index, _)| index)
}

/// Exactly one of those who want it gets it.
fn take(lane: &Lane, thread: u32, is_gone: &impl Fn(u32) -> bool) -> bool {
    let holder = lane.thread.load(Ordering::Relaxed);
    let is_free = holder == 0 || holder == thread || is_gone(holder);
    is_free
        && lane
            .thread
            .compare_exchange(holder, thread, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn round_trip(payload: Payload) -> Payload {
        Payload::from_words(payload.to_commit(1), payload.to_site(), payload.arg)
    }

    // LT-07
    #[test]
    fn a_record_says_what_was_put_into_it() {
        let payload = Payload {
            kind: crate::slot::EventKind::Suspend as u8,
            wait_kind: 8,
            uses: 255,
            station: MOST_STATIONS - 1,
            n: (1 << 40) - 2,
            site: SiteWord::from_id(u32::MAX).0,
            arg: u64::MAX,
        };
        assert_eq!(round_trip(payload), payload);
        let nowhere = Payload { site: 0, ..payload };
        assert_eq!(round_trip(nowhere), nowhere);
        let address = Payload {
            n: 65_535,
            site: 0x7fff_ffff_f000,
            ..payload
        };
        assert_eq!(round_trip(address), address);
        assert_eq!((payload.n_bits(), address.n_bits()), (40, 16));
    }
}
