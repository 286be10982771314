//! Turns the bytes of a memory mapping into references to the header and to tables.
#![allow(
    unsafe_code,
    reason = "the only place where bytes of a mapping become typed references"
)]

use core::marker::PhantomData;
use core::slice;

use super::refused::Refused;
use crate::memory::layout::{
    Attach, Header, InternedOf, Lane, LaneRecord, Layout, Span, StationOf,
};
use crate::sync::{AtomicU32, Ordering};

/// A memory mapping. The caller of [`of`](MappedMemory::of) has promised that it stays mapped for `'m`,
/// and that all other accesses are atomic.
pub(crate) struct MappedMemory<'m> {
    /// The start of the mapping, aligned like the header.
    base: *mut u8,
    bytes: usize,
    mapped: PhantomData<&'m Header>,
}

impl<'m> MappedMemory<'m> {
    /// Wraps this memory, if it is aligned.
    ///
    /// # Safety
    /// As for [`Region::new`](super::Region::new).
    pub unsafe fn of(base: *mut u8, bytes: usize) -> Result<Self, Refused> {
        if base.align_offset(align_of::<Header>()) != 0 {
            return Err(Refused::Misaligned);
        }
        Ok(MappedMemory {
            base,
            bytes,
            mapped: PhantomData,
        })
    }

    /// The header, if the memory is long enough.
    pub fn header(&self) -> Result<&'m Header, Refused> {
        self.table(0, 1)
            .and_then(<[Header]>::first)
            .ok_or(Refused::TooShort(self.bytes, size_of::<Header>()))
    }

    /// The `count` stations that follow the header. The header's size keeps the stations aligned.
    pub fn stations<L: Layout>(&self, count: u32) -> Result<&'m [StationOf<L>], Refused> {
        let stations_bytes = (count as usize).saturating_mul(size_of::<StationOf<L>>());
        let needed_bytes = stations_bytes.saturating_add(size_of::<Header>());
        match self.table(size_of::<Header>() as u64, count) {
            None => Err(Refused::TooShort(self.bytes, needed_bytes)),
            Some([]) => Err(Refused::NoStations),
            Some(stations) => Ok(stations),
        }
    }

    /// Lanes and their records; both are empty unless both tables exist.
    pub fn lanes(&self, lanes: &Span, records: &Span) -> (&'m [Lane], &'m [LaneRecord]) {
        self.span(lanes).zip(self.span(records)).unwrap_or_default()
    }

    /// The table that this span of the header describes, with its bounds copied once.
    pub(super) fn span<T: AtomicsOnly>(&self, span: &Span) -> Option<&'m [T]> {
        let offset = span.offset_bytes.load(Ordering::Relaxed);
        let entries = span.entries.load(Ordering::Relaxed);
        let same_size = span.entry_bytes.load(Ordering::Relaxed) as usize == size_of::<T>();
        if offset == 0 || !same_size {
            return None;
        }
        self.table(offset, entries)
    }

    /// `count` entries of `T` from byte `offset` on. `None` if they do not fit or are not aligned.
    fn table<T: AtomicsOnly>(&self, offset: u64, count: u32) -> Option<&'m [T]> {
        let offset = usize::try_from(offset).ok()?;
        let end = size_of::<T>()
            .checked_mul(count as usize)?
            .checked_add(offset)?;
        if end > self.bytes || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: `offset .. end` lies in the mapping (just checked), which lasts for all of `'m`
        // (promised to `of`). It is aligned for `T`: the base is aligned to 256, the largest
        // alignment of our types. `T` is made of atomics, so writes by other threads or processes
        // are no data race and no bit pattern is invalid.
        Some(unsafe { slice::from_raw_parts(self.base.add(offset).cast(), count as usize) })
    }
}

/// A type that consists of atomics only, so that every bit pattern is a value.
///
/// # Safety
/// The type has no field that is not an atomic, and no padding.
pub(super) unsafe trait AtomicsOnly {}

// SAFETY: an atomic.
unsafe impl AtomicsOnly for AtomicU32 {}
// SAFETY: made of atomics, as all structs of `layout.rs`.
unsafe impl AtomicsOnly for Header {}
// SAFETY: as above.
unsafe impl<L: Layout> AtomicsOnly for StationOf<L> {}
// SAFETY: as above.
unsafe impl<L: Layout> AtomicsOnly for InternedOf<L> {}
// SAFETY: as above.
unsafe impl AtomicsOnly for Attach {}
// SAFETY: as above.
unsafe impl AtomicsOnly for Lane {}
// SAFETY: as above.
unsafe impl AtomicsOnly for LaneRecord {}
