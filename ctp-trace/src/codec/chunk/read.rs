//! Finds the chunks of a file.

use std::io;

use zstd::bulk::Decompressor;

use super::{CRC, checksum};
use crate::error::{Error, Malformed};
use crate::format::{CHUNK_FLAGS, CHUNK_HEADER_BYTES, CHUNK_MARK, COMPRESSED, MAX_PAYLOAD_BYTES};
use crate::source::Source;

/// Maximum number of false marks (chunk marks without a whole chunk) that are tried in a file. Undamaged
/// files have at most one. A mark that states a large chunk counts several times, because its checksum
/// takes longer.
const MAX_FALSE_MARKS: u64 = 1024;
/// The stated size that counts as one false mark.
const FALSE_MARK_BYTES: u64 = 64 << 10;
/// Bytes that are searched for a mark at a time.
const SEARCHED_BYTES: usize = 64 << 10;

pub(crate) struct Chunks<'a> {
    source: Box<dyn Source + 'a>,
    /// The first byte that was not read.
    pub(crate) offset: u64,
    expected: u32,
    /// The number of lost events that the last whole chunk states.
    pub(crate) lost: u64,
    /// The largest number of lost events that any whole chunk states so far.
    pub(crate) most_lost: u64,
    false_marks: u64,
}

impl<'a> Chunks<'a> {
    /// `offset` is the end of the file header.
    pub(crate) fn new(source: Box<dyn Source + 'a>, offset: u64) -> Self {
        Chunks {
            offset: offset.min(source.length()),
            source,
            expected: 0,
            lost: 0,
            most_lost: 0,
            false_marks: 0,
        }
    }

    fn skip_damage(&mut self) -> Option<Error> {
        let offset = self.offset;
        self.offset = self.behind_damage()?;
        self.expected = self.expected.wrapping_add(1);
        Some(Error::CorruptChunk {
            offset,
            what: "its checksum is wrong",
        })
    }

    /// The offset of the next whole chunk: where the damaged chunk claims to end if a whole chunk begins
    /// there, otherwise the next place with a whole chunk.
    fn behind_damage(&mut self) -> Option<u64> {
        let source = &*self.source;
        if let Some(next) = Header::at(source, self.offset).map(|header| header.end(self.offset))
            && Chunk::at(source, next).is_some()
        {
            return Some(next);
        }
        let mut from = self.offset + 1;
        while self.false_marks < MAX_FALSE_MARKS {
            from = find_mark(source, from)?;
            if Chunk::at(source, from).is_some() {
                return Some(from);
            }
            let stated = Header::at(source, from).map_or(0, |header| header.stored_bytes() as u64);
            self.false_marks += 1 + stated / FALSE_MARK_BYTES;
            from += 1;
        }
        None
    }
}

impl Iterator for Chunks<'_> {
    type Item = Result<Chunk, Error>;

    /// Returns `None` once no whole chunk follows.
    fn next(&mut self) -> Option<Self::Item> {
        let Some(chunk) = Chunk::at(&*self.source, self.offset) else {
            return self.skip_damage().map(Err);
        };
        let expected = self.expected;
        if chunk.sequence != expected {
            self.expected = chunk.sequence;
            let (offset, found) = (chunk.offset, chunk.sequence);
            return Some(Err(Error::MissingChunk {
                offset,
                expected,
                found,
            }));
        }
        self.expected = expected.wrapping_add(1);
        self.offset += chunk.frame.len() as u64;
        self.lost = chunk.lost;
        self.most_lost = self.most_lost.max(chunk.lost);
        Some(Ok(chunk))
    }
}

/// A chunk with a valid checksum.
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) kind: u16,
    flags: u16,
    raw_bytes: usize,
    lost: u64,
    sequence: u32,
    frame: Vec<u8>,
}

impl Chunk {
    fn at(source: &dyn Source, offset: u64) -> Option<Self> {
        let header = Header::at(source, offset)?;
        // A truncated chunk is not read at all.
        if source.length() < header.end(offset) {
            return None;
        }
        let mut frame = vec![0; CHUNK_HEADER_BYTES + header.stored_bytes()];
        let is_whole = source.read_at(offset, &mut frame) == frame.len();
        if !is_whole || header.word(CRC) != checksum(&frame) {
            return None;
        }
        Some(Chunk {
            offset,
            kind: header.half(4),
            flags: header.half(6),
            raw_bytes: header.raw_bytes(),
            lost: u64::from(header.word(16)) | u64::from(header.word(20)) << 32,
            sequence: header.word(24),
            frame,
        })
    }

    /// The payload, decompressed into the memory of `decompressor`.
    pub(crate) fn payload<'p>(
        &'p self,
        decompressor: &'p mut ChunkDecompressor,
    ) -> Result<&'p [u8], Malformed> {
        let stored = &self.frame[CHUNK_HEADER_BYTES..];
        if self.flags & !CHUNK_FLAGS != 0 {
            return Err(Malformed("it has unknown flags"));
        }
        let payload = if self.flags & COMPRESSED == 0 {
            stored
        } else {
            decompressor.decompress(stored, self.raw_bytes)?
        };
        if payload.len() != self.raw_bytes {
            return Err(Malformed("its length is wrong"));
        }
        Ok(payload)
    }
}

/// A decompressor and its output, kept from chunk to chunk: making them takes as long as decompressing a small chunk.
#[derive(Default)]
pub(crate) struct ChunkDecompressor {
    /// Made for the first chunk that is compressed.
    zstd: Option<Decompressor<'static>>,
    output: Vec<u8>,
}

impl ChunkDecompressor {
    fn decompress(&mut self, stored: &[u8], raw_bytes: usize) -> Result<&[u8], Malformed> {
        self.output.clear();
        self.output.reserve_exact(raw_bytes);
        self.decompress_into_output(stored)
            .map_err(|_| Malformed("it cannot be decompressed"))?;
        Ok(&self.output)
    }

    fn decompress_into_output(&mut self, stored: &[u8]) -> io::Result<usize> {
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(Decompressor::new()?),
        };
        zstd.decompress_to_buffer(stored, &mut self.output)
    }
}

/// A chunk header with plausible sizes.
struct Header([u8; CHUNK_HEADER_BYTES]);

impl Header {
    fn at(source: &dyn Source, offset: u64) -> Option<Self> {
        let mut header = Header([0; CHUNK_HEADER_BYTES]);
        let is_whole = source.read_at(offset, &mut header.0) == CHUNK_HEADER_BYTES;
        let is_plausible = is_whole
            && header.0.starts_with(&CHUNK_MARK)
            && header.stored_bytes() <= header.raw_bytes()
            && header.raw_bytes() <= MAX_PAYLOAD_BYTES;
        is_plausible.then_some(header)
    }

    fn stored_bytes(&self) -> usize {
        self.word(8) as usize
    }

    fn raw_bytes(&self) -> usize {
        self.word(12) as usize
    }

    /// The end of the chunk that begins here; may be beyond the end of the file.
    fn end(&self, offset: u64) -> u64 {
        offset + (CHUNK_HEADER_BYTES + self.stored_bytes()) as u64
    }

    fn half(&self, at: usize) -> u16 {
        u16::from_le_bytes([0, 1].map(|i| self.0[at + i]))
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes([0, 1, 2, 3].map(|i| self.0[at + i]))
    }
}

/// The offset of the next mark. Holes in a file are skipped, since they contain no mark.
fn find_mark(source: &dyn Source, mut from: u64) -> Option<u64> {
    let mut part = vec![0; SEARCHED_BYTES];
    loop {
        from = source.next_data(from);
        let read = source.read_at(from, &mut part);
        let mut windows = part[..read].windows(CHUNK_MARK.len());
        if let Some(at) = windows.position(|window| window == CHUNK_MARK) {
            return Some(from + at as u64);
        }
        // A mark may begin in the last bytes of this part.
        from += read
            .checked_sub(CHUNK_MARK.len() - 1)
            .filter(|index| *index > 0)? as u64;
    }
}
