//! Chunks: they make a file readable up to its last whole chunk, and after damage.

mod read;

use std::io::{self, Write};

use crate::codec::header;
use crate::codec::payload::{Compress, Compressors, Payload};
use crate::format::{
    CHUNK_HEADER_BYTES, CHUNK_MARK, COMPRESSED, MAX_PAYLOAD_BYTES, SMALL_PAYLOAD_BYTES,
};

pub(crate) use read::{Chunk, ChunkDecompressor, Chunks};

/// Offset of the checksum, at the end of the chunk header.
const CRC: usize = CHUNK_HEADER_BYTES - 4;

/// The writing half of a [`Writer`](crate::Writer): compresses and numbers chunks, adds checksums, and writes
/// the chunks.
pub struct ChunkWriter<W> {
    out: W,
    bytes: u64,
    sequence: u32,
    lost: u64,
    is_hurried: bool,
    /// `None` if chunks are never compressed. A program that creates only such writers contains no compressor.
    compressors: Option<Box<dyn Compress>>,
    frame: Vec<u8>,
}

impl<W: Write> ChunkWriter<W> {
    /// Writes the file header. Compresses the chunks that follow.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        Self::with(out, Some(Box::new(Compressors::new()?)))
    }

    /// Like [`new`](Self::new), but chunks are not compressed.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn uncompressed(out: W) -> io::Result<Self> {
        Self::with(out, None)
    }

    fn with(mut out: W, compressors: Option<Box<dyn Compress>>) -> io::Result<Self> {
        let file_header = header::encode();
        out.write_all(&file_header)?;
        Ok(ChunkWriter {
            out,
            bytes: file_header.len() as u64,
            sequence: 0,
            lost: 0,
            is_hurried: false,
            compressors,
            frame: Vec::new(),
        })
    }

    /// Sets the number of events lost so far. Every later chunk has this number, so readers know the
    /// number even if the end is never written.
    pub fn set_lost(&mut self, lost: u64) {
        self.lost = lost;
    }

    /// Turns the compression of the following chunks off or on. Compression costs time and saves only
    /// space.
    pub fn set_hurried(&mut self, hurried: bool) {
        self.is_hurried = hurried;
    }

    /// Bytes written to `out` so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes a chunk in a single call of `write`. If this fails, the chunk is lost; the sequence numbers
    /// show this.
    ///
    /// # Errors
    /// Those of `out`. `InvalidInput`, without writing anything, if the chunk exceeds the maximum size.
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

    /// Returns `out`.
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

    /// Appends the payload, compressed if that is shorter. Returns the chunk flags.
    fn fill_payload(&mut self, payload: &Payload) -> u16 {
        let is_worthwhile = !self.is_hurried && payload.bytes.len() >= SMALL_PAYLOAD_BYTES;
        if is_worthwhile && self.compress(payload).is_some() {
            return COMPRESSED;
        }
        self.frame.truncate(CHUNK_HEADER_BYTES);
        self.frame.extend_from_slice(&payload.bytes);
        0
    }

    /// Appends the compressed payload. `None` if the payload does not shrink, or is not to be compressed.
    fn compress(&mut self, payload: &Payload) -> Option<()> {
        let compressors = self.compressors.as_mut()?;
        let mut end = CHUNK_HEADER_BYTES;
        self.frame.resize(end + payload.bytes.len() - 1, 0);
        for (part, kind) in payload.parts() {
            let out = &mut self.frame[end..];
            end += compressors.compress(part, kind, out).ok()?;
        }
        self.frame.truncate(end);
        Some(())
    }
}

/// A chunk before it is compressed and numbered and gets a checksum.
pub struct RawChunk {
    kind: u16,
    pub(crate) payload: Payload,
}

impl RawChunk {
    pub(crate) fn new(kind: u16, payload: Payload) -> Self {
        RawChunk { kind, payload }
    }

    /// The size of the payload.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.payload.bytes.len()
    }
}

/// The checksum of a chunk, which excludes the checksum field.
fn checksum(frame: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&frame[..CRC]);
    crc.update(&frame[CHUNK_HEADER_BYTES..]);
    crc.finalize()
}
