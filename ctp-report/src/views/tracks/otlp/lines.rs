//! Lines of spans: each line is a message `TracesData` with the resource and some spans.

use std::io::{self, Write};

use ctp_trace::record::Nanos;
use serde_json::{Value, json};

use crate::load::Model;

/// How many spans a line has at most. Receivers limit the size of a line.
const SPANS_A_LINE: usize = 256;

/// Collects spans and writes them.
pub struct Lines<'o> {
    out: &'o mut dyn Write,
    resource: Value,
    started_unix_ns: u64,
    pending: Vec<Value>,
    spans: u64,
    /// The first error. Nothing is written afterwards.
    failed: Option<io::Error>,
}

impl<'o> Lines<'o> {
    /// Creates lines about the program of a trace.
    pub fn new(model: &Model, out: &'o mut dyn Write) -> Self {
        let attributes = [
            attribute("service.name", &model.program_name().into()),
            attribute("host.name", &model.start.host.as_str().into()),
        ];
        Lines {
            out,
            resource: json!({ "attributes": attributes }),
            started_unix_ns: model.start.started_unix_ns,
            pending: Vec::new(),
            spans: 0,
            failed: None,
        }
    }

    /// The wall clock at a time of the recording.
    pub fn unix_nanos(&self, at: Nanos) -> String {
        self.started_unix_ns.saturating_add(at.0).to_string()
    }

    /// Adds a span.
    pub fn add(&mut self, span: Value) {
        self.spans += 1;
        self.pending.push(span);
        if SPANS_A_LINE <= self.pending.len() {
            self.flush();
        }
    }

    /// Writes the rest. Returns the number of spans, or the first error.
    pub fn finish(mut self) -> io::Result<u64> {
        self.flush();
        self.failed.map_or(Ok(self.spans), Err)
    }

    fn flush(&mut self) {
        let spans = std::mem::take(&mut self.pending);
        if self.failed.is_some() || spans.is_empty() {
            return;
        }
        let scope = json!({ "name": "ctp-report", "version": env!("CARGO_PKG_VERSION") });
        let of_scope = json!({ "scope": scope, "spans": spans });
        let of_resource = json!({ "resource": self.resource, "scopeSpans": [of_scope] });
        let line = json!({ "resourceSpans": [of_resource] });
        self.failed = writeln!(self.out, "{line}").err();
    }
}

/// An attribute with a text or a number. Numbers of the format are signed, so larger numbers are texts.
pub fn attribute(key: &str, value: &Value) -> Value {
    let value = match (value.as_str(), value.as_i64()) {
        (Some(text), _) => json!({ "stringValue": text }),
        (None, Some(number)) => json!({ "intValue": number.to_string() }),
        (None, None) => json!({ "stringValue": value.to_string() }),
    };
    json!({ "key": key, "value": value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_signed() {
        let value = |value: Value| attribute("key", &value)["value"].clone();
        assert_eq!(value(json!(7)), json!({ "intValue": "7" }));
        let text = json!({ "stringValue": "18446744073709551615" });
        assert_eq!(value(json!(u64::MAX)), text);
        assert_eq!(value(json!("a")), json!({ "stringValue": "a" }));
    }
}
