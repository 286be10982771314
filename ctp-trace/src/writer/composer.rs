//! Collects records into chunks.

use std::collections::VecDeque;
use std::io;

use crate::codec::block;
use crate::codec::chunk::RawChunk;
use crate::codec::definition::{Births, EARLIER, ENDED_SUMS, WINDOW};
use crate::codec::fields::Codec;
use crate::codec::inspection;
use crate::codec::payload::Payload;
use crate::codec::plain::Plain;
use crate::codec::varint::put_bytes;
use crate::format::{
    AGGREGATE, BIRTH, BLOCK, BRANCHES, CHAIN, CONTROL, END, FLIGHT, FULL_PAYLOAD_BYTES, INSPECTION,
    LEAF, LOOK, MAX_RECORD_BYTES, MAX_RECORDS, MODULE, PROCESS, PROCESS_END, SITE, SOCKETS, STACK,
    START, THREADS, WATERMARK,
};
use crate::record::{Birth, End, Event, Record, Start};

/// The composing half of a [`Writer`](crate::Writer): encodes records into chunks, without compressing
/// them. A [`ChunkWriter`](crate::ChunkWriter) is the other half and may run on another thread.
pub struct Composer {
    definitions: [Definitions; DEFINITIONS.len()],
    births: Births,
    block: block::BlockEncoder,
    scratch: Vec<u8>,
    made: VecDeque<RawChunk>,
    used: Vec<Payload>,
}

/// The chunk types of definitions, in the order in which their chunks are written.
const DEFINITIONS: [u16; 14] = [
    PROCESS, MODULE, SITE, BIRTH, AGGREGATE, FLIGHT, CHAIN, LOOK, BRANCHES, INSPECTION, THREADS,
    SOCKETS, LEAF, STACK,
];

/// Maximum number of used payload buffers that are kept for reuse.
const MAX_USED: usize = 16;

impl Composer {
    /// A composer of a trace with this start.
    #[must_use]
    pub fn new(start: &Start) -> Self {
        let mut payload = Payload::default();
        Plain.put(start, &mut payload.bytes);
        Composer {
            definitions: DEFINITIONS.map(Definitions::new),
            births: Births::default(),
            block: block::BlockEncoder::new(),
            scratch: Vec::new(),
            made: VecDeque::from([RawChunk::new(START, payload)]),
            used: Vec::new(),
        }
    }

    /// Adds a record, which must follow those that it refers to.
    ///
    /// # Errors
    /// `InvalidInput`, without adding anything, for a record that exceeds the maximum size, and for a
    /// start or an end: those belong to `new` and `end`.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Event(event) => self.row(|block| block.event(event)),
            Record::Wake(wake) => self.row(|block| block.wake(wake)),
            Record::ThreadEvent(thread_event) => self.row(|block| block.thread_event(thread_event)),
            Record::EventCounts(event_counts) => self.row(|block| block.event_counts(event_counts)),
            _ => return self.add_definition(record),
        }
        Ok(())
    }

    /// Adds a record that is not a row of a block.
    fn add_definition(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Process(process) => self.define(0, &Plain, process),
            Record::Module(module) => self.define(1, &Plain, module),
            Record::Site(site) => self.define(2, &Plain, site),
            Record::Birth(birth) => self.birth(birth),
            Record::Aggregate(aggregate) => self.define(4, &Plain, aggregate),
            Record::Window(window) => self.define(5, &WINDOW, window),
            Record::Earlier(earlier) => self.define(5, &EARLIER, earlier),
            Record::EndedSums(ended_sums) => self.define(5, &ENDED_SUMS, ended_sums),
            Record::Chain(chain) => self.define(6, &Plain, chain),
            Record::Look(look) => self.define(7, &Plain, look),
            Record::Branches(branches) => self.define(8, &Plain, branches),
            Record::Inspection(begin) => self.define(9, &inspection::BEGIN, begin),
            Record::AwaitStack(stack) => self.define(9, &inspection::STACK, stack),
            Record::InspectedTask(task) => self.define(9, &inspection::TASK, task),
            Record::InspectedThread(thread) => self.define(9, &inspection::THREAD, thread),
            Record::InspectionEnd(end) => self.define(9, &inspection::END, end),
            Record::Threads(threads) => self.define(10, &Plain, threads),
            Record::Sockets(sockets) => self.define(11, &Plain, sockets),
            Record::Leaf(leaf) => self.define(12, &Plain, leaf),
            Record::CoroutineStack(stack) => self.define(13, &Plain, stack),
            Record::ProcessEnd(end) => self.mark(PROCESS_END, end),
            Record::Control(control) => self.mark(CONTROL, control),
            Record::Watermark(at) => self.mark(WATERMARK, at),
            _ => Err(refused("a start or an end among the records of a trace")),
        }
    }

    /// Adds several events in order.
    pub fn add_events(&mut self, events: &[Event]) {
        for event in events {
            self.row(|block| block.event(event));
        }
    }

    /// Ends the current chunks, so that every added record is in a chunk.
    pub fn cut(&mut self) {
        self.end_definitions();
        self.end_block();
    }

    /// The next finished chunk.
    #[inline]
    pub fn next_chunk(&mut self) -> Option<RawChunk> {
        self.made.pop_front()
    }

    /// Takes back a written chunk, to reuse its buffer.
    pub fn reuse(&mut self, chunk: RawChunk) {
        if self.used.len() < MAX_USED {
            let mut payload = chunk.payload;
            payload.clear();
            self.used.push(payload);
        }
    }

    /// Adds the final account, which ends the trace.
    pub fn end(&mut self, end: &End) {
        self.cut();
        let mut payload = Payload::default();
        Plain.put(end, &mut payload.bytes);
        self.made.push_back(RawChunk::new(END, payload));
    }

    #[inline(always)]
    fn row(&mut self, add: impl FnOnce(&mut block::BlockEncoder)) {
        add(&mut self.block);
        if self.block.is_full() {
            self.cut();
        }
    }

    fn define<T>(&mut self, class: usize, codec: &impl Codec<T>, record: &T) -> io::Result<()> {
        self.encode(codec, record)?;
        self.push(class);
        Ok(())
    }

    /// Adds a record that must follow everything before it: ends the current chunks and writes the
    /// record to its own chunk.
    fn mark<T>(&mut self, kind: u16, record: &T) -> io::Result<()>
    where
        Plain: Codec<T>,
    {
        self.encode(&Plain, record)?;
        self.cut();
        let mut definitions = Definitions::new(kind);
        definitions.push(&self.scratch);
        self.made.extend(definitions.end());
        Ok(())
    }

    fn birth(&mut self, birth: &Birth) -> io::Result<()> {
        let before = self.births;
        self.encode(&before, birth)?;
        self.births = Births::after(birth);
        self.push(3);
        Ok(())
    }

    fn encode<T>(&mut self, codec: &impl Codec<T>, record: &T) -> io::Result<()> {
        self.scratch.clear();
        codec.put(record, &mut self.scratch);
        if self.scratch.len() <= MAX_RECORD_BYTES {
            return Ok(());
        }
        self.scratch = Vec::new();
        Err(refused("a record is too large for a trace"))
    }

    fn push(&mut self, class: usize) {
        let definitions = &mut self.definitions[class];
        definitions.push(&self.scratch);
        if definitions.is_full() {
            self.end_definitions();
        }
    }

    /// Ends the chunks of definitions in the order in which they refer to each other, and always before
    /// the rows.
    fn end_definitions(&mut self) {
        let ended = self.definitions.iter_mut().filter_map(Definitions::end);
        self.made.extend(ended);
        self.births = Births::default();
    }

    fn end_block(&mut self) {
        if !self.block.is_empty() {
            let mut payload = self.used.pop().unwrap_or_default();
            self.block.finish(&mut payload);
            self.made.push_back(RawChunk::new(BLOCK, payload));
        }
    }
}

/// Records of one type that are collected for a chunk.
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

    fn is_full(&self) -> bool {
        self.records >= MAX_RECORDS || self.payload.bytes.len() >= FULL_PAYLOAD_BYTES
    }

    fn end(&mut self) -> Option<RawChunk> {
        let payload = (0 < self.records).then(|| std::mem::take(&mut self.payload))?;
        self.records = 0;
        Some(RawChunk::new(self.kind, payload))
    }
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
