//! The messages of a span. Their fields are in alphabetical order.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::views::tracks::otlp::ids::{SpanId, TraceId};
use crate::views::tracks::sink::Details;

/// The value of `kind` for work inside a program.
pub const INTERNAL: u64 = 1;
/// The value of `status.code` for an error.
const ERROR: u64 = 2;

/// A coroutine, or a wait of a coroutine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span<'s> {
    /// Further fields.
    pub attributes: Attributes<'s>,
    /// How many marks are missing in `events`. Only coroutines have marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_events_count: Option<u64>,
    /// The end.
    pub end_time_unix_nano: UnixNanos,
    /// The marks of a coroutine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<&'s [Event]>,
    /// Always [`INTERNAL`].
    pub kind: u64,
    /// The wake that ended a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<[&'s Link; 1]>,
    /// The displayed name.
    pub name: &'s str,
    /// The coroutine of a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<SpanId>,
    /// The id of this span.
    pub span_id: SpanId,
    /// The start.
    pub start_time_unix_nano: UnixNanos,
    /// An error, if the coroutine is stuck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status<'s>>,
    /// The id of the trace of the coroutine.
    pub trace_id: TraceId,
}

/// A time of the wall clock. Numbers of 64 bits are texts in this format.
#[derive(Clone, Copy, Debug)]
pub struct UnixNanos(pub u64);

impl Serialize for UnixNanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A mark on the track of a coroutine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The displayed name.
    pub name: String,
    /// The time.
    pub time_unix_nano: UnixNanos,
}

/// The span of the coroutine that called `wake()`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Further fields.
    #[serde(serialize_with = "serialize_details")]
    pub attributes: Details,
    /// The id of the span.
    pub span_id: SpanId,
    /// The id of the trace of that coroutine.
    pub trace_id: TraceId,
}

/// How a span ended.
#[derive(Debug, Serialize)]
pub struct Status<'s> {
    code: u64,
    message: &'s str,
}

impl<'s> Status<'s> {
    /// A status with an error.
    pub fn error(message: &'s str) -> Self {
        Status {
            code: ERROR,
            message,
        }
    }
}

/// Fields by name.
#[derive(Debug)]
pub struct Attributes<'s>(pub &'s [(&'static str, Value)]);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attributes = self.0.iter();
        serializer.collect_seq(attributes.map(|(name, value)| Attribute {
            key: attribute_name(name),
            value: AttributeValue(value),
        }))
    }
}

fn serialize_details<S: Serializer>(details: &Details, serializer: S) -> Result<S::Ok, S::Error> {
    Attributes(details).serialize(serializer)
}

#[derive(Serialize)]
struct Attribute<'s> {
    key: &'s str,
    value: AttributeValue<'s>,
}

/// A text or a number. Numbers of the format are signed, so larger numbers are texts.
struct AttributeValue<'s>(&'s Value);

impl Serialize for AttributeValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match (self.0.as_str(), self.0.as_i64()) {
            (Some(text), _) => map.serialize_entry("stringValue", text)?,
            (None, Some(number)) => map.serialize_entry("intValue", &number.to_string())?,
            (None, None) => map.serialize_entry("stringValue", &self.0.to_string())?,
        }
        map.end()
    }
}

/// The name of a field as an attribute. OpenTelemetry's conventions have names for some.
fn attribute_name(name: &str) -> &str {
    match name {
        "tid" => "thread.id",
        "at" => "code.location",
        "waits_for" => "wait.resource",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_signed() {
        let value = |value: Value| json!(Attributes(&[("key", value)]))[0]["value"].clone();
        assert_eq!(value(json!(7)), json!({ "intValue": "7" }));
        let text = json!({ "stringValue": "18446744073709551615" });
        assert_eq!(value(json!(u64::MAX)), text);
        assert_eq!(value(json!("a")), json!({ "stringValue": "a" }));
    }
}
