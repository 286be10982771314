//! The seqlock of a slot.

use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::layout::{Compact, Full, Layout, SequenceU64, Slot, Station};
use ctp_nostd::slot::{
    self, Epoch, SlotReading, Tail, event_in, event_of, final_seq, final_seq_in,
};
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;

use crate::check;

/// An event in which every word shows the event's number.
fn event(n: u64) -> Epoch {
    Epoch {
        timestamp: n + 1,
        tid: n + 2,
        addr: n + 3,
        site: n + 4,
        arg: n + 5,
        generation: n as u32 + 6,
        tail: Tail {
            wake_seen: n as u16 + 7,
            ..Tail::default()
        },
    }
}

// CTP-06
#[test]
#[cfg_attr(ctp_split_words, ignore = "takes hours: a slot of halves has 16 words")]
fn a_snapshot_is_a_single_event() {
    is_a_single_event::<Full>();
}

// CTP-06, CTP-27
#[test]
#[cfg_attr(ctp_split_words, ignore = "takes hours: a slot of halves has 16 words")]
fn a_snapshot_of_a_compact_station_is_a_single_event() {
    is_a_single_event::<Compact>();
}

fn is_a_single_event<L: Layout>() {
    let next_lap = L::SLOTS;
    check(move || {
        let slot = Arc::new(Slot::default());
        let written = Arc::clone(&slot);
        let writer = thread::spawn(move || {
            slot::publish_in::<L>(&written, 0, &event(0));
            slot::publish_in::<L>(&written, next_lap, &event(next_lap));
        });
        let last = (final_seq_in::<L>(next_lap), event(next_lap));
        match slot::read(&slot) {
            SlotReading::Whole(seq, epoch) if seq == final_seq(0) => assert_eq!(epoch, event(0)),
            SlotReading::Whole(seq, epoch) => assert_eq!((seq, epoch), last),
            SlotReading::Writing(odd) => assert!([1, 3].contains(&odd)),
            SlotReading::Empty | SlotReading::Changed => {}
        }
        writer.join().expect("a writer does not panic");
    });
}

fn fetch_returns_the_event_or_a_reason(n: u64) {
    check(move || {
        let station = Arc::new(Station::default());
        slot::publish(station.slot_of(0), 0, &event(0));
        let written = Arc::clone(&station);
        let writer = thread::spawn(move || {
            slot::publish(written.slot_of(8), 8, &event(8));
        });
        match Dialect::PerSlot.fetch(&station, n) {
            Fetched::Whole(epoch) => assert_eq!(epoch, event(n)),
            Fetched::Overwritten(oldest) => assert_eq!((n, oldest), (0, 1)),
            Fetched::NotYet | Fetched::Torn => assert_eq!(n, 8),
        }
        writer.join().expect("a writer does not panic");
    });
}

// CTP-06, CTP-09, CTP-11
#[test]
#[cfg_attr(ctp_split_words, ignore = "takes hours: a slot of halves has 16 words")]
fn event_is_fetched_before_being_overwritten() {
    fetch_returns_the_event_or_a_reason(0);
}

// CTP-06, CTP-09
#[test]
#[cfg_attr(ctp_split_words, ignore = "takes hours: a slot of halves has 16 words")]
fn event_is_fetched_once_complete() {
    fetch_returns_the_event_or_a_reason(8);
}

/// A slot with two words of payload, with or without either fence of the real slot.
#[derive(Default)]
struct Pair {
    seq: SequenceU64,
    payload: [AtomicU32; 2],
}

impl Pair {
    fn publish<L: Layout>(&self, n: u64, with_fence: bool) {
        let last = final_seq_in::<L>(n);
        self.seq.begin(last - 1);
        if with_fence {
            fence(Release);
        }
        let lap = (n / L::SLOTS) as u32;
        self.payload
            .iter()
            .for_each(|word| word.store(lap, Relaxed));
        self.seq.store(last, Release);
    }

    fn snapshot(&self, with_fence: bool) -> Option<(u64, [u32; 2])> {
        let before = self.seq.load(Acquire);
        let payload = [0, 1].map(|i| self.payload[i].load(Relaxed));
        if with_fence {
            fence(Acquire);
        }
        let after = self.seq.load(Relaxed);
        (before != 0 && before % 2 == 0 && before == after).then_some((before, payload))
    }
}

/// Writes two events, of which the second is a lap later.
fn pair_is_never_torn<L: Layout>(first: u64, writer_fence: bool, reader_fence: bool) {
    check(move || {
        let slot = Arc::new(Pair::default());
        slot.publish::<L>(first, writer_fence);
        let written = Arc::clone(&slot);
        let writer = thread::spawn(move || written.publish::<L>(first + L::SLOTS, writer_fence));
        if let Some((seq, payload)) = slot.snapshot(reader_fence) {
            let n = event_in::<L>(0, seq);
            assert_eq!([(n / L::SLOTS) as u32; 2], payload, "torn");
        }
        writer.join().expect("a writer does not panic");
    });
}

#[test]
fn simplified_slot_is_sound() {
    pair_is_never_torn::<Full>(0, true, true);
    pair_is_never_torn::<Compact>(0, true, true);
}

/// The sequence passes 2^32 from the first event to the second.
// CTP-27
#[test]
fn simplified_slot_is_sound_at_the_crossing() {
    let before = (1 << 32) - 2;
    pair_is_never_torn::<Full>(event_of(0, before), true, true);
    pair_is_never_torn::<Compact>(event_in::<Compact>(0, before), true, true);
}

#[test]
#[should_panic = "torn"]
fn without_the_writers_fence_a_slot_tears() {
    pair_is_never_torn::<Full>(0, false, true);
}

#[test]
#[should_panic = "torn"]
fn without_the_readers_fence_a_slot_tears() {
    pair_is_never_torn::<Full>(0, true, false);
}
