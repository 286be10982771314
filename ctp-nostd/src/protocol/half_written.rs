//! Repairs a dump: replaces words that a writer without atomics of 64 bits left half-written. The
//! protocol of these words is in `sync/split.rs`.

use crate::memory::RegionOf;
use crate::memory::layout::{CHANGING, Layout, StandaloneU64, StationOf};
use crate::protocol::slot::event_in;
use crate::sync::Ordering;

/// Replaces each word of a copied memory that a writer left half-written, so that a reader of whole
/// words can read the copy. Memory of other writers stays as it is. No other thread may access the
/// memory.
pub fn repair<L: Layout>(region: &RegionOf<'_, L>) {
    region.allocated().iter().for_each(repair_station);
}

/// An unknown time is 0. The head is known from the slots: its last event is complete, and is the
/// newest event.
fn repair_station<L: Layout>(station: &StationOf<L>) {
    if is_half_written(&station.event_head) {
        let head = newest_event(station).map_or(0, |n| n.wrapping_add(1));
        station.event_head.store(head, Ordering::Relaxed);
    }
    for time in [&station.wake_ts, &station.last_ts] {
        if is_half_written(time) {
            time.store(0, Ordering::Relaxed);
        }
    }
}

fn is_half_written(word: &StandaloneU64) -> bool {
    let value = word.load(Ordering::Relaxed);
    (value >> 32) as u32 == CHANGING
}

/// The newest event of a station that is complete.
fn newest_event<L: Layout>(station: &StationOf<L>) -> Option<u64> {
    let slots = station.slots().as_ref().iter();
    let seqs = slots
        .map(|slot| slot.seq.load(Ordering::Acquire))
        .enumerate();
    let complete = seqs.filter(|(_, seq)| *seq != 0 && seq.is_multiple_of(2));
    complete.map(|(index, seq)| event_in::<L>(index, seq)).max()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::Region;
    use crate::memory::layout::{Header, Station};
    use crate::protocol::slot::{self, Epoch};

    const CROSSING: u64 = 1 << 32;

    /// A station whose latest event is the last before the crossing.
    fn station(head: u64) -> Station {
        let station = Station::default();
        for n in CROSSING - 8..CROSSING {
            slot::publish(station.slot_of(n), n, &Epoch::default());
        }
        station.event_head.store(head, Ordering::Relaxed);
        station
    }

    fn repaired(station: Station) -> Station {
        let header = Header::default();
        header.allocated_count.store(1, Ordering::Relaxed);
        let stations = [station];
        repair(&Region::plain(&header, &stations));
        let [station] = stations;
        station
    }

    const fn half_written(low: u64) -> u64 {
        (CHANGING as u64) << 32 | low
    }

    // CTP-27
    #[test]
    fn half_written_head_is_read_from_the_slots() {
        for low in [u64::from(u32::MAX), 0] {
            let station = repaired(station(half_written(low)));
            assert_eq!(station.event_head(), CROSSING);
        }
    }

    // CTP-27
    #[test]
    fn half_written_times_are_unknown() {
        let station = station(CROSSING);
        station.wake_ts.store(half_written(7), Ordering::Relaxed);
        station.last_ts.store(half_written(7), Ordering::Relaxed);
        let station = repaired(station);
        assert_eq!((station.wakes().at_ns, station.latest_event_ns()), (0, 0));
    }

    // CTP-27
    #[test]
    fn whole_words_stay_as_they_are() {
        let station = station(CROSSING + 3);
        station.wake_ts.store(CROSSING + 1, Ordering::Relaxed);
        station.last_ts.store(CROSSING + 2, Ordering::Relaxed);
        let station = repaired(station);
        assert_eq!(station.event_head(), CROSSING + 3);
        assert_eq!(station.wakes().at_ns, CROSSING + 1);
        assert_eq!(station.latest_event_ns(), CROSSING + 2);
    }
}
