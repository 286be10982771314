//! Shared memory for the recorder to read. The memory is small, so a few bytes change much of it.
#![allow(unsafe_code, reason = "lays out a memory, and overwrites any of it")]

use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use ctp_nostd::aggregate::{Bins, MODE_FLIGHT};
use ctp_nostd::layout::{Attach, Interned, Lane, LaneRecord};
use ctp_nostd::{Memory, Region};

pub const STATIONS: usize = 4;
const ENTRIES: usize = 8;
const ATTACHES: usize = 2;
const LANES: usize = 2;
const RECORDS: usize = 32;
const SHORT_RECORDS: usize = 8;

/// Which tables the memory has, and what is recorded there.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    pub sums_up: bool,
    pub has_lanes: bool,
    pub is_flight: bool,
    pub has_short_lanes: bool,
}

/// The memory of a program without an operating system, and the tables that a recorder adds.
#[repr(C, align(1024))]
pub struct WholeMemory {
    bare: Memory<STATIONS, ENTRIES>,
    chains: [Interned; ENTRIES],
    lanes: [Lane; LANES],
    records: [LaneRecord; LANES * RECORDS],
    attaches: [Attach; ATTACHES],
    free: [AtomicU32; STATIONS],
    short_lanes: [Lane; 1],
    short_records: [LaneRecord; SHORT_RECORDS],
}

impl Mode {
    /// The size of the memory. Without short lanes the size is as before they existed, so that old
    /// inputs keep their meaning.
    fn bytes(self) -> usize {
        if self.has_short_lanes {
            size_of::<WholeMemory>()
        } else {
            offset_of!(WholeMemory, short_lanes).next_multiple_of(align_of::<WholeMemory>())
        }
    }
}

impl WholeMemory {
    /// A zeroed memory for an input. All inputs on a thread share the allocation, which is never freed
    /// because coroutines need a `'static` memory.
    pub fn fresh(mode: Mode) -> &'static Self {
        thread_local! {
            static WHOLE: *mut WholeMemory = Box::into_raw(Box::<WholeMemory>::new_uninit()).cast();
        }
        WHOLE.with(|whole| {
            // SAFETY: the memory is never freed, and no reference from an earlier call is left (see
            // `region`). The memory consists of atomics, for which zero is valid.
            let whole = unsafe {
                whole.write_bytes(0, 1);
                let bare = Memory::new();
                (&raw mut (**whole).bare).write(if mode.sums_up {
                    bare.with_aggregates(Bins::USUAL)
                } else {
                    bare
                });
                &**whole
            };
            if mode.has_lanes {
                whole.extend(mode);
            }
            whole
        })
    }

    /// Writes the spans of the tables behind the bare memory, at the offsets in `ctp-nostd/LAYOUT.md`.
    fn extend(&'static self, mode: Mode) {
        self.place(0x1C0, &self.lanes);
        self.place(0x1E0, &self.chains);
        self.place(0x200, &self.attaches);
        self.place(0x220, &self.free);
        self.place(0x230, &self.records);
        if mode.has_short_lanes {
            self.place(0x240, &self.short_lanes);
            self.place(0x250, &self.short_records);
        }
        if mode.is_flight {
            self.room(mode).put_byte(0xCC, MODE_FLIGHT as u8);
        }
    }

    fn place<T>(&'static self, span: u16, table: &[T]) {
        let offset = table.as_ptr() as u64 - self.start() as u64;
        let (entries, entry_bytes) = (table.len() as u64, size_of::<T>() as u64);
        let room = Room(vec![piece(std::slice::from_ref(self))]);
        room.put_word(span / 8, offset);
        room.put_word(span / 8 + 1, entry_bytes << 32 | entries);
    }

    /// The recorder's view of the memory; `None` if the recorder refuses the memory.
    pub fn view(&'static self, mode: Mode) -> Option<Region<'static>> {
        // SAFETY: never freed, and consists of atomics.
        unsafe { Region::new(self.start(), mode.bytes(), u32::MAX) }.ok()
    }

    pub fn room(&'static self, mode: Mode) -> Room {
        Room(vec![(self.start(), mode.bytes())])
    }

    fn start(&'static self) -> *mut u8 {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

/// The writable pieces of a memory, addressed as if they were contiguous. Each piece has whole words.
pub struct Room(Vec<(*mut u8, usize)>);

impl Room {
    /// The pieces of a memory that a recorder made: everything that events use, and a part of each table.
    pub fn of(region: &Region<'static>) -> Self {
        Room(vec![
            piece(std::slice::from_ref(region.header)),
            piece(region.stations),
            piece(region.lanes),
            piece(region.records),
            piece(&region.attaches[..ATTACHES]),
            piece(region.free),
            piece(&region.sites[..ENTRIES]),
            piece(&region.names[..ENTRIES]),
            piece(&region.chains[..ENTRIES]),
            piece(region.short.lanes),
            piece(region.short.records),
        ])
    }

    pub fn put_byte(&self, at: usize, byte: u8) {
        let place = self.place(at);
        // SAFETY: within live memory that consists of atomics and that only this thread accesses.
        unsafe { AtomicU8::from_ptr(place) }.store(byte, Relaxed);
    }

    pub fn put_word(&self, at: u16, word: u64) {
        let place = self.place(usize::from(at) * 8);
        // SAFETY: as above; eight aligned bytes, since every piece has whole words.
        unsafe { AtomicU64::from_ptr(place.cast()) }.store(word, Relaxed);
    }

    fn place(&self, at: usize) -> *mut u8 {
        let mut at = at % self.0.iter().map(|(_, bytes)| bytes).sum::<usize>();
        for &(start, bytes) in &self.0 {
            if at < bytes {
                // SAFETY: within the piece.
                return unsafe { start.add(at) };
            }
            at -= bytes;
        }
        unreachable!("the offset is less than the sum of all pieces")
    }
}

fn piece<T>(table: &[T]) -> (*mut u8, usize) {
    let bytes = size_of_val(table) / 8 * 8;
    (table.as_ptr().cast_mut().cast(), bytes)
}
