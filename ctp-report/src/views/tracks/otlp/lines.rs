//! Lines of spans: each line is a message `TracesData` with the resource and some spans.

use std::io::{self, Write};

use ctp_trace::record::Nanos;
use serde_json::json;

use crate::load::Model;
use crate::views::tracks::otlp::messages::{Attributes, Span, UnixNanos};

/// How many spans a line has at most. Receivers limit the size of a line.
const SPANS_A_LINE: usize = 256;

/// Encodes and writes spans.
pub struct Lines<'o> {
    out: &'o mut dyn Write,
    /// What a line has before its spans.
    head: String,
    started_unix_ns: u64,
    /// The encoded spans of the next line, with commas in between.
    pending: Vec<u8>,
    pending_spans: usize,
    spans: u64,
    /// The first error. Nothing is written afterwards.
    failed: Option<io::Error>,
}

/// What a line has after its spans.
const TAIL: &str = "]}]}]}\n";

impl<'o> Lines<'o> {
    /// Creates lines about the program of a trace.
    pub fn new(model: &Model, out: &'o mut dyn Write) -> Self {
        let attributes = json!(Attributes(&[
            ("service.name", model.program_name().into()),
            ("host.name", model.start.host.as_str().into()),
        ]));
        let resource = json!({ "attributes": attributes });
        let scope = json!({ "name": "ctp-report", "version": env!("CARGO_PKG_VERSION") });
        Lines {
            out,
            head: format!(
                r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{scope},"spans":["#
            ),
            started_unix_ns: model.start.started_unix_ns,
            pending: Vec::new(),
            pending_spans: 0,
            spans: 0,
            failed: None,
        }
    }

    /// The wall clock at a time of the recording.
    pub fn unix_nanos(&self, at: Nanos) -> UnixNanos {
        UnixNanos(self.started_unix_ns.saturating_add(at.0))
    }

    /// Adds a span.
    pub fn add(&mut self, span: &Span<'_>) {
        if self.failed.is_some() {
            return;
        }
        if self.pending_spans != 0 {
            self.pending.push(b',');
        }
        if let Err(error) = serde_json::to_writer(&mut self.pending, span) {
            self.failed = Some(error.into());
        }
        self.spans += 1;
        self.pending_spans += 1;
        if SPANS_A_LINE <= self.pending_spans {
            self.flush();
        }
    }

    /// Writes the rest. Returns the number of spans, or the first error.
    pub fn finish(mut self) -> io::Result<u64> {
        self.flush();
        self.failed.map_or(Ok(self.spans), Err)
    }

    fn flush(&mut self) {
        if self.failed.is_none() && self.pending_spans != 0 {
            self.failed = self.write_line().err();
        }
        self.pending.clear();
        self.pending_spans = 0;
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.out.write_all(self.head.as_bytes())?;
        self.out.write_all(&self.pending)?;
        self.out.write_all(TAIL.as_bytes())
    }
}
