//! Spans of OpenTelemetry, one JSON document per line, as the OTLP file exporter writes them.
//!
//! Messages are those of `opentelemetry/proto/trace/v1/trace.proto` in the repository of
//! `opentelemetry-proto`. In JSON, names are in lower camel case, ids are hexadecimal, enumeration values
//! are numbers, and integers of 64 bits are strings.
//!
//! A coroutine is a trace: its lifetime is the root span, and each wait is a child of that.

mod ids;
mod messages;
mod span_writer;
mod spans;

use std::io::{self, Write};

use anyhow::Result;

use crate::load::Model;
use crate::views::tracks::otlp::span_writer::SpanWriter;
use crate::views::tracks::otlp::spans::Sink;
use crate::views::tracks::sink::TrackSink;

/// Writes the document. Returns the number of spans. The inner error is that of reading the trace.
pub fn document(
    model: &Model,
    out: &mut dyn Write,
    emit: impl FnOnce(&mut dyn TrackSink) -> Result<()>,
) -> io::Result<Result<u64>> {
    let mut sink = Sink::new(model, SpanWriter::new(model, out));
    if let Err(unread) = emit(&mut sink) {
        return Ok(Err(unread));
    }
    sink.finish().map(Ok)
}
