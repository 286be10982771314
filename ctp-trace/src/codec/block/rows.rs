//! The latest rows of a block, before they are split into columns. Each row is a word, and many rows are
//! split at once, because that is faster.

use super::{COLUMNS, Column};
use crate::codec::varint::{put_uint, zigzag};
use crate::record::Nanos;

/// Control bytes, and the time since the previous row.
#[derive(Default)]
pub(super) struct Rows {
    /// Each word has the zigzag step of the time in the upper 24 bits and the control byte in the low 8 bits.
    words: Vec<u32>,
}

const STEP_BITS: u32 = 24;
const STEP_SHIFT: u32 = 8;
/// The second column of times begins at this bit. Steps of words below [`LONG`] take a single byte in this
/// column.
const HIGH_SHIFT: u32 = STEP_SHIFT + 8;
const LONG: u32 = 1 << (HIGH_SHIFT + 7);
/// The number of words that are checked together.
const PART: usize = 64;

impl Rows {
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Adds a row with the encoded time since the previous row. Returns false if the time does not fit a
    /// word.
    #[inline]
    pub fn push(&mut self, control: u8, step: u64) -> bool {
        let fits = step >> STEP_BITS == 0;
        if fits {
            self.words
                .push(u32::from(control) | (step as u32) << STEP_SHIFT);
        }
        fits
    }

    /// Moves all rows to their columns.
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

/// The time from `before` to `at`, as encoded in the columns.
#[inline]
pub(super) fn step(before: Nanos, at: Nanos) -> u64 {
    zigzag(at.0.wrapping_sub(before.0) as i64)
}
