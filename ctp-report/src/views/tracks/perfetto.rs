//! Perfetto's protocol buffers, compressed with gzip, which Perfetto opens as they are.
//!
//! Messages and field numbers are those of `protos/perfetto/trace/` in Perfetto's repository:
//! `trace_packet.proto`, `trace_packet_defaults.proto`, `clock_snapshot.proto`,
//! `interned_data/interned_data.proto`, and in `track_event/` `track_event.proto`,
//! `track_descriptor.proto`, `process_descriptor.proto`, `thread_descriptor.proto` and
//! `debug_annotation.proto`.
//!
//! A slice is two packets, its begin and its end. Texts are written once and referred to by number.

mod interned;
mod packets;
mod rows;
mod sink;

use std::io::{self, Write};

use anyhow::Result;
use flate2::Compression;

use crate::load::Model;
use crate::output::gzip::GzipWriter;
use crate::views::tracks::perfetto::packets::Packets;
use crate::views::tracks::perfetto::sink::Sink;
use crate::views::tracks::sink::TrackSink;

/// Level 3 takes twice as long, and saves a seventeenth. Level 1 takes two thirds of the time, and a sixth more
/// bytes.
const LEVEL: u32 = 2;

/// Writes the trace. Returns the number of packets with events. The inner error is that of reading the
/// trace.
pub fn document(
    model: &Model,
    out: &mut dyn Write,
    emit: impl FnOnce(&mut dyn TrackSink) -> Result<()>,
) -> io::Result<Result<u64>> {
    let mut compressed = GzipWriter::new(out, Compression::new(LEVEL))?;
    let mut sink = Sink::new(model, Packets::new(&mut compressed, &model.start));
    if let Err(unread) = emit(&mut sink) {
        return Ok(Err(unread));
    }
    let events = sink.finish()?;
    compressed.finish()?;
    Ok(Ok(events))
}
