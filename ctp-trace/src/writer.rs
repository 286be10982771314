//! Records to bytes.

use std::io::{self, Write};

use crate::block;
use crate::chunk::{ChunkWriter, Payload};
use crate::definition::{self, Births};
use crate::format::{
    AGGREGATE, BIRTH, BLOCK, CONTROL, END, FLIGHT, FULL_PAYLOAD_BYTES, LOOK, MAX_RECORD_BYTES,
    MAX_RECORDS, MODULE, PROCESS, PROCESS_END, SITE, START,
};
use crate::header;
use crate::record::{Birth, End, Event, Record, Start};
use crate::varint::put_bytes;

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
    chunks: ChunkWriter<W>,
    definitions: [Definitions; 7],
    births: Births,
    block: block::Encoder,
    scratch: Payload,
}

impl<W: Write> Writer<W> {
    /// Writes the file header and the start.
    ///
    /// # Errors
    /// Those of `out`, and `InvalidInput` when `start` is larger than a chunk can be.
    pub fn new(out: W, start: &Start) -> io::Result<Self> {
        let mut chunks = ChunkWriter::new(out, &header::encode())?;
        let mut payload = Payload::default();
        definition::put_start(&mut payload.bytes, start);
        chunks.put(START, &payload)?;
        Ok(Writer {
            chunks,
            definitions: [PROCESS, MODULE, SITE, BIRTH, AGGREGATE, FLIGHT, LOOK]
                .map(Definitions::new),
            births: Births::default(),
            block: block::Encoder::new(),
            scratch: Payload::default(),
        })
    }

    /// Adds a record behind those that it refers to.
    ///
    /// # Errors
    /// Those of `out`. `InvalidInput`, with nothing written, for a record that is larger than a
    /// chunk can be, and for a start or an end: those belong to `new` and `finish`.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Process(it) => self.define(0, |out| definition::put_process(out, it)),
            Record::Module(it) => self.define(1, |out| definition::put_module(out, it)),
            Record::Site(it) => self.define(2, |out| definition::put_site(out, it)),
            Record::Birth(it) => self.birth(it),
            Record::Aggregate(it) => self.define(4, |out| it.put(out)),
            Record::Window(it) => self.define(5, |out| it.put(out)),
            Record::Earlier(it) => self.define(5, |out| it.put(out)),
            Record::Former(it) => self.define(5, |out| it.put(out)),
            Record::Look(it) => self.define(6, |out| it.put(out)),
            Record::Event(it) => self.write_event(it),
            Record::Wake(it) => self.row(|block| block.wake(it)),
            Record::Deed(it) => self.row(|block| block.deed(it)),
            Record::Tally(it) => self.row(|block| block.tally(it)),
            Record::ProcessEnd(it) => {
                self.mark(PROCESS_END, |out| definition::put_process_end(out, it))
            }
            Record::Control(it) => self.mark(CONTROL, |out| definition::put_control(out, it)),
            Record::Start(_) | Record::End(_) => {
                Err(refused("a start or an end amid the records of a trace"))
            }
        }
    }

    /// The same as [`write`](Self::write), of an event.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_event(&mut self, event: &Event) -> io::Result<()> {
        self.row(|block| block.event(event))
    }

    /// Ends the current chunks and flushes, so that a reader sees everything so far.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.end_definitions()?;
        self.end_block()?;
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
        self.end_definitions()?;
        self.end_block()?;
        let mut payload = Payload::default();
        definition::put_end(&mut payload.bytes, end);
        self.chunks.put(END, &payload)?;
        self.chunks.flush()?;
        Ok(self.chunks.into_inner())
    }

    fn row(&mut self, add: impl FnOnce(&mut block::Encoder)) -> io::Result<()> {
        add(&mut self.block);
        if !self.block.is_full() {
            return Ok(());
        }
        self.end_definitions()?;
        self.end_block()
    }

    fn define(&mut self, class: usize, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.encode(put)?;
        self.push(class)
    }

    /// Behind everything before it: in a chunk of its own.
    fn mark(&mut self, kind: u16, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.end_definitions()?;
        self.end_block()?;
        let mut definitions = Definitions::new(kind);
        self.encode(put)?;
        definitions.push(&self.scratch.bytes);
        definitions.end(&mut self.chunks)
    }

    fn birth(&mut self, birth: &Birth) -> io::Result<()> {
        let before = self.births;
        self.encode(|out| before.put(out, birth))?;
        self.births = Births::after(birth);
        self.push(3)
    }

    fn encode(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.scratch.clear();
        put(&mut self.scratch.bytes);
        if self.scratch.bytes.len() <= MAX_RECORD_BYTES {
            return Ok(());
        }
        self.scratch = Payload::default();
        Err(refused("a record is too large for a trace"))
    }

    fn push(&mut self, class: usize) -> io::Result<()> {
        let definitions = &mut self.definitions[class];
        definitions.push(&self.scratch.bytes);
        if definitions.is_full() {
            self.end_definitions()
        } else {
            Ok(())
        }
    }

    /// In the order in which they refer to each other, and always before the rows.
    fn end_definitions(&mut self) -> io::Result<()> {
        let mut written = Ok(());
        for definitions in &mut self.definitions {
            written = written.and(definitions.end(&mut self.chunks));
        }
        self.births = Births::default();
        written
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.scratch.clear();
        self.block.finish(&mut self.scratch);
        self.chunks.put(BLOCK, &self.scratch)
    }
}

/// Records of one sort that wait for their chunk.
struct Definitions {
    kind: u16,
    payload: Payload,
    records: usize,
}

impl Definitions {
    fn new(kind: u16) -> Self {
        Definitions {
            kind,
            payload: Payload::default(),
            records: 0,
        }
    }

    fn push(&mut self, record: &[u8]) {
        put_bytes(&mut self.payload.bytes, record);
        self.records += 1;
    }

    fn is_empty(&self) -> bool {
        self.records == 0
    }

    fn is_full(&self) -> bool {
        self.records >= MAX_RECORDS || self.payload.bytes.len() >= FULL_PAYLOAD_BYTES
    }

    fn end<W: Write>(&mut self, chunks: &mut ChunkWriter<W>) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let written = chunks.put(self.kind, &self.payload);
        self.payload.clear();
        self.records = 0;
        written
    }
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
