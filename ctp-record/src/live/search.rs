//! Finds the probe's memory in a range of addresses. A `Memory` is aligned to 1 KiB, so few places are
//! compared with the magic.

use std::ops::Range;

use ctp_nostd::layout::{Header, MAGIC};

use super::memory::shape;
use super::source::{Source, SourceError};
use super::words::header_word;

/// The alignment of a memory.
const ALIGNMENT: usize = 1024;

/// How many bytes are read at a time.
const CHUNK: u64 = 1 << 16;

/// The address of the first memory in which a coroutine was born, else of the first memory. The program's
/// file in the target's memory may contain the initial content of the static, in which no coroutine was
/// born.
///
/// # Errors
/// The target cannot be read, or has only a memory with the layout of another version.
pub fn search(source: &mut dyn Source, range: Range<u64>) -> Result<Option<u64>, SourceError> {
    let (mut first, mut is_other_layout) = (None, false);
    let mut begin = range.start.next_multiple_of(ALIGNMENT as u64);
    while begin < range.end {
        let mut chunk = vec![0; (range.end - begin).min(CHUNK) as usize];
        source.read(begin, &mut chunk)?;
        for (address, place) in (begin..)
            .step_by(ALIGNMENT)
            .zip(chunk.chunks_exact(ALIGNMENT))
        {
            match candidate(place) {
                Some(Candidate::WithCoroutine) => return Ok(Some(address)),
                Some(Candidate::Empty) => first = first.or(Some(address)),
                Some(Candidate::OtherLayout) => is_other_layout = true,
                None => {}
            }
        }
        begin += CHUNK;
    }
    if first.is_none() && is_other_layout {
        return Err(SourceError::OtherLayout);
    }
    Ok(first)
}

enum Candidate {
    WithCoroutine,
    Empty,
    OtherLayout,
}

/// Whether a memory begins here. The header takes all of these bytes.
fn candidate(place: &[u8]) -> Option<Candidate> {
    const { assert!(size_of::<Header>() <= ALIGNMENT) };
    if !place.starts_with(&MAGIC.to_le_bytes()) {
        return None;
    }
    match (shape(place), header_word(place, "allocated_count")) {
        (Ok(_), 0) => Some(Candidate::Empty),
        (Ok(_), _) => Some(Candidate::WithCoroutine),
        (Err(SourceError::OtherLayout), _) => Some(Candidate::OtherLayout),
        // The magic may be a constant of the program's code.
        (Err(_), _) => None,
    }
}
