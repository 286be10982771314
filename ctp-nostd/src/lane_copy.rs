//! A record as it stood in its lane, and how a reader keeps many: most of them take half the room.

use crate::lane_record::{IS_ID, Payload, low_bits};

/// A record as it stood in its lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub(crate) commit: u64,
    pub(crate) at: u64,
    pub(crate) site: u64,
    pub(crate) arg: u64,
}

/// A word as it is kept.
pub type Word = [u8; 8];

/// Words that the longest takes.
pub const MOST_WORDS: usize = 4;

/// In place of the nanoseconds since the record before, above the commit word: all words follow.
const IN_FULL: u64 = u64::MAX >> Payload::COMMIT_BITS;
/// Where a short one has its `arg`: in its site word, between a site's id and more of `n`.
const ARG_SHIFT: u32 = 16;
const ARG_BITS: u32 = 16;

impl Copied {
    /// Its time and payload.
    #[inline]
    pub fn read(&self) -> (u64, Payload) {
        let payload = Payload::from_words(self.commit, self.site, self.arg);
        (self.at, payload)
    }

    /// Puts it at the beginning of `out`, behind one of that time; gives how many words it takes.
    /// Nothing if there is no room.
    #[inline]
    pub fn pack(&self, before_ns: u64, out: &mut [Word]) -> Option<usize> {
        let commit = low_bits(self.commit, Payload::COMMIT_BITS);
        let since = self.at.wrapping_sub(before_ns);
        let is_small = self.arg >> ARG_BITS == 0 && low_bits(self.site, 32) >> ARG_SHIFT == 0;
        if is_small && self.site & IS_ID != 0 && since < IN_FULL {
            let commit = commit | since << Payload::COMMIT_BITS;
            let words = [commit, self.site | self.arg << ARG_SHIFT];
            *out.first_chunk_mut()? = words.map(u64::to_le_bytes);
            return Some(words.len());
        }
        let commit = commit | IN_FULL << Payload::COMMIT_BITS;
        let words = [commit, self.at, self.site, self.arg];
        *out.first_chunk_mut()? = words.map(u64::to_le_bytes);
        Some(words.len())
    }

    /// The one at the beginning of `words`, and how many of them it takes. Its lap is forgotten.
    #[inline]
    pub fn unpack(before_ns: u64, words: &[Word]) -> Option<(Self, usize)> {
        let [commit, site] = words.first_chunk()?.map(u64::from_le_bytes);
        let since = commit >> Payload::COMMIT_BITS;
        let commit = low_bits(commit, Payload::COMMIT_BITS);
        if since < IN_FULL {
            let arg = low_bits(site >> ARG_SHIFT, ARG_BITS);
            let (at, site) = (before_ns.wrapping_add(since), site ^ arg << ARG_SHIFT);
            let copied = Copied {
                commit,
                at,
                site,
                arg,
            };
            return Some((copied, 2));
        }
        let [_, at, site, arg] = words.first_chunk()?.map(u64::from_le_bytes);
        let copied = Copied {
            commit,
            at,
            site,
            arg,
        };
        Some((copied, MOST_WORDS))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::site::SiteWord;

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
        Copied {
            commit: payload.to_commit(),
            at,
            site: payload.to_site(),
            arg: payload.arg,
        }
    }

    fn words_of(copied: Copied) -> usize {
        let mut words = [[0; 8]; MOST_WORDS];
        let packed = copied.pack(1_000, &mut words);
        let unpacked = Copied::unpack(1_000, &words);
        assert_eq!(unpacked, packed.map(|length| (copied, length)));
        packed.expect("there is room")
    }

    #[test]
    fn what_is_kept_says_what_the_record_said() {
        let nowhere = Payload { site: 0, ..USUAL };
        assert_eq!(
            [USUAL, nowhere].map(|it| words_of(copied(1_030, it))),
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
            [far, large, address].map(|it| words_of(copied(1_030, it))),
            [4; 3]
        );
        let times = [999, 1_000, 33_766, 33_767, u64::MAX];
        assert_eq!(times.map(|at| words_of(copied(at, USUAL))), [4, 2, 2, 4, 4]);
    }

    #[test]
    fn no_more_is_read_or_written_than_there_is() {
        let (usual, early) = (copied(1_030, USUAL), copied(999, USUAL));
        assert_eq!(usual.pack(1_000, &mut [[0; 8]; 1]), None);
        assert_eq!(early.pack(1_000, &mut [[0; 8]; 3]), None);
        assert_eq!(Copied::unpack(0, &[[0xff; 8]; 3]), None);
        assert_eq!(Copied::unpack(0, &[]), None);
    }
}
