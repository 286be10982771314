//! Data streams: files of packets, which are blocks of event records in the order of time.
//!
//! A recording is not strictly in the order of time, and that of a memory image is in the order of its
//! coroutines. So event records are sorted in batches. Readers merge streams by time: a record that is still
//! earlier than the one before is written to another stream, which has not gone so far yet.

use std::fs::File;
use std::io::{self, Write};
use std::mem;

use ctp_trace::record::{Nanos, Start};

use crate::ctf::encoding::append_fields;
use crate::ctf::schema::{MAGIC, PACKET_CONTEXT, PACKET_HEADER, PacketField};
use crate::output::dataset::Folder;

/// Maximum number of streams, each of which has an open file.
const MAX_STREAMS: usize = 512;

/// The size at which a batch is sorted, and its first half is written.
const BATCH_BYTES: usize = 32 << 20;

/// The size at which a packet is full. A packet with a single event record may be larger.
const PACKET_BYTES: usize = 256 << 10;

/// The latest time since 1970 that readers accept.
const MAX_UNIX_NS: u64 = i64::MAX as u64;

/// The start of the recording, in nanoseconds since 1970, or the latest time that readers accept.
pub fn unix_ns(start: &Start) -> u64 {
    start.started_unix_ns.min(MAX_UNIX_NS)
}

/// Writes event records into streams.
pub struct Streams<'f> {
    folder: &'f Folder,
    /// The latest time that readers accept.
    latest: Nanos,
    all: Vec<Stream>,
    events: u64,
    batch: Vec<(Nanos, Box<[u8]>)>,
    batch_bytes: usize,
}

/// A file, and the packet that is being filled.
struct Stream {
    file: File,
    number: u64,
    packets: u64,
    begin: Nanos,
    end: Nanos,
    events: Vec<u8>,
}

impl<'f> Streams<'f> {
    /// Creates no stream yet.
    pub fn new(folder: &'f Folder, start: &Start) -> Self {
        Streams {
            folder,
            latest: Nanos(MAX_UNIX_NS - unix_ns(start)),
            all: Vec::new(),
            events: 0,
            batch: Vec::new(),
            batch_bytes: 0,
        }
    }

    /// The time as readers accept it: a damaged recording may have any.
    pub fn accepted(&self, at: Nanos) -> Nanos {
        at.min(self.latest)
    }

    /// Adds an encoded event record, at an accepted time.
    ///
    /// # Errors
    /// If a file cannot be written, or the recording is too far from the order of time.
    pub fn add(&mut self, at: Nanos, event: &[u8]) -> io::Result<()> {
        self.events += 1;
        self.batch.push((at, event.into()));
        self.batch_bytes += event.len();
        if self.batch_bytes < BATCH_BYTES {
            return Ok(());
        }
        self.write_earliest(self.batch.len().div_ceil(2))
    }

    /// Sorts the batch, and writes this many of its event records.
    fn write_earliest(&mut self, count: usize) -> io::Result<()> {
        self.batch.sort_by_key(|(at, _)| *at);
        let rest = self.batch.split_off(count);
        let first = mem::replace(&mut self.batch, rest);
        for (at, event) in first {
            self.batch_bytes -= event.len();
            self.write(at, &event)?;
        }
        Ok(())
    }

    fn write(&mut self, at: Nanos, event: &[u8]) -> io::Result<()> {
        let index = match self.all.iter().position(|stream| stream.end <= at) {
            Some(index) => index,
            None => self.create()?,
        };
        self.all[index].add(at, event)
    }

    /// Creates a stream. Returns its index.
    fn create(&mut self) -> io::Result<usize> {
        let index = self.all.len();
        if index == MAX_STREAMS {
            return Err(io::Error::other(
                "the records are too far from the order of time",
            ));
        }
        let file = self.folder.create(&format!("stream_{index}"))?;
        self.all.push(Stream::new(file, index as u64));
        Ok(index)
    }

    /// Writes what is left. Returns the number of event records.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(&mut self) -> io::Result<u64> {
        self.write_earliest(self.batch.len())?;
        self.all.iter_mut().try_for_each(Stream::flush)?;
        Ok(self.events)
    }
}

impl Stream {
    fn new(file: File, number: u64) -> Self {
        Stream {
            file,
            number,
            packets: 0,
            begin: Nanos(0),
            end: Nanos(0),
            events: Vec::new(),
        }
    }

    fn add(&mut self, at: Nanos, event: &[u8]) -> io::Result<()> {
        if !self.events.is_empty() && PACKET_BYTES < self.events.len() + event.len() {
            self.flush()?;
        }
        if self.events.is_empty() {
            self.begin = at;
        }
        self.end = at;
        self.events.extend_from_slice(event);
        Ok(())
    }

    /// Writes the packet, unless it is empty.
    fn flush(&mut self) -> io::Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let bits = 8 * (bytes(&PACKET_HEADER) + bytes(&PACKET_CONTEXT) + self.events.len()) as u64;
        let mut head = Vec::new();
        append_fields(&PACKET_HEADER, [MAGIC, self.number], &mut head);
        let context = [bits, bits, self.begin.0, self.end.0, self.packets];
        append_fields(&PACKET_CONTEXT, context, &mut head);
        self.file.write_all(&head)?;
        self.file.write_all(&self.events)?;
        self.events.clear();
        self.packets += 1;
        Ok(())
    }
}

/// The size of these fields.
fn bytes(fields: &[PacketField]) -> usize {
    fields.iter().map(|field| field.bits as usize / 8).sum()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::output::dataset;

    static EVENT: [u8; 1 << 16] = [7; 1 << 16];

    /// The number of files for events of 64 KiB at these times.
    fn files(times: impl IntoIterator<Item = u64>) -> Result<usize, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let written = dataset::write(folder.path(), &Start::default(), |folder| {
            let mut streams = Streams::new(folder, &Start::default());
            for at in times {
                streams.add(Nanos(at), &EVENT)?;
            }
            streams.finish()?;
            Ok(())
        });
        let path = written.map_err(|error| format!("{error:#}"))?;
        Ok(fs::read_dir(path).expect("a trace").count())
    }

    #[test]
    fn events_of_a_batch_are_sorted() {
        assert_eq!(files((0..100).rev()), Ok(1));
    }

    #[test]
    fn later_batches_may_need_more_streams() {
        let batch = (BATCH_BYTES / EVENT.len()) as u64;
        assert_eq!(files((0..batch).chain(0..batch)), Ok(2));
    }
}
