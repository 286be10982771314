//! Encodes records to the bytes of a trace.

mod composer;

use std::io::{self, Write};

use crate::codec::chunk::ChunkWriter;
use crate::record::{End, Event, Record, Start};
pub use composer::Composer;

/// Writes a trace record by record.
///
/// Records are collected into chunks of some thousand records. A reader of an unfinished recording sees
/// what was written before the last [`flush`](Writer::flush). Only [`finish`](Writer::finish) completes a
/// trace; dropping the writer leaves a truncated trace.
///
/// After an error of `out`, the records of the failed chunk are lost. The writer can still be used: a
/// reader reports the gap.
///
/// ```
/// use ctp_trace::record::{End, Event, Record, Start};
/// use ctp_trace::{Completeness, Reader, Writer};
///
/// let mut writer = Writer::new(Vec::new(), &Start::default())?;
/// writer.write(&Record::Event(Event::default()))?;
/// let bytes = writer.finish(&End::default())?;
///
/// let mut reader = Reader::new(&bytes)?;
/// assert_eq!(reader.by_ref().count(), 3);
/// assert_eq!(reader.completeness(), Completeness::Whole);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a trace is truncated until it is finished"]
pub struct Writer<W: Write> {
    composer: Composer,
    chunks: ChunkWriter<W>,
}

impl<W: Write> Writer<W> {
    /// Writes the file header and the start.
    ///
    /// # Errors
    /// Those of `out`, and `InvalidInput` if `start` exceeds the maximum size of a chunk.
    pub fn new(out: W, start: &Start) -> io::Result<Self> {
        Self::with(ChunkWriter::new(out)?, start)
    }

    /// Like [`new`](Self::new), but chunks are not compressed: for a trace in memory that is read at once.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn uncompressed(out: W, start: &Start) -> io::Result<Self> {
        Self::with(ChunkWriter::uncompressed(out)?, start)
    }

    fn with(chunks: ChunkWriter<W>, start: &Start) -> io::Result<Self> {
        let mut writer = Writer {
            chunks,
            composer: Composer::new(start),
        };
        writer.put_chunks()?;
        Ok(writer)
    }

    /// Adds a record, which must follow those that it refers to.
    ///
    /// # Errors
    /// Those of `out`. `InvalidInput`, without writing anything, for a record that exceeds the maximum
    /// size, and for a start or an end: those belong to `new` and `finish`.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.composer.add(record)?;
        self.put_chunks()
    }

    /// Like [`write`](Self::write), for an event.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_event(&mut self, event: &Event) -> io::Result<()> {
        self.composer.add_events(std::slice::from_ref(event));
        self.put_chunks()
    }

    /// Ends the current chunks and flushes, so that a reader sees all records so far.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.composer.cut();
        self.put_chunks()?;
        self.chunks.flush()
    }

    /// Sets the number of events lost so far. Every later chunk has this number, so readers know the
    /// number even if the end is never written.
    pub fn set_lost(&mut self, lost: u64) {
        self.chunks.set_lost(lost);
    }

    /// Turns the compression of the following chunks off or on. Compression costs time and saves only
    /// space.
    pub fn set_hurried(&mut self, hurried: bool) {
        self.chunks.set_hurried(hurried);
    }

    /// Bytes written to `out` so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.chunks.bytes()
    }

    /// Writes the remaining records and the final account, flushes, and returns `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(mut self, end: &End) -> io::Result<W> {
        self.composer.end(end);
        self.put_chunks()?;
        self.chunks.flush()?;
        Ok(self.chunks.into_inner())
    }

    /// Writes the finished chunks. After a failure, the remaining chunks wait for the next call.
    #[inline]
    fn put_chunks(&mut self) -> io::Result<()> {
        while let Some(chunk) = self.composer.next_chunk() {
            let written = self.chunks.put(&chunk);
            self.composer.reuse(chunk);
            written?;
        }
        Ok(())
    }
}
