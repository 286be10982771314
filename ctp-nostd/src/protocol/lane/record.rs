//! The content of a lane record, and its packing into three words.

use crate::memory::layout::MAX_STATIONS;
use crate::protocol::intern::site::SiteWord;

/// Records of thread events: what the thread did, as opposed to events of a coroutine. The codes
/// continue those of [`EventKind`](crate::slot::EventKind).
///
/// Kinds with a loss count hold the number of all records that ever found no room in this lane,
/// modulo 2^32. If the count has increased by k since the previous such record, k records were lost
/// just before this record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ThreadEventKind {
    /// A new thread has the lane from here on: `arg` is its id, `station` the attach id of its
    /// process, `n` the loss count.
    Begin = 7,
    /// The thread's last record: `arg` and `station` as in its begin record, which may be
    /// overwritten.
    End = 8,
    /// The thread woke the coroutine that the record names: `site` is the caller, `arg` the source
    /// of the wake (the station's `waker`), `n` the count of wakes.
    Wake = 9,
    /// A resource was closed: `site` is the caller, `wait_kind` and `arg` the resource.
    Close = 10,
    /// Records were lost: `n` is the loss count.
    Loss = 11,
    /// An empty record: a handler interrupted an event, which starts again, or a filter dropped the
    /// event.
    Cancelled = 12,
    /// The current coroutine or thread acquired a resource: `site` is the caller, `wait_kind` and
    /// `arg` the resource. `n` is [`HELD_BY_THREAD`], [`HELD_BY_COROUTINE`] (of `station` and
    /// `uses`) or [`HELD_BY_UNKNOWN`], plus [`HELD_SHARED`] if others may hold it too.
    Acquire = 13,
    /// The current coroutine or thread released a resource; the fields are as in an acquire.
    Release = 14,
}

/// In an acquire or a release: no coroutine ran on the thread.
pub const HELD_BY_THREAD: u64 = 0;
/// In an acquire or a release: a coroutine ran on the thread.
pub const HELD_BY_COROUTINE: u64 = 1;
/// In an acquire or a release: it is not known whether a coroutine ran on the thread.
pub const HELD_BY_UNKNOWN: u64 = 2;
/// In an acquire, added to the number: others may hold the resource at the same time.
pub const HELD_SHARED: u64 = 4;

impl ThreadEventKind {
    /// The thread event of a record's kind; `None` if the kind is that of a coroutine event.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            7 => ThreadEventKind::Begin,
            8 => ThreadEventKind::End,
            9 => ThreadEventKind::Wake,
            10 => ThreadEventKind::Close,
            11 => ThreadEventKind::Loss,
            12 => ThreadEventKind::Cancelled,
            13 => ThreadEventKind::Acquire,
            14 => ThreadEventKind::Release,
            _ => return None,
        })
    }
}

/// One record, without its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// An [`EventKind`](crate::slot::EventKind) or a [`ThreadEventKind`].
    pub kind: u8,
    /// The code of a [`crate::WaitKind`], with the marks of the wait.
    pub wait_kind: u8,
    /// Low bits of the station's use.
    pub uses: u8,
    /// Station number; in a thread's begin and end, the attach id of its process.
    pub station: u32,
    /// Low bits of the event's index; [`n_bits`](Payload::n_bits) says how many.
    pub n: u64,
    /// A site word.
    pub site: u64,
    /// Depends on the kind, see `LAYOUT.md`.
    pub arg: u64,
}

const STATION_BITS: u32 = MAX_STATIONS.ilog2();
const N_SHIFT: u32 = 28;
const N_BITS: u32 = 16;
const WAIT_SHIFT: u32 = 56;
/// In a site word without an address, these bits hold more of the event's index.
const MORE_N_SHIFT: u32 = 32;
const MORE_N_BITS: u32 = WAIT_SHIFT - MORE_N_SHIFT;

impl Payload {
    /// Low bits of the commit word that belong to the payload.
    pub(crate) const COMMIT_BITS: u32 = Self::KIND_SHIFT + 5;
    pub(crate) const KIND_SHIFT: u32 = 44;

    /// How many bits of the event's index are stored.
    pub const fn n_bits(&self) -> u32 {
        match SiteWord(self.site).address() {
            Some(_) => N_BITS,
            None => N_BITS + MORE_N_BITS,
        }
    }

    /// The word that is stored last, without the lap in the upper bits.
    pub(crate) const fn to_commit(self) -> u64 {
        self.to_commit_for(Self::owner_bits(self.station, self.uses))
    }

    /// The commit word for this [owner](Payload::owner_bits); ignores the owner that the payload
    /// names.
    pub(crate) const fn to_commit_for(self, owner_bits: u64) -> u64 {
        ((self.kind % 32) as u64) << Self::KIND_SHIFT
            | low_bits(self.n, N_BITS) << N_SHIFT
            | owner_bits
    }

    /// The bits of the commit word that name the owner of a record: station and its use.
    pub(crate) const fn owner_bits(station: u32, uses: u8) -> u64 {
        (uses as u64) << STATION_BITS | (station % MAX_STATIONS) as u64
    }

    /// The station number in a commit word.
    pub(crate) const fn station_of(commit: u64) -> u32 {
        low_bits(commit, STATION_BITS) as u32
    }

    /// The kind in a commit word.
    pub(crate) const fn kind_of(commit: u64) -> u8 {
        low_bits(commit >> Self::KIND_SHIFT, 5) as u8
    }

    /// Whether these words can be of event `n`, in the station's use with these low bits.
    #[inline]
    pub(crate) const fn can_be(commit: u64, site: u64, uses: u8, n: u64) -> bool {
        let is_low = (commit >> N_SHIFT) as u16 == n as u16;
        let others = low_bits(site >> MORE_N_SHIFT ^ n >> N_BITS, MORE_N_BITS);
        (commit >> STATION_BITS) as u8 == uses && is_low && (others == 0 || is_address(site))
    }

    pub(crate) const fn to_site(self) -> u64 {
        let wait = low_bits(self.wait_kind as u64, 7) << WAIT_SHIFT;
        match SiteWord(self.site).address() {
            Some(address) => low_bits(address, WAIT_SHIFT) | wait,
            None => {
                let more = low_bits(self.n >> N_BITS, MORE_N_BITS) << MORE_N_SHIFT;
                IS_ID | wait | more | low_bits(self.site, MORE_N_SHIFT)
            }
        }
    }

    /// Decodes stored words; all words are valid.
    pub(crate) const fn from_words(commit: u64, site: u64, arg: u64) -> Self {
        let is_id = site & IS_ID != 0;
        let more = if is_id {
            low_bits(site >> MORE_N_SHIFT, MORE_N_BITS)
        } else {
            0
        };
        Payload {
            kind: Self::kind_of(commit),
            wait_kind: low_bits(site >> WAIT_SHIFT, 7) as u8,
            uses: (commit >> STATION_BITS) as u8,
            station: Self::station_of(commit),
            n: low_bits(commit >> N_SHIFT, N_BITS) | more << N_BITS,
            site: if is_id {
                SiteWord::from_id(site as u32).0
            } else {
                low_bits(site, WAIT_SHIFT)
            },
            arg,
        }
    }
}

/// Whether a site word is an address. Few probes store addresses, which leave no room for more of `n`.
#[cold]
const fn is_address(site: u64) -> bool {
    site & IS_ID == 0 && low_bits(site, WAIT_SHIFT) != 0
}

/// Bit 63 of a site word.
pub(crate) const IS_ID: u64 = SiteWord::from_id(1).0 & !1;

pub(crate) const fn low_bits(word: u64, bits: u32) -> u64 {
    word & ((1 << bits) - 1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn round_trip(payload: Payload) -> Payload {
        Payload::from_words(payload.to_commit(), payload.to_site(), payload.arg)
    }

    // LT-07
    #[test]
    fn record_round_trips_through_the_words() {
        let payload = Payload {
            kind: crate::protocol::slot::EventKind::Suspend as u8,
            wait_kind: 8,
            uses: 255,
            station: MAX_STATIONS - 1,
            n: (1 << 40) - 2,
            site: SiteWord::from_id(u32::MAX).0,
            arg: u64::MAX,
        };
        assert_eq!(round_trip(payload), payload);
        let without_site = Payload { site: 0, ..payload };
        assert_eq!(round_trip(without_site), without_site);
        let address = Payload {
            n: 65_535,
            site: 0x7fff_ffff_f000,
            ..payload
        };
        assert_eq!(round_trip(address), address);
        assert_eq!((payload.n_bits(), address.n_bits()), (40, 16));
    }
}
