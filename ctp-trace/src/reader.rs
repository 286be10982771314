//! Decodes the bytes of a trace to records.

use std::collections::VecDeque;

use crate::codec::block;
use crate::codec::chunk::{Chunk, ChunkDecompressor, Chunks};
use crate::codec::definition::{self, Births};
use crate::codec::fields::Codec;
use crate::codec::header;
use crate::codec::inspection;
use crate::codec::plain::Plain;
use crate::codec::varint::Input;
use crate::error::{Error, Malformed};
use crate::format::{
    AGGREGATE, BIRTH, BLOCK, BRANCHES, CHAIN, CONTROL, END, FILE_HEADER_BYTES, FLIGHT, INSPECTION,
    LEAF, LOOK, MAX_RECORDS, MODULE, PROCESS, PROCESS_END, SITE, SOCKETS, STACK, START, THREADS,
    WATERMARK,
};
use crate::record::{Record, Start};
use crate::source::Source;

/// Reads a trace: an iterator over its records, beginning with the start.
///
/// An item that is an error stands for a part that is missing; the next item follows that part. The
/// reader never panics, whatever the bytes are, and holds the records of a single chunk in memory.
///
/// ```
/// use ctp_trace::record::{End, Start};
/// use ctp_trace::{Completeness, Reader, Writer};
///
/// let bytes = Writer::new(Vec::new(), &Start::default())?.finish(&End::default())?;
/// let mut reader = Reader::new(&bytes)?;
/// for record in &mut reader {
///     match record {
///         Ok(record) => println!("{record:?}"),
///         Err(missing) => eprintln!("{missing}"),
///     }
/// }
/// if let Completeness::Truncated { offset, .. } = reader.completeness() {
///     eprintln!("the trace is cut off at byte {offset}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader<'a> {
    chunks: Chunks<'a>,
    start: Start,
    records: VecDeque<Record>,
    /// Memory for the records of the next block.
    spare: Vec<Record>,
    decompressor: ChunkDecompressor,
    has_ended: bool,
    passed_over: u64,
}

/// Whether a trace is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The end was read.
    Whole,
    /// The recorder was killed before it could finish, or the file is truncated.
    Truncated {
        /// The offset of the first byte that could not be read, which may be the length of the file.
        offset: u64,
        /// Events that were lost before the last readable chunk.
        lost_so_far: u64,
    },
}

impl<'a> Reader<'a> {
    /// Checks the file header and reads the start.
    ///
    /// # Errors
    /// If nothing can be read: `bytes` is not a trace, or has another version, or is damaged before its
    /// first event.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::of(bytes)
    }

    /// Like [`new`](Self::new), but reads the bytes when they are needed. At most one chunk is in memory
    /// at a time.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of(source: impl Source + 'a) -> Result<Self, Error> {
        let mut header = [0; FILE_HEADER_BYTES];
        let read = source.read_at(0, &mut header);
        let header_bytes = header::decode(&header[..read])?;
        let mut chunks = Chunks::new(Box::new(source), header_bytes as u64);
        let offset = chunks.offset;
        let mut decompressor = ChunkDecompressor::default();
        let start = chunks
            .next()
            .and_then(|chunk| first(chunk, &mut decompressor))
            .ok_or(Error::NoStart { offset })?;
        let records = VecDeque::from([Record::Start(start.clone())]);
        Ok(Reader {
            chunks,
            start,
            records,
            spare: Vec::new(),
            decompressor,
            has_ended: false,
            passed_over: 0,
        })
    }

    /// Where and when the recording began.
    #[must_use]
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Whether the end was read. Call this after the iteration: an earlier answer covers only what was
    /// read so far.
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        if self.has_ended {
            return Completeness::Whole;
        }
        Completeness::Truncated {
            offset: self.chunks.offset,
            lost_so_far: self.chunks.lost,
        }
    }

    /// The largest number of lost events that any chunk read so far states.
    #[must_use]
    pub fn stated_lost(&self) -> u64 {
        self.chunks.most_lost
    }

    /// Chunks read so far with types that a later version added. Their records are skipped.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// The records of the next chunk that has any, for callers that handle many at a time. If the iterator has
    /// returned some records of a chunk, the result is the rest of that chunk. `None` at the end of the trace.
    pub fn next_records(&mut self) -> Option<Result<Vec<Record>, Error>> {
        loop {
            if !self.records.is_empty() {
                return Some(Ok(std::mem::take(&mut self.records).into()));
            }
            if let Err(error) = self.open_next()? {
                return Some(Err(error));
            }
        }
    }

    /// Takes back records of [`next_records`](Self::next_records), to use their memory for later records. The kernel
    /// may need longer to provide fresh memory than the decoder needs to fill it.
    pub fn reuse(&mut self, records: Vec<Record>) {
        if self.spare.capacity() < records.capacity() {
            self.spare = records;
        }
    }

    /// Decodes the next chunk. `None` if there is none.
    fn open_next(&mut self) -> Option<Result<(), Error>> {
        if self.has_ended {
            return None;
        }
        Some(self.chunks.next()?.and_then(|chunk| self.open(&chunk)))
    }

    fn open(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.passed_over += u64::from(!is_known(chunk.kind));
        let taken = std::mem::take(&mut self.records).into();
        self.reuse(taken);
        let records = self
            .records(chunk)
            .map_err(|Malformed(what)| Error::CorruptChunk {
                offset: chunk.offset,
                what,
            })?;
        self.has_ended = chunk.kind == END;
        self.records = records.into();
        Ok(())
    }

    /// The records of a chunk; none for a type that a later version added.
    fn records(&mut self, chunk: &Chunk) -> Result<Vec<Record>, Malformed> {
        if !is_known(chunk.kind) {
            return Ok(Vec::new());
        }
        let payload = chunk.payload(&mut self.decompressor)?;
        match chunk.kind {
            PROCESS => each_plain(payload, Record::Process),
            MODULE => each_plain(payload, Record::Module),
            SITE => each_plain(payload, Record::Site),
            BIRTH => births(payload),
            PROCESS_END => each_plain(payload, Record::ProcessEnd),
            AGGREGATE => each_plain(payload, Record::Aggregate),
            CONTROL => each_plain(payload, Record::Control),
            FLIGHT => each(payload, definition::flight),
            CHAIN => each_plain(payload, Record::Chain),
            LOOK => each_plain(payload, Record::Look),
            BRANCHES => each_plain(payload, Record::Branches),
            THREADS => each_plain(payload, Record::Threads),
            SOCKETS => each_plain(payload, Record::Sockets),
            LEAF => each_plain(payload, Record::Leaf),
            STACK => each_plain(payload, Record::CoroutineStack),
            INSPECTION => each(payload, inspection::record),
            WATERMARK => each_plain(payload, Record::Watermark),
            BLOCK => block::decode(payload, std::mem::take(&mut self.spare)),
            END => {
                let end = Plain.get(&mut Input::new(payload))?;
                Ok(vec![Record::End(end)])
            }
            _ => Err(Malformed("a second start")),
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.records.pop_front() {
                return Some(Ok(record));
            }
            if let Err(error) = self.open_next()? {
                return Some(Err(error));
            }
        }
    }
}

fn first(chunk: Result<Chunk, Error>, decompressor: &mut ChunkDecompressor) -> Option<Start> {
    let chunk = chunk.ok().filter(|chunk| chunk.kind == START)?;
    Plain
        .get(&mut Input::new(chunk.payload(decompressor).ok()?))
        .ok()
}

fn is_known(kind: u16) -> bool {
    matches!(
        kind,
        START
            ..=PROCESS_END
                | AGGREGATE
                | CONTROL
                | FLIGHT
                | CHAIN
                | LOOK
                | WATERMARK
                | BRANCHES
                | INSPECTION
                | THREADS
                | SOCKETS
                | LEAF
                | STACK
    )
}

fn each_plain<T>(payload: &[u8], record: fn(T) -> Record) -> Result<Vec<Record>, Malformed>
where
    Plain: Codec<T>,
{
    each(payload, |input| Plain.get(input).map(record))
}

fn births(payload: &[u8]) -> Result<Vec<Record>, Malformed> {
    let mut before = Births::default();
    each(payload, |input| {
        let birth = before.get(input)?;
        before = Births::after(&birth);
        Ok(Record::Birth(birth))
    })
}

/// Decodes records, each of which is preceded by its length. Fields that a later version added at the
/// end of a record are skipped.
fn each(
    payload: &[u8],
    mut decode: impl FnMut(&mut Input) -> Result<Record, Malformed>,
) -> Result<Vec<Record>, Malformed> {
    let mut input = Input::new(payload);
    let mut records = Vec::new();
    while !input.is_empty() {
        if records.len() == MAX_RECORDS {
            return Err(Malformed("it has too many records"));
        }
        records.push(decode(&mut Input::new(input.bytes()?))?);
    }
    Ok(records)
}
