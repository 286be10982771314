//! Properties that hold for every value: event numbers, the words of a slot, the two dialects.
//!
//! The peers here are written from the text of the protocol: they use offsets, not the crate's
//! structs.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use ctp_nostd::dialect::{self, Dialect, Fetched};
use ctp_nostd::layout::{Compact, MAGIC, Slot, Station};
use ctp_nostd::site::SiteWord;
use ctp_nostd::slot::{
    self, Epoch, SlotReading, Tail, event_in, event_of, final_seq, final_seq_in, index_in, index_of,
};
use ctp_nostd::{Region, wake};
use ctp_trace::verdict::wakes_since;
use proptest::prelude::*;

// A memory with one station, as plain words.

#[repr(C, align(1024))]
struct Image([AtomicU64; 256]);

const STATION: usize = 1024 / 8;
const SLOT_0: usize = STATION + 0x40 / 8;
const SLOT: usize = 64 / 8;
const TIMESTAMP: usize = 0;
const TID: usize = 1;
const ADDR: usize = 2;
const SEQ: usize = 3;
const TAIL: usize = 7;
const ACTIVE: u64 = 1 << 56;

impl Image {
    fn new() -> Box<Self> {
        let image = Box::new(Image([const { AtomicU64::new(0) }; 256]));
        image.0[0].store(MAGIC, Ordering::Relaxed);
        image.0[1].store(1 | 1 << 32, Ordering::Relaxed); // version, stations
        image
    }

    fn word(&self, slot: usize, word: usize) -> &AtomicU64 {
        &self.0[SLOT_0 + slot * SLOT + word]
    }

    fn station(&self) -> &Station {
        self.region()
            .stations
            .first()
            .expect("the region has a station")
    }

    #[expect(unsafe_code, reason = "words of the test's own as a region")]
    fn region(&self) -> Region<'_> {
        let base = self.0.as_ptr().cast_mut().cast();
        // SAFETY: the words are borrowed for as long as the region, and are atomics.
        unsafe { Region::new(base, size_of::<Self>(), u32::MAX) }.expect("a cTP v1 memory")
    }
}

/// Payload of event `n`; each word shows the event's number.
fn payload(n: u64) -> [(usize, u64); 4] {
    let active = if n.is_multiple_of(2) { ACTIVE } else { 0 };
    [
        (TIMESTAMP, n + 1),
        (TID, n + 2),
        (ADDR, n + 3),
        (TAIL, active),
    ]
}

fn epoch(n: u64) -> Epoch {
    let tail = Tail {
        is_active: n.is_multiple_of(2),
        ..Tail::default()
    };
    Epoch {
        timestamp: n + 1,
        tid: n + 2,
        addr: n + 3,
        tail,
        ..Epoch::default()
    }
}

/// A store of a peer: slot, word, value.
type Store = (usize, usize, u64);

/// The stores of event `n`, in order.
fn stores(dialect: Dialect, n: u64) -> Vec<Store> {
    let (slot, first, last) = match dialect {
        Dialect::PerStation => ((n + 1) % 8, None, n + 1),
        Dialect::PerSlot => (n % 8, Some(2 * (n / 8) + 1), 2 * (n / 8) + 2),
    };
    let words = first.map(|odd| (SEQ, odd)).into_iter();
    let words = words.chain(payload(n)).chain([(SEQ, last)]);
    words
        .map(|(word, value)| (slot as usize, word, value))
        .collect()
}

fn apply(image: &Image, &(slot, word, value): &Store) {
    image.word(slot, word).store(value, Ordering::Release);
}

fn history(dialect: Dialect, events: u64) -> Vec<Store> {
    (0..events).flat_map(|n| stores(dialect, n)).collect()
}

const DIALECTS: [Dialect; 2] = [Dialect::PerStation, Dialect::PerSlot];

// CTP-12
#[test]
fn dialect_is_detected_after_any_store() {
    let mut states = 0;
    for dialect in DIALECTS {
        let image = Image::new();
        assert_eq!(dialect::of(image.station()), None);
        for store in history(dialect, 2000) {
            apply(&image, &store);
            let seqs = image.station().seqs();
            let expected = seqs.iter().any(|seq| *seq != 0).then_some(dialect);
            assert_eq!(dialect::detect(&seqs), expected, "{seqs:?}");
            assert_eq!(dialect::of(image.station()), expected);
            states += 1;
        }
    }
    assert!(states > 16_000);
}

/// Reads on from `next` until there are no more events; counts the events that it read and those
/// that were lost.
struct Reader {
    dialect: Dialect,
    next: u64,
    got: u64,
    lost: u64,
}

impl Reader {
    fn new(dialect: Dialect) -> Self {
        Reader {
            dialect,
            next: 0,
            got: 0,
            lost: 0,
        }
    }

    /// False if the next event is not available yet.
    fn step(&mut self, station: &Station) -> bool {
        match self.dialect.fetch(station, self.next) {
            Fetched::Whole(found) => {
                assert_eq!(found, epoch(self.next), "event {}", self.next);
                self.got += 1;
                self.next += 1;
            }
            Fetched::Overwritten(oldest) => {
                assert!(oldest > self.next);
                self.lost += oldest - self.next;
                self.next = oldest;
            }
            Fetched::NotYet | Fetched::Torn => return false,
        }
        true
    }

    fn drain(&mut self, station: &Station) {
        while self.step(station) {}
    }
}

proptest! {
    // CTP-06, CTP-11, CTP-12
    #[test]
    fn each_event_is_read_or_lost_in_any_interleaving(turns in prop::collection::vec(0..80_usize, 1..60)) {
        for dialect in DIALECTS {
            let (image, mut reader) = (Image::new(), Reader::new(dialect));
            let station = image.station();
            let mut written = 0;
            let mut stores = (0..).flat_map(|n| stores(dialect, n));
            for turn in &turns {
                for store in stores.by_ref().take(*turn) {
                    apply(&image, &store);
                    let completes = store.1 == SEQ
                        && (dialect == Dialect::PerStation || store.2.is_multiple_of(2));
                    written += u64::from(completes);
                }
                reader.step(station);
                prop_assert!(reader.next <= written);
            }
            reader.drain(station);
            prop_assert_eq!(reader.got + reader.lost, reader.next);
            prop_assert_eq!(reader.next, written);
        }
    }

    // CTP-29
    #[test]
    fn corrupt_number_blocks_only_briefly(
        events in 0..64_u64,
        slot in 0..8_usize,
        back in prop_oneof![1..9_u64, 1..1_u64 << 62],
    ) {
        for dialect in DIALECTS {
            let (image, mut reader) = (Image::new(), Reader::new(dialect));
            history(dialect, events).iter().for_each(|store| apply(&image, store));
            reader.drain(image.station());
            let seq = image.word(slot, SEQ);
            seq.store(seq.load(Ordering::Relaxed).wrapping_sub(back), Ordering::Relaxed);
            reader.drain(image.station());
            for n in events..events + 20 {
                stores(dialect, n).iter().for_each(|store| apply(&image, store));
            }
            reader.drain(image.station());
            prop_assert_eq!(reader.next, events + 20);
            prop_assert_eq!(reader.got + reader.lost, reader.next);
        }
    }

    // CTP-28
    #[test]
    fn any_words_are_read_without_panic(
        words in prop::collection::vec(any::<u64>(), 128),
        near in prop::array::uniform8(prop_oneof![any::<u64>(), 0..9_u64, (u64::MAX - 9)..=u64::MAX]),
        n in prop_oneof![any::<u64>(), 0..9_u64, (u64::MAX - 9)..=u64::MAX],
    ) {
        let image = Image::new();
        for (word, value) in image.0[STATION..].iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        for (slot, seq) in near.into_iter().enumerate() {
            image.word(slot, SEQ).store(seq, Ordering::Relaxed);
        }
        let station = image.station();
        let _ = (station.identity(), station.wakes(), station.nested(), dialect::of(station));
        for dialect in DIALECTS {
            if let Fetched::Overwritten(oldest) = dialect.fetch(station, n) {
                prop_assert!(oldest > n || n == u64::MAX);
            }
        }
    }
}

/// A peer at full speed, and a reader at the same time.
fn race(dialect: Dialect) {
    const EVENTS: u64 = 300_000;
    let image = Image::new();
    let done = AtomicBool::new(false);
    let mut reader = Reader::new(dialect);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..EVENTS {
                stores(dialect, n)
                    .iter()
                    .for_each(|store| apply(&image, store));
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            reader.drain(image.station());
        }
    });
    reader.drain(image.station());
    assert_eq!((reader.next, reader.got + reader.lost), (EVENTS, EVENTS));
    assert!(reader.got >= 7, "at least what is left at the end");
}

// CTP-06, CTP-10, CTP-11
#[test]
fn a_racing_peer_of_the_sdks_dialect_is_never_torn() {
    race(Dialect::PerSlot);
}

// CTP-11, CTP-12
#[test]
fn a_racing_peer_of_the_texts_dialect_is_never_torn() {
    race(Dialect::PerStation);
}

proptest! {
    // CTP-07
    #[test]
    fn numbers_are_computed_from_the_event_alone(n in any::<u64>()) {
        prop_assert_eq!(index_of(n) as u64, n % 8);
        prop_assert_eq!(final_seq(n), 2 * (n / 8) + 2);
        prop_assert_eq!(event_of(index_of(n), final_seq(n)), n);
        prop_assert_eq!(index_in::<Compact>(n) as u64, n % 2);
        // The largest numbers have no sequence number: 2^63 laps of two slots.
        let small = n / 2;
        prop_assert_eq!(final_seq_in::<Compact>(small), 2 * (small / 2) + 2);
        prop_assert_eq!(
            event_in::<Compact>(index_in::<Compact>(small), final_seq_in::<Compact>(small)),
            small
        );
        if let Some(next_lap) = n.checked_add(8) {
            prop_assert_eq!(final_seq(next_lap), final_seq(n) + 2);
        }
    }

    // CTP-07, CTP-29
    #[test]
    fn previous_slot_content_does_not_matter(
        before in any::<u64>(),
        n in prop_oneof![any::<u64>(), (u64::MAX - 16)..=u64::MAX],
    ) {
        let image = Image::new();
        image.word(index_of(n), SEQ).store(before, Ordering::Relaxed);
        let found: &Slot = image.station().slot_of(n);
        slot::publish(found, n, &epoch(3));
        prop_assert_eq!(slot::read(found), SlotReading::Whole(final_seq(n), epoch(3)));
        prop_assert_eq!(image.word(index_of(n), SEQ).load(Ordering::Relaxed), 2 * (n / 8) + 2);
    }

    // CTP-37
    #[test]
    fn users_bytes_change_nothing_else(word in any::<u64>(), user in any::<[u8; 3]>()) {
        let tail = Tail::from_word(word);
        prop_assert_eq!(Tail::from_word(tail.to_word()), tail);
        let changed = Tail { user, ..tail };
        prop_assert_eq!(Tail::from_word(changed.to_word()), changed);
        let others = !(0xFF_FFFF << 32);
        prop_assert_eq!(changed.to_word() & others, tail.to_word() & others);
    }

    // CTP-37
    #[test]
    fn a_v1_reader_finds_what_was_published(n in 0..1000_u64, user in any::<[u8; 3]>(), is_active: bool) {
        let image = Image::new();
        let tail = Tail { kind: 3, wake_seen: 0xFFFF, wait_kind: 8, user, is_active };
        slot::publish(image.station().slot_of(n), n, &Epoch { tail, ..epoch(n) });
        let word = |word| image.word(index_of(n), word).load(Ordering::Relaxed);
        prop_assert_eq!([word(TIMESTAMP), word(TID), word(ADDR)], [n + 1, n + 2, n + 3]);
        prop_assert_eq!(word(TAIL) >> 56, u64::from(is_active));
    }

    #[test]
    fn a_site_word_is_an_id_or_an_address(id in any::<u32>(), address in 1..1_u64 << 63) {
        let site = SiteWord::from_id(id);
        prop_assert_eq!((site.interned(), site.address()), (id, None));
        let site = SiteWord(address);
        prop_assert_eq!((site.interned(), site.address()), (0, Some(address)));
    }

    // CT-15
    #[test]
    fn a_wake_word_counts_for_the_generation(uses in 0..1_u32 << 20, start in 0..1_u32 << 20, wakes in 1..70_u32) {
        let generation = uses * 2;
        let word = AtomicU32::new(wake::word(generation) | start);
        let seen = wake::carried(wake::seen(&word));
        prop_assert_eq!(wakes_since(wake::count(word.load(Ordering::Relaxed)), seen), Some(0));
        for _ in 0..wakes {
            prop_assert_eq!(wake::advance(&word, generation), Some(wake::count(word.load(Ordering::Relaxed))));
            prop_assert_eq!(wake::advance(&word, generation + 2), None);
        }
        let word = word.into_inner();
        prop_assert_eq!(wakes_since(wake::count(word), seen), Some(wakes.into()));
        prop_assert_eq!(wake::count(word), (start + wakes) % (1 << 20));
        prop_assert_eq!(word & !((1 << 20) - 1), wake::word(generation));
    }
}
