//! Memory for the recorder to read: small, so that few bytes change much of it.
#![allow(unsafe_code, reason = "lays out a memory, and writes over all of it")]

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

/// Which tables are there, and what is kept in them.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    pub sums_up: bool,
    pub has_lanes: bool,
    pub is_flight: bool,
    pub has_short_lanes: bool,
}

/// What a program without an operating system has, and what a recorder lays out besides.
#[repr(C, align(1024))]
pub struct Whole {
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
    /// Of a memory: the first inputs that were kept mean what they meant before there was more of it.
    fn bytes(self) -> usize {
        match self.has_short_lanes {
            true => size_of::<Whole>(),
            false => offset_of!(Whole, short_lanes).next_multiple_of(align_of::<Whole>()),
        }
    }
}

impl Whole {
    /// One for all inputs, made anew for each: coroutines want it for ever.
    pub fn fresh(mode: Mode) -> &'static Self {
        thread_local! {
            static WHOLE: *mut Whole = Box::into_raw(Box::<Whole>::new_uninit()).cast();
        }
        WHOLE.with(|whole| {
            // SAFETY: never freed; all who had it from an earlier call are gone, see `region`. All
            // of it is atomics, for which zero is a value.
            let whole = unsafe {
                whole.write_bytes(0, 1);
                let bare = Memory::new();
                (&raw mut (**whole).bare).write(match mode.sums_up {
                    true => bare.with_aggregates(Bins::USUAL),
                    false => bare,
                });
                &**whole
            };
            if mode.has_lanes {
                whole.extend(mode);
            }
            whole
        })
    }

    /// Tells where the tables behind the bare memory lie, at the places of `ctp-nostd/LAYOUT.md`.
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

    /// What the recorder makes of it, unless it refuses it.
    pub fn view(&'static self, mode: Mode) -> Option<Region<'static>> {
        // SAFETY: mapped for ever, all of it atomics.
        unsafe { Region::new(self.start(), mode.bytes(), u32::MAX) }.ok()
    }

    pub fn room(&'static self, mode: Mode) -> Room {
        Room(vec![(self.start(), mode.bytes())])
    }

    fn start(&'static self) -> *mut u8 {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Where to write: pieces of one memory, of whole words, one after the other.
pub struct Room(Vec<(*mut u8, usize)>);

impl Room {
    /// Of a memory that a recorder made: all that events go through, and some of each table.
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
        // SAFETY: within leaked or held memory, all of it atomics, and nobody else is there.
        unsafe { AtomicU8::from_ptr(place) }.store(byte, Relaxed);
    }

    pub fn put_word(&self, at: u16, word: u64) {
        let place = self.place(usize::from(at) * 8);
        // SAFETY: as above; eight bytes from a multiple of eight, as all pieces are of words.
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
        unreachable!("it is less than their sum")
    }
}

fn piece<T>(table: &[T]) -> (*mut u8, usize) {
    let bytes = size_of_val(table) / 8 * 8;
    (table.as_ptr().cast_mut().cast(), bytes)
}
