//! Every word of the shared memory: the only place that defines offsets.
//!
//! All words are atomics, because another process may write any of them at any time. The following
//! text is `LAYOUT.md`, which a test compares with the structs.
//!
#![doc = include_str!("../../LAYOUT.md")]

mod sized;

use crate::sync::{AtomicU8, AtomicU32, AtomicU64, Ordering};
pub use crate::sync::{CHANGING, SequenceU64, StandaloneU64};
pub use sized::{
    COMPACT_MAGIC, Compact, CompactInterned, CompactStation, CompactWithRing, Full, Interned,
    InternedOf, Layout, RingWords, Station, StationOf,
};

/// First word of the memory, cTP v1: "COROTRCR" read as a big-endian number.
pub const MAGIC: u64 = 0x434F_524F_5452_4352;
/// The only version of cTP.
pub const VERSION: u32 = 1;
/// Marks memory whose free bytes are used as described here: `CTPXEXT1` in memory order.
pub const EXT_MAGIC: u64 = u64::from_le_bytes(*b"CTPXEXT1");
/// Revision of the extension; also the `ext_rev` of stations that this probe writes.
pub const EXT_REV: u8 = 1;
/// Slots of a station.
pub const SLOTS: usize = 8;
/// Bytes of text that an [`Interned`] entry holds.
pub const TEXT_BYTES: usize = 216;

/// Station flag: this coroutine's runtime calls [`Waker::wake`](crate::waker::Waker::wake), so a
/// count of zero wakes is meaningful.
pub const FLAG_RECORDS_WAKES: u8 = 1;
/// Station flag: `wakers_live` counts the wakers of this coroutine. With a count of zero, the
/// coroutine can never be woken.
pub const FLAG_COUNTS_WAKERS: u8 = 2;
/// Feature bit: the program may run under a system call filter. After it attached, the probe makes
/// no system call except at a thread's first event.
pub const FEATURE_NO_CALLS: u32 = 1;
/// Feature bit: leaf futures should clone the waker in each poll, so that the await chain of each
/// wait is found. This costs one clone per poll.
pub const FEATURE_PRECISE_CHAINS: u32 = 2;
/// In the `waker` word: the other bits are a thread id, not a coroutine's [`coroutine_word`].
pub const WAKER_IS_THREAD: u32 = 1 << 31;

/// Bits of a [`coroutine_word`] for the station number; the rest counts the uses of the station.
const STATION_BITS: u32 = 21;
/// Largest number of stations in a memory, so that a [`coroutine_word`] and a lane record can hold each
/// station number.
pub const MAX_STATIONS: u32 = 1 << 20;

/// Identifies a coroutine in 31 bits that are never 0: {use of its station 10 | station number + 1,
/// 21}.
pub const fn coroutine_word(index: u32, generation: u32) -> u32 {
    (uses(generation) << STATION_BITS) | ((index + 1) % (1 << STATION_BITS))
}

const fn uses(generation: u32) -> u32 {
    (generation / 2) % (1 << (31 - STATION_BITS))
}

/// Whether this generation belongs to the use of the station that a [`coroutine_word`] names, modulo
/// 2^10.
pub(crate) const fn is_use(generation: u32, of_word: u32) -> bool {
    uses(generation) == of_word
}

/// The station number of a [`coroutine_word`], if any.
pub const fn station_of(coroutine_word: u32) -> Option<u32> {
    (coroutine_word % (1 << STATION_BITS)).checked_sub(1)
}

/// The use of its station that a [`coroutine_word`] names, modulo 2^10.
pub const fn uses_of(coroutine_word: u32) -> u32 {
    coroutine_word >> STATION_BITS
}

/// One field of a layout.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name, as in `LAYOUT.md`.
    pub name: &'static str,
    /// The offset in the struct, in bytes.
    pub offset: usize,
    /// The size in bytes.
    pub bytes: usize,
}

/// Raw words of the shared memory.
pub(crate) trait Words {
    /// The fields in order, each with its first nonzero word.
    fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
        core::iter::empty()
    }

    /// The first nonzero word, or 0.
    fn first_nonzero(&self) -> u64 {
        let mut words = self.fields().map(|(_, word)| word);
        words.find(|word| *word != 0).unwrap_or(0)
    }
}

macro_rules! words {
    ($($word:ty),+) => {
        $(impl Words for $word {
            fn first_nonzero(&self) -> u64 {
                self.load(Ordering::Relaxed).into()
            }
        })+
    };
}
words!(AtomicU8, AtomicU32, AtomicU64, SequenceU64, StandaloneU64);

impl<W: Words, const N: usize> Words for [W; N] {
    fn first_nonzero(&self) -> u64 {
        let mut words = self.iter().map(Words::first_nonzero);
        words.find(|word| *word != 0).unwrap_or(0)
    }
}

/// Declares a `repr(C)` struct with the offset of every field, and proves the offsets.
macro_rules! layout {
    ($(#[$doc:meta])* pub struct $name:ident, $size:literal, align $align:literal {
        $($offset:literal $field:ident: $type:ty),+ $(,)?
    }) => {
        $(#[$doc])*
        #[repr(C, align($align))]
        pub struct $name { $(pub(crate) $field: $type),+ }

        impl $name {
            /// Every field with its offset and size, as `LAYOUT.md` lists them.
            pub const FIELDS: &'static [Field] =
                &[$(Field {
                    name: stringify!($field),
                    offset: $offset,
                    bytes: size_of::<$type>(),
                }),+];
        }

        impl Words for $name {
            fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field.first_nonzero())),+].into_iter()
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                out.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        #[cfg(not(loom))]
        const _: () = {
            assert!(size_of::<$name>() == $size);
            assert!(align_of::<$name>() == $align);
            $(assert!(core::mem::offset_of!($name, $field) == $offset);)+
            // No hole and no missing field: the sizes add up to the whole.
            assert!(0 $(+ size_of::<$type>())+ == $size);
        };
    };
}

layout! {
    /// Start of the memory. The first 0x18 bytes are cTP v1; the rest is the extension.
    // One field per word of `LAYOUT.md`, so that a test can compare them. Hence the length of this struct.
    #[derive(Default)]
    pub struct Header, 1024, align 256 {
        0x000 magic: AtomicU64,
        0x008 version: AtomicU32,
        0x00C max_stations: AtomicU32,
        0x010 allocated_count: AtomicU32,
        0x014 tracer_sleeping: AtomicU32,
        0x018 ext_magic: AtomicU64,
        0x020 ext_version: AtomicU32,
        0x024 features: AtomicU32,
        0x028 file_bytes: AtomicU64,
        0x030 layout_hash: AtomicU64,
        0x038 spare0: AtomicU64,
        0x040 trace_id: [AtomicU64; 2],
        0x050 start_realtime_ns: AtomicU64,
        0x058 start_monotonic_ns: AtomicU64,
        0x060 bin_lo: AtomicU32,
        0x064 bin_step: AtomicU32,
        0x068 spare1: [AtomicU64; 3],
        0x080 clock_lines: [[AtomicU64; 4]; 2],
        0x0C0 control_generation: AtomicU32,
        0x0C4 tracing_on: AtomicU32,
        0x0C8 kind_mask: AtomicU32,
        0x0CC lane_mode: AtomicU32,
        0x0D0 min_duration_ns: AtomicU64,
        0x0D8 clock_index: AtomicU32,
        0x0DC station_bytes: AtomicU32,
        0x0E0 spare3: [AtomicU64; 4],
        0x100 free_head: AtomicU32,
        0x104 refused: AtomicU32,
        0x108 free_tail: AtomicU32,
        0x10C unnamed: AtomicU32,
        0x110 laneless: AtomicU32,
        0x114 lane_turn: AtomicU32,
        0x118 unreached: AtomicU32,
        0x11C broken_freezes: AtomicU32,
        0x120 spare4: [AtomicU32; 8],
        0x140 wakes_sent: AtomicU32,
        0x144 wakes_would_block: AtomicU32,
        0x148 wakes_failed: AtomicU32,
        0x14C wakes_rescued: AtomicU32,
        0x150 recorder_barrier: AtomicU32,
        0x154 spare5: [AtomicU32; 11],
        0x180 recorder_pid: AtomicU32,
        0x184 recorder_state: AtomicU32,
        0x188 recorder_heartbeat_ns: AtomicU64,
        0x190 memory_number: AtomicU32,
        0x194 spare6: [AtomicU32; 11],
        0x1C0 lanes: Span,
        0x1D0 sites: Span,
        0x1E0 chains: Span,
        0x1F0 names: Span,
        0x200 attaches: Span,
        0x210 stacks: Span,
        0x220 free: Span,
        0x230 records: Span,
        0x240 short_lanes: Span,
        0x250 short_records: Span,
        0x260 spare7: [[AtomicU64; 26]; 2],
    }
}

layout! {
    /// Location of a table behind the last station. All zero: the table does not exist.
    #[derive(Default)]
    pub struct Span, 16, align 8 {
        0x00 offset_bytes: AtomicU64,
        0x08 entries: AtomicU32,
        0x0C entry_bytes: AtomicU32,
    }
}

layout! {
    /// One event. The words at 0x00..0x20 and the last byte of `tail` are cTP v1.
    #[derive(Default)]
    pub struct Slot, 64, align 64 {
        0x00 timestamp: AtomicU64,
        0x08 tid: AtomicU64,
        0x10 addr: AtomicU64,
        0x18 seq: SequenceU64,
        0x20 site: AtomicU64,
        0x28 arg: AtomicU64,
        0x30 generation: AtomicU32,
        0x34 chain: AtomicU32,
        0x38 tail: AtomicU64,
    }
}

layout! {
    /// Statistics of waiting or running times, one of two copies.
    #[derive(Default)]
    pub struct Aggregate, 96, align 8 {
        0x00 count: AtomicU64,
        0x08 sum: AtomicU64,
        0x10 min: AtomicU64,
        0x18 max: AtomicU64,
        0x20 bins: [AtomicU32; 16],
    }
}

layout! {
    /// One thread's ring of records: the line that the thread writes, and the line that the
    /// recorder writes.
    #[derive(Default)]
    pub struct Lane, 128, align 128 {
        0x00 head: AtomicU64,
        0x08 lost: AtomicU32,
        0x0C thread: AtomicU32,
        0x10 owner: AtomicU32,
        0x14 spare0: [AtomicU32; 11],
        0x40 tail: AtomicU64,
        0x48 spare1: [AtomicU64; 7],
    }
}

layout! {
    /// The start of the ring of a program without threads.
    #[derive(Default)]
    pub struct RingHead, 32, align 32 {
        0x00 head: AtomicU32,
        0x04 lost: AtomicU32,
        0x08 spare: [AtomicU32; 6],
    }
}

layout! {
    /// One record of a lane.
    #[derive(Default)]
    pub struct LaneRecord, 32, align 32 {
        0x00 commit: AtomicU64,
        0x08 at: AtomicU64,
        0x10 site: AtomicU64,
        0x18 arg: AtomicU64,
    }
}

layout! {
    /// A process that attached.
    pub struct Attach, 64, align 64 {
        0x00 pid: AtomicU32,
        0x04 ready: AtomicU32,
        0x08 attached_ns: AtomicU64,
        0x10 spare: [AtomicU64; 6],
    }
}

/// Changes whenever a field moves, so that two builds with different layouts refuse each other.
pub const LAYOUT_HASH: u64 = hash_of(Station::FIELDS, Interned::FIELDS);

/// Hash of a layout with these fields in its stations and entries.
const fn hash_of(station: &[Field], interned: &[Field]) -> u64 {
    let structs = [
        Header::FIELDS,
        Span::FIELDS,
        station,
        Slot::FIELDS,
        Aggregate::FIELDS,
        interned,
        Attach::FIELDS,
        Lane::FIELDS,
        LaneRecord::FIELDS,
        RingHead::FIELDS,
    ];
    let mut hash = FNV_BASIS;
    let mut s = 0;
    while s < structs.len() {
        hash = hash_of_fields(hash, structs[s]);
        s += 1;
    }
    hash
}

const fn hash_of_fields(mut hash: u64, fields: &[Field]) -> u64 {
    let mut f = 0;
    while f < fields.len() {
        let Field {
            name,
            offset,
            bytes,
        } = fields[f];
        hash = fnv1a(hash, name.as_bytes());
        hash = fnv1a(hash, &(offset as u64).to_le_bytes());
        hash = fnv1a(hash, &(bytes as u64).to_le_bytes());
        f += 1;
    }
    hash
}

/// Start value of [`fnv1a`].
pub(crate) const FNV_BASIS: u64 = 0xCBF2_9CE4_8422_2325;

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
pub(crate) const fn fnv1a(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01B3);
        i += 1;
    }
    hash
}
