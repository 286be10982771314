//! Rows that are in no column yet: one word is kept of each, and the columns take many at once.

use super::{COLUMNS, Column};
use crate::codec::varint::{put_uint, zigzag};
use crate::record::Nanos;

/// Control bytes, and times since the rows before.
#[derive(Default)]
pub(super) struct Rows {
    /// {zigzag step of the time 24 | control 8}
    words: Vec<u32>,
}

const STEP_BITS: u32 = 24;
const STEP_SHIFT: u32 = 8;
/// The second column of times begins here; it has one byte of a step below [`LONG`].
const HIGH_SHIFT: u32 = STEP_SHIFT + 8;
const LONG: u32 = 1 << (HIGH_SHIFT + 7);
/// So many are looked at together.
const PART: usize = 64;

impl Rows {
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// A row with a time, so much later than the one before as two times differ. False if that is too
    /// long for a word.
    #[inline]
    pub fn push(&mut self, control: u8, step: u64) -> bool {
        let fits = step >> STEP_BITS == 0;
        if fits {
            self.words
                .push(u32::from(control) | (step as u32) << STEP_SHIFT);
        }
        fits
    }

    /// Puts all of them into their columns.
    pub fn settle(&mut self, columns: &mut [Vec<u8>; COLUMNS]) {
        let all = self.words.iter();
        columns[Column::Control.index()].extend(all.clone().map(|word| *word as u8));
        columns[Column::Time.index()].extend(all.map(|word| (word >> STEP_SHIFT) as u8));
        let high = &mut columns[Column::TimeHigh.index()];
        for part in self.words.chunks(PART) {
            if part.iter().all(|word| *word < LONG) {
                high.extend(part.iter().map(|word| (word >> HIGH_SHIFT) as u8));
            } else {
                let steps = part.iter().map(|word| word >> HIGH_SHIFT);
                steps.for_each(|step| put_uint(high, step.into()));
            }
        }
        self.words.clear();
    }
}

/// How much later, as the columns have it.
#[inline]
pub(super) fn step(before: Nanos, at: Nanos) -> u64 {
    zigzag(at.0.wrapping_sub(before.0) as i64)
}
