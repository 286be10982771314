//! Records to bytes.

mod composer;

use std::io::{self, Write};

use crate::codec::chunk::ChunkWriter;
use crate::record::{End, Event, Record, Start};
pub use composer::Composer;

/// Writes a trace, one record after the other.
///
/// Records are collected into chunks of some thousands. What a reader sees of a recording that
/// goes on, or that was killed, is what stood before the last [`flush`](Writer::flush). Only
/// [`finish`](Writer::finish) makes a whole trace; dropping the writer leaves a truncated one.
///
/// After an error of `out` the records that it was to take are lost. The writer may be used on: a reader
/// reports the gap.
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
    /// Those of `out`, and `InvalidInput` when `start` is larger than a chunk can be.
    pub fn new(out: W, start: &Start) -> io::Result<Self> {
        let mut writer = Writer {
            chunks: ChunkWriter::new(out)?,
            composer: Composer::new(start),
        };
        writer.put_chunks()?;
        Ok(writer)
    }

    /// Adds a record behind those that it refers to.
    ///
    /// # Errors
    /// Those of `out`. `InvalidInput`, with nothing written, for a record that is larger than a
    /// chunk can be, and for a start or an end: those belong to `new` and `finish`.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.composer.add(record)?;
        self.put_chunks()
    }

    /// Like [`write`](Self::write), but takes an event.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_event(&mut self, event: &Event) -> io::Result<()> {
        self.composer.add_events(std::slice::from_ref(event));
        self.put_chunks()
    }

    /// Ends the current chunks and flushes, so that a reader sees everything so far.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.composer.cut();
        self.put_chunks()?;
        self.chunks.flush()
    }

    /// Events lost so far: each later chunk carries the number, also if the end is never written.
    pub fn set_lost(&mut self, lost: u64) {
        self.chunks.set_lost(lost);
    }

    /// Leaves out what costs much time and saves only room, the compression of what follows, until
    /// told otherwise.
    pub fn set_hurried(&mut self, hurried: bool) {
        self.chunks.set_hurried(hurried);
    }

    /// Bytes given to `out` so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.chunks.bytes()
    }

    /// Writes what is left and the closing account, flushes, and gives `out` back.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(mut self, end: &End) -> io::Result<W> {
        self.composer.end(end);
        self.put_chunks()?;
        self.chunks.flush()?;
        Ok(self.chunks.into_inner())
    }

    /// Those behind one that fails wait for the next call.
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
