//! Memory for the recorder to read: small, so that few bytes change much of it.
#![allow(unsafe_code, reason = "lays out a memory, and writes over all of it")]

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

/// Which tables are there, and what is kept in them.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    pub sums_up: bool,
    pub has_lanes: bool,
    pub is_flight: bool,
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
                whole.extend(mode.is_flight);
            }
            whole
        })
    }

    /// Tells where the tables behind the bare memory lie, at the places of `ctp-nostd/LAYOUT.md`.
    fn extend(&'static self, is_flight: bool) {
        self.place(0x1C0, &self.lanes);
        self.place(0x1E0, &self.chains);
        self.place(0x200, &self.attaches);
        self.place(0x220, &self.free);
        self.place(0x230, &self.records);
        if is_flight {
            self.put_byte(0xCC, MODE_FLIGHT as u8);
        }
    }

    fn place<T>(&'static self, span: u16, table: &[T]) {
        let offset = table.as_ptr() as u64 - self.start() as u64;
        let (entries, entry_bytes) = (table.len() as u64, size_of::<T>() as u64);
        self.put_word(span / 8, offset);
        self.put_word(span / 8 + 1, entry_bytes << 32 | entries);
    }

    /// What the recorder makes of it, unless it refuses it.
    pub fn view(&'static self) -> Option<Region<'static>> {
        // SAFETY: mapped for ever, all of it atomics.
        unsafe { Region::new(self.start(), size_of::<Self>(), u32::MAX) }.ok()
    }

    pub fn put_byte(&'static self, at: usize, byte: u8) {
        let at = at % size_of::<Self>();
        // SAFETY: within the leaked memory, all of it atomics, and nobody else is there.
        unsafe { AtomicU8::from_ptr(self.start().add(at)) }.store(byte, Relaxed);
    }

    pub fn put_word(&'static self, place: u16, word: u64) {
        let at = usize::from(place) % (size_of::<Self>() / 8) * 8;
        // SAFETY: as above; eight bytes from a multiple of eight.
        unsafe { AtomicU64::from_ptr(self.start().add(at).cast()) }.store(word, Relaxed);
    }

    fn start(&'static self) -> *mut u8 {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}
