//! Chunks: what makes a file readable up to its last whole chunk, and behind damage.

use std::borrow::Cow;
use std::io::{self, Write};

use zstd::bulk::Decompressor;

use crate::error::{Error, Malformed};
use crate::format::{
    CHUNK_FLAGS, CHUNK_HEADER_BYTES, CHUNK_MARK, COMPRESSED, MAX_PAYLOAD_BYTES, SMALL_PAYLOAD_BYTES,
};
use crate::header;
use crate::payload::{Compressors, Payload};

/// Marks without a whole chunk behind them that are tried in one file: no honest one has two.
const MAX_FALSE_MARKS: u32 = 1024;
/// Where the checksum stands, at the end of the chunk header.
const CRC: usize = CHUNK_HEADER_BYTES - 4;

/// Half of a [`Writer`](crate::Writer): numbers, compresses, seals and writes one chunk after the
/// other.
pub struct ChunkWriter<W> {
    out: W,
    bytes: u64,
    sequence: u32,
    lost: u64,
    is_hurried: bool,
    compressors: Compressors,
    frame: Vec<u8>,
}

impl<W: Write> ChunkWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W) -> io::Result<Self> {
        let file_header = header::encode();
        out.write_all(&file_header)?;
        Ok(ChunkWriter {
            out,
            bytes: file_header.len() as u64,
            sequence: 0,
            lost: 0,
            is_hurried: false,
            compressors: Compressors::new()?,
            frame: Vec::new(),
        })
    }

    /// Events lost so far: each later chunk carries the number, also if the end is never written.
    pub fn set_lost(&mut self, lost: u64) {
        self.lost = lost;
    }

    /// Leaves out what costs much time and saves only room, the compression of what follows, until
    /// told otherwise.
    pub fn set_hurried(&mut self, hurried: bool) {
        self.is_hurried = hurried;
    }

    /// Bytes given to `out` so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// One call of `write`. A chunk that fails is lost; its number says so.
    ///
    /// # Errors
    /// Those of `out`. `InvalidInput`, with nothing written, when it is larger than a chunk can be.
    pub fn put(&mut self, RawChunk { kind, payload }: &RawChunk) -> io::Result<()> {
        if payload.bytes.len() > MAX_PAYLOAD_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a record is too large",
            ));
        }
        self.fill_frame(*kind, payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.out.write_all(&self.frame)?;
        self.bytes += self.frame.len() as u64;
        Ok(())
    }

    /// Flushes `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Gives `out` back.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn fill_frame(&mut self, kind: u16, payload: &Payload) {
        self.frame.clear();
        self.frame.resize(CHUNK_HEADER_BYTES, 0);
        let flags = self.fill_payload(payload);
        let stored = (self.frame.len() - CHUNK_HEADER_BYTES) as u32;
        let header = &mut self.frame[..CHUNK_HEADER_BYTES];
        header[..4].copy_from_slice(&CHUNK_MARK);
        header[4..6].copy_from_slice(&kind.to_le_bytes());
        header[6..8].copy_from_slice(&flags.to_le_bytes());
        header[8..12].copy_from_slice(&stored.to_le_bytes());
        header[12..16].copy_from_slice(&(payload.bytes.len() as u32).to_le_bytes());
        header[16..24].copy_from_slice(&self.lost.to_le_bytes());
        header[24..28].copy_from_slice(&self.sequence.to_le_bytes());
        let crc = checksum(&self.frame);
        self.frame[CRC..CHUNK_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    }

    /// Appends the payload, compressed where that is shorter, and returns the flags that say so.
    fn fill_payload(&mut self, payload: &Payload) -> u16 {
        let is_worth_it = !self.is_hurried && payload.bytes.len() >= SMALL_PAYLOAD_BYTES;
        if is_worth_it && self.compress(payload).is_ok() {
            return COMPRESSED;
        }
        self.frame.truncate(CHUNK_HEADER_BYTES);
        self.frame.extend_from_slice(&payload.bytes);
        0
    }

    /// Fails for want of room when the payload does not shrink.
    fn compress(&mut self, payload: &Payload) -> io::Result<()> {
        let mut end = CHUNK_HEADER_BYTES;
        self.frame.resize(end + payload.bytes.len() - 1, 0);
        for (part, sort) in payload.parts() {
            let out = &mut self.frame[end..];
            end += self.compressors.compress(part, sort, out)?;
        }
        self.frame.truncate(end);
        Ok(())
    }
}

/// A chunk that is not compressed, numbered and sealed yet.
pub struct RawChunk {
    kind: u16,
    pub(crate) payload: Payload,
}

impl RawChunk {
    pub(crate) fn new(kind: u16, payload: Payload) -> Self {
        RawChunk { kind, payload }
    }

    /// How much it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.payload.bytes.len()
    }
}

/// The reading half: finds one whole chunk after the other.
pub(crate) struct Chunks<'a> {
    bytes: &'a [u8],
    offset: usize,
    expected: u32,
    lost: u64,
    false_marks: u32,
}

impl<'a> Chunks<'a> {
    /// `offset` is where the file header ends.
    pub(crate) fn new(bytes: &'a [u8], offset: usize) -> Self {
        Chunks {
            bytes,
            offset: offset.min(bytes.len()),
            expected: 0,
            lost: 0,
            false_marks: 0,
        }
    }

    /// The first byte that was not read.
    pub(crate) fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// What the last whole chunk says was lost before it.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    fn skip_damage(&mut self) -> Option<Error> {
        let offset = self.offset as u64;
        self.offset = self.behind_damage()?;
        self.expected = self.expected.wrapping_add(1);
        Some(Error::CorruptChunk {
            offset,
            what: "its checksum is wrong",
        })
    }

    /// The next whole chunk: where the damaged one says that it ends, else wherever there is one.
    fn behind_damage(&mut self) -> Option<usize> {
        if let Some(next) = stated_end(self.bytes, self.offset)
            && Chunk::at(self.bytes, next).is_some()
        {
            return Some(next);
        }
        let mut from = self.offset + 1;
        while self.false_marks < MAX_FALSE_MARKS {
            from += find_mark(self.bytes.get(from..)?)?;
            if Chunk::at(self.bytes, from).is_some() {
                return Some(from);
            }
            self.false_marks += 1;
            from += 1;
        }
        None
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, Error>;

    /// None once no whole chunk follows.
    fn next(&mut self) -> Option<Self::Item> {
        let Some(chunk) = Chunk::at(self.bytes, self.offset) else {
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
        self.offset += CHUNK_HEADER_BYTES + chunk.stored.len();
        self.lost = chunk.lost;
        Some(Ok(chunk))
    }
}

/// A chunk whose checksum is right.
pub(crate) struct Chunk<'a> {
    pub(crate) offset: u64,
    pub(crate) kind: u16,
    flags: u16,
    raw_bytes: usize,
    lost: u64,
    sequence: u32,
    stored: &'a [u8],
}

impl<'a> Chunk<'a> {
    fn at(bytes: &'a [u8], offset: usize) -> Option<Self> {
        let end = stated_end(bytes, offset)?;
        let frame = bytes.get(offset..end)?;
        let header = Header(frame.first_chunk()?);
        if header.word(CRC) != checksum(frame) {
            return None;
        }
        Some(Chunk {
            offset: offset as u64,
            kind: header.half(4),
            flags: header.half(6),
            raw_bytes: header.word(12) as usize,
            lost: u64::from(header.word(16)) | u64::from(header.word(20)) << 32,
            sequence: header.word(24),
            stored: &frame[CHUNK_HEADER_BYTES..],
        })
    }

    /// The payload as it was before compression.
    pub(crate) fn payload(&self) -> Result<Cow<'a, [u8]>, Malformed> {
        if self.flags & !CHUNK_FLAGS != 0 {
            return Err(Malformed("it has unknown flags"));
        }
        let payload = if self.flags & COMPRESSED == 0 {
            Cow::Borrowed(self.stored)
        } else {
            Cow::Owned(decompress(self.stored, self.raw_bytes)?)
        };
        if payload.len() != self.raw_bytes {
            return Err(Malformed("its length is wrong"));
        }
        Ok(payload)
    }
}

fn decompress(stored: &[u8], raw_bytes: usize) -> Result<Vec<u8>, Malformed> {
    Decompressor::new()
        .and_then(|mut decompressor| decompressor.decompress(stored, raw_bytes))
        .map_err(|_| Malformed("it cannot be decompressed"))
}

struct Header<'a>(&'a [u8; CHUNK_HEADER_BYTES]);

impl Header<'_> {
    fn half(&self, at: usize) -> u16 {
        u16::from_le_bytes([0, 1].map(|i| self.0[at + i]))
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes([0, 1, 2, 3].map(|i| self.0[at + i]))
    }
}

/// Where the chunk at `offset` ends, if its header can be believed. That may be behind the file.
fn stated_end(bytes: &[u8], offset: usize) -> Option<usize> {
    let header = Header(bytes.get(offset..)?.first_chunk()?);
    let (stored, raw) = (header.word(8) as usize, header.word(12) as usize);
    let plausible = header.0.starts_with(&CHUNK_MARK) && stored <= raw && raw <= MAX_PAYLOAD_BYTES;
    plausible.then_some(offset + CHUNK_HEADER_BYTES + stored)
}

fn find_mark(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(CHUNK_MARK.len())
        .position(|window| window == CHUNK_MARK)
}

/// Of all of a chunk but the checksum itself.
fn checksum(frame: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&frame[..CRC]);
    crc.update(&frame[CHUNK_HEADER_BYTES..]);
    crc.finalize()
}
