//! The structs that exist in a full and a compact size, and the three layouts: [`Full`], [`Compact`], and
//! [`CompactWithRing`], which is compact and has a ring.
//!
//! The full layout is cTP v1 with the extension: a station has 1 KiB. The compact layouts are for small
//! microcontrollers: a station has 256 bytes. Both sizes have the same words, except that a compact station has two slots and no
//! statistics, and that a compact entry holds less text.

use super::{Aggregate, Field, LaneRecord, MAGIC, RingHead, Slot, Words, hash_of};
use crate::sync::{AtomicU8, AtomicU32, AtomicU64, StandaloneU64};

/// First word of a compact memory: `CTPSMALL` in memory order.
pub const COMPACT_MAGIC: u64 = u64::from_le_bytes(*b"CTPSMALL");

/// The full layout: cTP v1 with the extension.
#[derive(Clone, Copy, Debug, Default)]
pub struct Full;

/// The compact layout: stations of 256 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compact;

/// The compact layout, with a ring for history in the same memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompactWithRing;

/// The words of the ring of a program without threads. The number of records is a power of two.
#[derive(Clone, Copy, Debug)]
pub struct RingWords {
    pub(crate) head: &'static RingHead,
    pub(crate) records: &'static [LaneRecord],
}

/// A layout of the memory: [`Full`], [`Compact`] or [`CompactWithRing`].
pub trait Layout:
    sealed::Sealed + Copy + Default + core::fmt::Debug + Send + Sync + 'static
{
    /// First word of the memory.
    const MAGIC: u64;
    /// Value of the header's `station_bytes`: 0 means stations of 1024 bytes.
    const STATION_BYTES: u32;
    /// Value of the header's `layout_hash`.
    const HASH: u64;
    /// Slots of a station, a power of two.
    const SLOTS: u64;
    /// Bytes of text that an [`InternedOf`] entry holds.
    const TEXT_BYTES: usize;
    /// How many events may be nested in another event of the same coroutine. They fill the slots
    /// together with the outermost event and, where there are statistics, the event before.
    const MAX_DEPTH: u32;
    /// Index of this layout's offset in the pair that `sized_layout!` takes: 0 full, 1 compact.
    #[doc(hidden)]
    const OFFSET_INDEX: usize;

    /// The slots of a station.
    type Slots: AsRef<[Slot]> + Default + Send + Sync;
    /// One copy of a statistic.
    type Aggregate: Default + Send + Sync;
    /// The text of an entry.
    type Text: AsRef<[AtomicU64]> + Default + Send + Sync;
    /// The ring of the memory, if the layout has a ring.
    type Ring: Copy + Default + core::fmt::Debug;

    /// The station, if it has the full layout.
    #[doc(hidden)]
    fn as_full(station: &StationOf<Self>) -> Option<&Station>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Full {}
    impl Sealed for super::Compact {}
    impl Sealed for super::CompactWithRing {}
}

impl Layout for Full {
    const MAGIC: u64 = MAGIC;
    const STATION_BYTES: u32 = 0;
    const HASH: u64 = super::LAYOUT_HASH;
    const SLOTS: u64 = super::SLOTS as u64;
    const TEXT_BYTES: usize = super::TEXT_BYTES;
    const MAX_DEPTH: u32 = super::SLOTS as u32 - 2;
    const OFFSET_INDEX: usize = 0;
    type Slots = [Slot; super::SLOTS];
    type Aggregate = Aggregate;
    type Text = [AtomicU64; super::TEXT_BYTES / 8];
    type Ring = ();

    #[inline(always)]
    fn as_full(station: &Station) -> Option<&Station> {
        Some(station)
    }
}

impl Layout for Compact {
    const MAGIC: u64 = COMPACT_MAGIC;
    const STATION_BYTES: u32 = 256;
    const HASH: u64 = hash_of(CompactStation::FIELDS, CompactInterned::FIELDS);
    const SLOTS: u64 = 2;
    const TEXT_BYTES: usize = 24;
    const MAX_DEPTH: u32 = 1;
    const OFFSET_INDEX: usize = 1;
    type Slots = [Slot; 2];
    type Aggregate = ();
    type Text = [AtomicU64; 3];
    type Ring = ();

    #[inline(always)]
    fn as_full(_: &CompactStation) -> Option<&Station> {
        None
    }
}

impl Layout for CompactWithRing {
    const MAGIC: u64 = Compact::MAGIC;
    const STATION_BYTES: u32 = Compact::STATION_BYTES;
    const HASH: u64 = Compact::HASH;
    const SLOTS: u64 = Compact::SLOTS;
    const TEXT_BYTES: usize = Compact::TEXT_BYTES;
    const MAX_DEPTH: u32 = Compact::MAX_DEPTH;
    const OFFSET_INDEX: usize = Compact::OFFSET_INDEX;
    type Slots = <Compact as Layout>::Slots;
    type Aggregate = ();
    type Text = <Compact as Layout>::Text;
    type Ring = Option<RingWords>;

    #[inline(always)]
    fn as_full(_: &StationOf<Self>) -> Option<&Station> {
        None
    }
}

/// Declares a `repr(C)` struct that exists in two sizes, with two offsets for every field: in the full
/// and in the compact layout. Proves both.
macro_rules! sized_layout {
    ($(#[$doc:meta])* pub struct $name:ident, $full_bytes:literal $compact_bytes:literal, align $align:literal {
        $($full:literal $compact:literal $field:ident: $type:ty),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Default)]
        #[repr(C, align($align))]
        pub struct $name<L: Layout> { $(pub(crate) $field: $type),+ }

        impl<L: Layout> $name<L> {
            /// Every field with its offset and size, as `LAYOUT.md` lists them.
            pub const FIELDS: &'static [Field] =
                &[$(Field {
                    name: stringify!($field),
                    offset: [$full, $compact][L::OFFSET_INDEX],
                    bytes: size_of::<$type>(),
                }),+];
        }

        impl Words for $name<Full> {
            fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field.first_nonzero())),+].into_iter()
            }
        }

        impl<L: Layout> core::fmt::Debug for $name<L> {
            fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                out.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        #[cfg(not(loom))]
        const _: () = {
            assert!(size_of::<$name<Full>>() == $full_bytes);
            assert!(size_of::<$name<Compact>>() == $compact_bytes);
            assert!(align_of::<$name<Full>>() == $align && align_of::<$name<Compact>>() == $align);
            $(assert!(core::mem::offset_of!($name<Full>, $field) == $full);)+
            $(assert!(core::mem::offset_of!($name<Compact>, $field) == $compact);)+
            // No hole and no missing field: the sizes add up to the whole.
            assert!(bytes_of($name::<Full>::FIELDS) == $full_bytes);
            assert!(bytes_of($name::<Compact>::FIELDS) == $compact_bytes);
        };
    };
}

#[cfg(not(loom))]
const fn bytes_of(fields: &[Field]) -> usize {
    let (mut bytes, mut at) = (0, 0);
    while at < fields.len() {
        bytes += fields[at].bytes;
        at += 1;
    }
    bytes
}

sized_layout! {
    /// One coroutine. The first 0x11 bytes and the slots are cTP v1; the rest is the extension.
    // One field for each word of `LAYOUT.md`, as in the header.
    pub struct StationOf, 1024 256, align 256 {
        0x000 0x00 probe_id: AtomicU64,
        0x008 0x08 birth_ts: AtomicU64,
        0x010 0x10 is_dead: AtomicU8,
        0x011 0x11 ext_rev: AtomicU8,
        0x012 0x12 flags: AtomicU8,
        0x013 0x13 kind: AtomicU8,
        0x014 0x14 generation: AtomicU32,
        0x018 0x18 wake: AtomicU32,
        0x01C 0x1C waker: AtomicU32,
        0x020 0x20 wake_ts: StandaloneU64,
        0x028 0x28 wakers_live: AtomicU32,
        0x02C 0x2C freeze: AtomicU32,
        0x030 0x30 owner: AtomicU32,
        0x034 0x34 meta: AtomicU32,
        0x038 0x38 base_n: AtomicU64,
        0x040 0x40 slots: L::Slots,
        0x240 0xC0 event_head: StandaloneU64,
        0x248 0xC8 last_ts: StandaloneU64,
        0x250 0xD0 state: AtomicU32,
        0x254 0xD4 begun: AtomicU32,
        0x258 0xD8 pc: AtomicU64,
        0x260 0xE0 sp: AtomicU64,
        0x268 0xE8 fp: AtomicU64,
        0x270 0xF0 latch_waiting: AtomicU32,
        0x274 0xF4 latch_running: AtomicU32,
        0x278 0xF8 dropped_filtered: AtomicU32,
        0x27C 0xFC dropped_nested: AtomicU32,
        0x280 0x100 waiting_a: L::Aggregate,
        0x2E0 0x100 waiting_b: L::Aggregate,
        0x340 0x100 running_a: L::Aggregate,
        0x3A0 0x100 running_b: L::Aggregate,
    }
}

sized_layout! {
    /// A site or a name, stored once. Entries never move and are never removed.
    pub struct InternedOf, 256 64, align 64 {
        0x00 0x00 key: AtomicU64,
        0x08 0x08 ready: AtomicU32,
        0x0C 0x0C kind: AtomicU32,
        0x10 0x10 line: AtomicU32,
        0x14 0x14 column: AtomicU32,
        0x18 0x18 addr: AtomicU64,
        0x20 0x20 site: AtomicU32,
        0x24 0x24 text_bytes: AtomicU32,
        0x28 0x28 text: L::Text,
    }
}

/// A station of the full layout.
pub type Station = StationOf<Full>;
/// A station of the compact layout.
pub type CompactStation = StationOf<Compact>;
/// An entry of the full layout.
pub type Interned = InternedOf<Full>;
/// An entry of the compact layout.
pub type CompactInterned = InternedOf<Compact>;
