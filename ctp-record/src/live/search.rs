//! Finds the probe's memory in ranges of addresses. A memory is aligned to 256 bytes, so few places
//! are compared with the magics.

use std::ops::Range;

use ctp_nostd::layout::{Compact, Full, Header, Layout as _};

use super::shape::Shape;
use super::source::{LiveSource, SourceError};
use crate::image::words::field;

/// The alignment of a memory.
const ALIGNMENT: usize = align_of::<Header>();

/// How many bytes are searched at a time, beside those of a header that begins at the end.
const CHUNK: u64 = 1 << 16;
const BEYOND: u64 = size_of::<Header>() as u64;

/// The address of the first memory in which a coroutine was born, else of the first memory. The program's
/// file in the target's memory may contain the initial content of the static, in which no coroutine was
/// born.
///
/// # Errors
/// The target cannot be read, or has only a memory with the layout of another version.
pub fn search(
    source: &mut dyn LiveSource,
    ranges: impl IntoIterator<Item = Range<u64>>,
) -> Result<Option<u64>, SourceError> {
    let mut found = Found::default();
    for range in ranges {
        if let Some(address) = found.search(source, range)? {
            return Ok(Some(address));
        }
    }
    if found.first.is_none() && found.is_other_layout {
        return Err(SourceError::OtherLayout);
    }
    Ok(found.first)
}

/// The memories in which no coroutine was born.
#[derive(Default)]
struct Found {
    first: Option<u64>,
    is_other_layout: bool,
}

impl Found {
    /// Searches a range. Returns the address of a memory in which a coroutine was born.
    fn search(
        &mut self,
        source: &mut dyn LiveSource,
        range: Range<u64>,
    ) -> Result<Option<u64>, SourceError> {
        let mut begin = range.start.next_multiple_of(ALIGNMENT as u64);
        while begin < range.end {
            let mut chunk = vec![0; (range.end - begin).min(CHUNK + BEYOND) as usize];
            source.read(begin, &mut chunk)?;
            let places = chunk.windows(BEYOND as usize).step_by(ALIGNMENT);
            for (address, place) in (begin..).step_by(ALIGNMENT).zip(places) {
                match candidate(place) {
                    Some(Candidate::WithCoroutine) => return Ok(Some(address)),
                    Some(Candidate::Empty) => self.first = self.first.or(Some(address)),
                    Some(Candidate::OtherLayout) => self.is_other_layout = true,
                    None => {}
                }
            }
            begin += CHUNK;
        }
        Ok(None)
    }
}

enum Candidate {
    WithCoroutine,
    Empty,
    OtherLayout,
}

/// Whether a memory begins here. The header takes all of these bytes.
fn candidate(place: &[u8]) -> Option<Candidate> {
    if ![Full::MAGIC, Compact::MAGIC].contains(&field(place, "magic")) {
        return None;
    }
    match (Shape::of(place), field(place, "allocated_count")) {
        (Ok(_), 0) => Some(Candidate::Empty),
        (Ok(_), _) => Some(Candidate::WithCoroutine),
        (Err(SourceError::OtherLayout), _) => Some(Candidate::OtherLayout),
        // The magic may be a constant of the program's code.
        (Err(_), _) => None,
    }
}
