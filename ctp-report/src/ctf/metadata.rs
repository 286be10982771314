//! The metadata: a sequence of JSON texts (RFC 7464) that describes the streams.

use std::io::{self, Write};

use ctp_trace::record::Start;
use serde_json::{Map, Value, json};

use crate::ctf::labels::Labels;
use crate::ctf::schema::{
    EVENT_CONTEXT, EVENT_HEADER, EventClass, FieldType, LabelSet, PACKET_CONTEXT, PACKET_HEADER,
    PacketField,
};
use crate::ctf::streams::unix_ns;
use crate::text::{escape, escape_bytes};

/// Precedes each JSON text.
const RECORD_SEPARATOR: u8 = 0x1e;
/// The id of the only clock.
const CLOCK: &str = "monotonic";
/// Nanoseconds.
const FREQUENCY: u64 = 1_000_000_000;

/// Writes the metadata of a recording.
///
/// # Errors
/// Those of `out`.
pub fn write(start: &Start, labels: &Labels, out: &mut dyn Write) -> io::Result<()> {
    fragment(&json!({"type": "preamble", "version": 2}), out)?;
    fragment(&clock(start), out)?;
    for set in LabelSet::ALL {
        fragment(&alias(set, labels), out)?;
    }
    fragment(&trace(start), out)?;
    fragment(&streams(), out)?;
    for class in EventClass::ALL {
        fragment(&event(class), out)?;
    }
    Ok(())
}

fn fragment(fragment: &Value, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&[RECORD_SEPARATOR])?;
    serde_json::to_writer(&mut *out, fragment)?;
    writeln!(out)
}

/// A type to which fields refer by its name, so that its texts are written once.
fn alias(set: LabelSet, labels: &Labels) -> Value {
    json!({
        "type": "field-class-alias",
        "name": set.name(),
        "field-class": labelled(set, labels),
    })
}

/// The clock counts from the start of the recording.
fn clock(start: &Start) -> Value {
    json!({
        "type": "clock-class",
        "id": CLOCK,
        "name": CLOCK,
        "frequency": FREQUENCY,
        "origin": "unix-epoch",
        "offset-from-origin": {
            "seconds": unix_ns(start) / FREQUENCY,
            "cycles": unix_ns(start) % FREQUENCY,
        },
    })
}

fn trace(start: &Start) -> Value {
    let words: Vec<String> = start.argv.iter().map(|word| escape_bytes(word)).collect();
    json!({
        "type": "trace-class",
        "packet-header-field-class": structure(&PACKET_HEADER),
        "environment": {
            "hostname": escape(&start.host),
            "command": words.join(" "),
            "tracer_name": "ctp",
            "tracer_version": escape(&start.recorder),
        },
    })
}

fn streams() -> Value {
    json!({
        "type": "data-stream-class",
        "id": 0,
        "default-clock-class-id": CLOCK,
        "packet-context-field-class": structure(&PACKET_CONTEXT),
        "event-record-header-field-class": structure(&EVENT_HEADER),
        "event-record-common-context-field-class": structure(&EVENT_CONTEXT),
    })
}

fn event(class: EventClass) -> Value {
    let members = class.fields().iter().map(|(name, field_type)| {
        let field_class = match field_type {
            FieldType::U32 => unsigned(32),
            FieldType::U64 => unsigned(64),
            FieldType::Label(set) => set.name().into(),
            FieldType::Text => json!({"type": "null-terminated-string"}),
        };
        member(name, field_class)
    });
    json!({
        "type": "event-record-class",
        "id": class as u64,
        "data-stream-class-id": 0,
        "name": class.name(),
        "payload-field-class": {
            "type": "structure",
            "member-classes": members.collect::<Vec<_>>(),
        },
    })
}

fn structure(fields: &[PacketField]) -> Value {
    let members = fields.iter().map(|field| {
        let mut field_class = unsigned(field.bits);
        if let Some(role) = field.role {
            field_class["roles"] = json!([role]);
        }
        member(field.name, field_class)
    });
    json!({"type": "structure", "member-classes": members.collect::<Vec<_>>()})
}

fn member(name: &str, field_class: Value) -> Value {
    json!({"name": name, "field-class": field_class})
}

fn unsigned(bits: u32) -> Value {
    json!({
        "type": "fixed-length-unsigned-integer",
        "length": bits,
        "byte-order": "little-endian",
    })
}

/// A number with a text for each of its values.
fn labelled(set: LabelSet, labels: &Labels) -> Value {
    let mut field_class = unsigned(32);
    let texts = labels.texts(set).iter().enumerate();
    let mappings: Map<String, Value> = texts
        .map(|(number, text)| (text.clone(), json!([[number, number]])))
        .collect();
    // The format has no set without a label.
    if !mappings.is_empty() {
        field_class["mappings"] = mappings.into();
    }
    field_class
}
