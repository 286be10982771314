//! Copies of stations for the recorder. A copy stays the same while the program goes on writing to the
//! station.

use crate::memory::layout::{EXT_REV, SLOTS, Slot, StandaloneU64, Station};
use crate::protocol::slot::{self, Epoch};
use crate::sync::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Declares what is copied of a station apart from its slots, in the order in which the words are
/// read.
macro_rules! words {
    ($($field:ident: $word:ident in $atomic:ident),+ $(,)?) => {
        /// The words of a station at one moment, without its slots and its statistics.
        #[derive(Clone, Debug, Default)]
        pub struct StationWords { $($field: $word),+ }

        impl StationWords {
            /// Copies the words of a station.
            pub fn of(station: &Station) -> Self {
                StationWords { $($field: station.$field.load(Ordering::Acquire)),+ }
            }

            fn restore(&self) -> Station {
                Station {
                    $($field: $atomic::new(self.$field),)+
                    ..Station::default()
                }
            }
        }
    };
}

words! {
    // A coroutine is marked as dead after its last event, so this word is read before the events.
    is_dead: u8 in AtomicU8,
    event_head: u64 in StandaloneU64,
    generation: u32 in AtomicU32,
    probe_id: u64 in AtomicU64,
    birth_ts: u64 in AtomicU64,
    ext_rev: u8 in AtomicU8,
    flags: u8 in AtomicU8,
    kind: u8 in AtomicU8,
    owner: u32 in AtomicU32,
    meta: u32 in AtomicU32,
    base_n: u64 in AtomicU64,
    state: u32 in AtomicU32,
    begun: u32 in AtomicU32,
    dropped_filtered: u32 in AtomicU32,
    dropped_nested: u32 in AtomicU32,
    // `Station::wakers` and `Station::wakes` require this order.
    wakers_live: u32 in AtomicU32,
    wake: u32 in AtomicU32,
    waker: u32 in AtomicU32,
    wake_ts: u64 in StandaloneU64,
}

/// The slots of a station at one moment: the sequence number and the event of each.
#[derive(Clone, Debug)]
pub struct SlotCopies([(u64, Epoch); SLOTS]);

impl SlotCopies {
    /// Copies the slots. A slot that changes all the time is copied as empty.
    pub fn of(station: &Station) -> Self {
        SlotCopies(core::array::from_fn(|index| copy(&station.slots()[index])))
    }

    /// Subtracts `by_ns` from the times of all events.
    pub fn move_back(&mut self, by_ns: i64) {
        for (_, epoch) in &mut self.0 {
            epoch.timestamp = moved_back(epoch.timestamp, by_ns);
        }
    }
}

impl StationWords {
    /// When the coroutine was last woken, and the word that says by which coroutine or thread, see
    /// [`WokenBy`](crate::protocol::inspect::WokenBy).
    pub fn waker(&self) -> (u64, u32) {
        (self.wake_ts, self.waker)
    }

    /// Replaces the word that says which coroutine or thread last woke this coroutine.
    pub fn set_waker(&mut self, word: u32) {
        self.waker = word;
    }

    /// Subtracts `by_ns` from the time of the latest wake.
    pub fn move_wake_back(&mut self, by_ns: i64) {
        self.wake_ts = moved_back(self.wake_ts, by_ns);
    }

    /// Replaces the words that distinguish the coroutines of a station: generation and birth time.
    /// Without a generation, the station belongs to a v1 peer.
    pub fn set_identity(&mut self, generation: Option<u32>, birth_ts: u64) {
        self.birth_ts = birth_ts;
        self.ext_rev = generation.map_or(0, |_| EXT_REV);
        self.generation = generation.unwrap_or(0);
    }

    /// Replaces the number of events.
    pub fn set_event_head(&mut self, event_head: u64) {
        self.event_head = event_head;
    }

    /// Builds a station with the copied words. Without slots, the station has no events.
    pub fn to_station(&self, slots: Option<&SlotCopies>) -> Station {
        let station = self.restore();
        let slots = slots.iter().flat_map(|slots| slots.0.iter());
        for ((seq, epoch), slot) in slots.zip(station.slots()) {
            slot::restore(slot, *seq, epoch);
        }
        station
    }
}

/// 0 means an unknown time, and stays 0.
fn moved_back(at_ns: u64, by_ns: i64) -> u64 {
    match at_ns {
        0 => 0,
        _ => at_ns.saturating_add_signed(by_ns.saturating_neg()),
    }
}

/// How often a slot that changes during the read is read.
const TRIES: usize = 4;

fn copy(slot: &Slot) -> (u64, Epoch) {
    for _ in 0..TRIES {
        let (before, epoch, after) = slot::copy(slot);
        if before == after {
            return (before, epoch);
        }
    }
    (0, Epoch::default())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::protocol::slot::SlotReading;

    fn station() -> Station {
        let station = Station::default();
        station.is_dead.store(1, Ordering::Relaxed);
        station.generation.store(6, Ordering::Relaxed);
        station.wake_ts.store(17, Ordering::Relaxed);
        for n in 0..10 {
            let epoch = Epoch {
                timestamp: 100 + n,
                ..Epoch::default()
            };
            slot::publish(station.slot_of(n), n, &epoch);
        }
        station
    }

    // LT-21
    #[test]
    fn copy_equals_the_station() {
        let station = station();
        let slots = SlotCopies::of(&station);
        let copy = StationWords::of(&station).to_station(Some(&slots));
        assert_eq!(copy.identity(), station.identity());
        assert_eq!(copy.wakes(), station.wakes());
        for n in 2..10 {
            let [copied, original] =
                [&copy, &station].map(|station| slot::read(station.slot_of(n)));
            assert_eq!(copied, original);
            assert!(matches!(copied, SlotReading::Whole(_, epoch) if epoch.timestamp == 100 + n));
        }
    }

    // LT-21
    #[test]
    fn copy_without_slots_has_empty_slots() {
        let mut words = StationWords::of(&station());
        words.set_event_head(10);
        let copy = words.to_station(None);
        assert_eq!(copy.event_head(), 10);
        assert_eq!(slot::read(copy.slot_of(9)), SlotReading::Empty);
    }
}
