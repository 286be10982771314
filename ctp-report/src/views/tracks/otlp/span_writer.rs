//! Writes spans as lines, each of which is a message `TracesData` with the resource and some spans.

use std::io::{self, Write};

use serde_json::json;

use crate::load::Model;
use crate::views::tracks::otlp::messages::{Attributes, Span};

/// Maximum number of spans of a line, and the size from which on a line gets no further span. Receivers limit the size
/// of a line.
const MAX_SPANS_PER_LINE: usize = 256;
const MAX_LINE_BYTES: usize = 512 << 10;

/// What a line has after its spans.
const TAIL: &str = "]}]}]}\n";

/// Encodes and writes spans.
pub struct SpanWriter<'o> {
    out: &'o mut dyn Write,
    /// What a line has before its spans.
    head: String,
    /// The encoded spans of the next line, with commas in between.
    pending: Vec<u8>,
    pending_spans: usize,
    spans: u64,
    /// The first error. Nothing is written afterwards.
    failed: Option<io::Error>,
}

impl<'o> SpanWriter<'o> {
    /// Creates a writer of spans about the program of a trace.
    pub fn new(model: &Model, out: &'o mut dyn Write) -> Self {
        let attributes = json!(Attributes(&[
            ("service.name", model.program_name().into()),
            ("host.name", model.start.host.as_str().into()),
        ]));
        let resource = json!({ "attributes": attributes });
        let scope = json!({ "name": "ctp-report", "version": env!("CARGO_PKG_VERSION") });
        SpanWriter {
            out,
            head: format!(
                r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{scope},"spans":["#
            ),
            pending: Vec::new(),
            pending_spans: 0,
            spans: 0,
            failed: None,
        }
    }

    /// Adds a span, unless an earlier span could not be written.
    pub fn add(&mut self, span: &Span<'_>) {
        if self.failed.is_none() {
            self.failed = self.try_add(span).err();
        }
    }

    fn try_add(&mut self, span: &Span<'_>) -> io::Result<()> {
        if self.pending_spans != 0 {
            self.pending.push(b',');
        }
        serde_json::to_writer(&mut self.pending, span)?;
        self.spans += 1;
        self.pending_spans += 1;
        if self.pending_spans < MAX_SPANS_PER_LINE && self.pending.len() < MAX_LINE_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Writes the rest. Returns the number of spans, or the first error.
    pub fn finish(mut self) -> io::Result<u64> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.flush()?;
        Ok(self.spans)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.pending_spans != 0 {
            self.out.write_all(self.head.as_bytes())?;
            self.out.write_all(&self.pending)?;
            self.out.write_all(TAIL.as_bytes())?;
        }
        self.pending.clear();
        self.pending_spans = 0;
        Ok(())
    }
}
