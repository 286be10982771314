//! A copy of a lane record, and a packed form for readers that keep many records: most packed
//! records take a quarter of the space.

use super::record::{IS_ID, Payload, low_bits};

/// A copy of a lane record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub(crate) commit: u64,
    pub(crate) at: u64,
    pub(crate) site: u64,
    pub(crate) arg: u64,
}

/// What the previous records determine for the next record. Packing and unpacking keep the same
/// state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    at: u64,
    /// Site and `arg` of the latest record of each kind, in the form of a short record.
    places: [u64; KINDS],
}

/// A word as it is kept.
pub type Word = [u8; 8];

/// The largest number of words per record.
pub const MAX_WORDS: usize = 4;

/// Words of a record with the same site and `arg` as the latest record of its kind.
const SAME_PLACE_WORDS: usize = 1;
/// Words of any other short record.
const SHORT_WORDS: usize = 2;
/// Distinguished kinds of records: enough for runs, suspends and wakes.
const KINDS: usize = 8;
/// Number of bits above the commit word that hold the nanoseconds since the previous record.
const SINCE_BITS: u32 = 14;
/// Value of these bits: all words follow.
const IN_FULL: u64 = (1 << SINCE_BITS) - 1;
/// Above these bits: site and `arg` are those of the latest record of the kind, and do not follow.
const SAME_PLACE_SHIFT: u32 = Payload::COMMIT_BITS + SINCE_BITS;
/// Position of the `arg` in a short record: in the site word, between a site's id and more of `n`.
const ARG_SHIFT: u32 = 16;
const ARG_BITS: u32 = 16;
const ARG_PLACE: u64 = ((1 << ARG_BITS) - 1) << ARG_SHIFT;

impl Copied {
    /// A record with this time and payload.
    pub fn of(at: u64, payload: &Payload) -> Self {
        Copied {
            commit: payload.to_commit(),
            at,
            site: payload.to_site(),
            arg: payload.arg,
        }
    }

    /// The time and payload of the record.
    #[inline]
    pub fn read(&self) -> (u64, Payload) {
        let payload = Payload::from_words(self.commit, self.site, self.arg);
        (self.at, payload)
    }

    /// The words of the record in the order of a lane record, without the lap.
    pub fn words(&self) -> [u64; 4] {
        [self.commit, self.at, self.site, self.arg]
    }

    /// The time of the record.
    #[inline]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Moves the record to another clock, which is `by_ns` behind the record's own clock.
    pub fn move_back(&mut self, by_ns: i64) {
        self.at = self.at.saturating_add_signed(by_ns.saturating_neg());
    }

    /// The kind, without decoding the whole [`Payload`].
    #[inline]
    pub fn kind(&self) -> u8 {
        Payload::kind_of(self.commit)
    }

    /// The station, without decoding the whole [`Payload`].
    #[inline]
    pub fn station(&self) -> u32 {
        Payload::station_of(self.commit)
    }

    /// Whether the record can be of event `n`, in the station's use with these low bits.
    #[inline]
    pub fn can_be(&self, uses: u8, n: u64) -> bool {
        Payload::can_be(self.commit, self.site, uses, n)
    }

    /// Whether site and `arg` fit into one word.
    #[inline]
    fn is_small(&self) -> bool {
        self.site & (IS_ID | ARG_PLACE) == IS_ID && self.arg >> ARG_BITS == 0
    }

    /// Site and `arg` in one word, if they fit.
    #[inline]
    fn place(&self) -> u64 {
        self.site | self.arg << ARG_SHIFT
    }
}

impl Before {
    /// Packs the record at the beginning of `out`, and returns the number of words.
    #[inline]
    pub fn pack(&self, copied: &Copied, out: &mut [Word; MAX_WORDS]) -> usize {
        let commit = low_bits(copied.commit, Payload::COMMIT_BITS);
        let since = copied.at.wrapping_sub(self.at);
        if copied.is_small() && since < IN_FULL {
            let place = copied.place();
            let is_same = self.places[kind(commit)] == place;
            let first =
                commit | since << Payload::COMMIT_BITS | u64::from(is_same) << SAME_PLACE_SHIFT;
            (out[0], out[1]) = (first.to_le_bytes(), place.to_le_bytes());
            return SHORT_WORDS - usize::from(is_same);
        }
        let first = commit | IN_FULL << Payload::COMMIT_BITS;
        *out = [first, copied.at, copied.site, copied.arg].map(u64::to_le_bytes);
        MAX_WORDS
    }

    /// Unpacks the record at the beginning of `words`, and returns the number of its words. The lap
    /// is lost.
    #[inline]
    pub fn unpack(&self, words: &[Word]) -> Option<(Copied, usize)> {
        let first = u64::from_le_bytes(*words.first()?);
        let since = low_bits(first >> Payload::COMMIT_BITS, SINCE_BITS);
        let commit = low_bits(first, Payload::COMMIT_BITS);
        if since < IN_FULL {
            let (place, length) = match first >> SAME_PLACE_SHIFT {
                0 => (u64::from_le_bytes(*words.get(1)?), SHORT_WORDS),
                _ => (self.places[kind(commit)], SAME_PLACE_WORDS),
            };
            let arg = low_bits(place >> ARG_SHIFT, ARG_BITS);
            let copied = Copied {
                commit,
                at: self.at.wrapping_add(since),
                site: place ^ arg << ARG_SHIFT,
                arg,
            };
            return Some((copied, length));
        }
        let [_, at, site, arg] = words.first_chunk()?.map(u64::from_le_bytes);
        let copied = Copied {
            commit,
            at,
            site,
            arg,
        };
        Some((copied, MAX_WORDS))
    }

    /// Makes this record, which took `words` words, the previous record.
    #[inline]
    pub fn note(&mut self, copied: &Copied, words: usize) {
        self.at = copied.at;
        if words != SAME_PLACE_WORDS {
            self.places[kind(copied.commit)] = copied.place();
        }
    }
}

#[inline]
fn kind(commit: u64) -> usize {
    (commit >> Payload::KIND_SHIFT) as usize % KINDS
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::intern::site::SiteWord;

    const USUAL: Payload = Payload {
        kind: 3,
        wait_kind: 8,
        uses: 255,
        station: 63,
        n: (1 << 40) - 2,
        site: SiteWord::from_id(0xffff).0,
        arg: 0xffff,
    };

    fn copied(at: u64, payload: Payload) -> Copied {
        Copied::of(at, &payload)
    }

    /// Words that a record takes after `previous`.
    fn words_behind(previous: &Copied, copied: Copied) -> usize {
        let (mut before, mut words) = (Before::default(), [[0; 8]; MAX_WORDS]);
        before.note(previous, MAX_WORDS);
        let packed = before.pack(&copied, &mut words);
        assert_eq!(before.unpack(&words), Some((copied, packed)));
        packed
    }

    /// Words that a record takes after a record of another kind.
    fn words_of(copied: Copied) -> usize {
        words_behind(&self::copied(1_000, Payload { kind: 2, ..USUAL }), copied)
    }

    #[test]
    fn packed_record_says_the_same() {
        let without_site = Payload { site: 0, ..USUAL };
        assert_eq!(
            [USUAL, without_site].map(|payload| words_of(copied(1_030, payload))),
            [2; 2]
        );
        let far = Payload {
            site: SiteWord::from_id(0x1_0000).0,
            ..USUAL
        };
        let large = Payload {
            arg: 0x1_0000,
            ..USUAL
        };
        let address = Payload {
            n: 65_535,
            site: 0x7fff_ffff_f000,
            ..USUAL
        };
        assert_eq!(
            [far, large, address].map(|payload| words_of(copied(1_030, payload))),
            [4; 3]
        );
        let times = [999, 1_000, 17_382, 17_383, u64::MAX];
        assert_eq!(times.map(|at| words_of(copied(at, USUAL))), [4, 2, 2, 4, 4]);
    }

    #[test]
    fn site_and_arg_of_the_same_kind_are_not_repeated() {
        let previous = copied(1_000, Payload { n: 7, ..USUAL });
        let again = Payload { n: 8, ..USUAL };
        let elsewhere = Payload { arg: 1, ..again };
        let later =
            [again, elsewhere].map(|payload| words_behind(&previous, copied(1_030, payload)));
        assert_eq!(later, [1, 2]);
        assert_eq!(words_behind(&previous, copied(999, again)), 4);
        // More of `n` is stored in the same word.
        let far = Payload {
            n: 1 << 16,
            ..again
        };
        assert_eq!(words_behind(&previous, copied(1_030, far)), 2);
    }

    #[test]
    fn truncated_words_give_no_record() {
        let before = Before::default();
        let in_full = [0, 0, 0, 0, 0, 0, 0xff, 0x7f];
        assert_eq!(before.unpack(&[in_full; 3]), None);
        assert_eq!(before.unpack(&[[0; 8]; 1]), None);
        assert_eq!(before.unpack(&[]), None);
    }

    /// Words near the values where the length of a record changes, and any other words.
    fn any_record() -> impl Strategy<Value = Copied> {
        let word = || {
            prop_oneof![
                0..4u64,
                (0..64u32, 0..4u64).prop_map(|(bit, more)| ((1u64 << bit) + more).wrapping_sub(2)),
                any::<u64>()
            ]
        };
        let site = prop_oneof![word(), word().prop_map(|word| word | IS_ID)];
        (word(), word(), site, word()).prop_map(|(commit, at, site, arg)| Copied {
            commit: low_bits(commit, Payload::COMMIT_BITS),
            at,
            site,
            arg,
        })
    }

    proptest! {
        // LT-05
        #[test]
        fn partial_reads_agree_with_the_whole_payload(copied in any_record(), uses in any::<u8>(), bit in 0..u64::BITS) {
            let (at, payload) = copied.read();
            prop_assert_eq!((copied.at(), copied.kind(), copied.station()), (at, payload.kind, payload.station));
            prop_assert!(copied.can_be(payload.uses, payload.n));
            prop_assert_eq!(copied.can_be(uses, payload.n), uses == payload.uses);
            let another = payload.n ^ 1 << bit;
            prop_assert_eq!(copied.can_be(payload.uses, another), payload.n_bits() <= bit);
        }

        // LT-05
        #[test]
        fn any_records_round_trip_when_packed(records in vec(any_record(), 1..40), again in vec(any::<bool>(), 40)) {
            let (mut packing, mut unpacking) = (Before::default(), Before::default());
            let mut latest = records[0];
            for (record, is_again) in records.iter().zip(again) {
                let copied = if is_again {
                    Copied { at: latest.at.wrapping_add(1), ..latest }
                } else {
                    *record
                };
                let mut words = [[0; 8]; MAX_WORDS];
                let length = packing.pack(&copied, &mut words);
                prop_assert_eq!(unpacking.unpack(&words[..length]), Some((copied, length)));
                packing.note(&copied, length);
                unpacking.note(&copied, length);
                latest = copied;
            }
        }
    }
}
