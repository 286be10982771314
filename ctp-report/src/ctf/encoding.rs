//! Encodes packets and event records. All numbers are little-endian, and nothing is aligned.

use ctp_trace::record::Nanos;

use crate::ctf::schema::{EVENT_CONTEXT, EVENT_HEADER, EventClass, FieldType, PacketField};

/// The value of a field of an event record.
#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'v> {
    /// Of 32 bits, or the number of a label.
    U32(u32),
    /// Of 64 bits.
    U64(u64),
    /// Without the zero byte at its end.
    Text(&'v str),
}

/// Where and when an event happened.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time.
    pub at: Nanos,
    /// The kernel's id of the process, 0 if it has none.
    pub pid: u32,
    /// The kernel's id of the thread.
    pub tid: u64,
}

/// Appends the values of fixed fields.
pub fn append_fields<const N: usize>(
    fields: &[PacketField; N],
    values: [u64; N],
    out: &mut Vec<u8>,
) {
    for (field, value) in fields.iter().zip(values) {
        let bytes = value.to_le_bytes();
        out.extend_from_slice(&bytes[..field.bits as usize / 8]);
    }
}

/// Appends an event record.
pub fn event(class: EventClass, moment: Moment, values: &[FieldValue<'_>], out: &mut Vec<u8>) {
    debug_assert_eq!(values.len(), class.fields().len(), "{class:?}");
    append_fields(&EVENT_HEADER, [class as u64, moment.at.0], out);
    append_fields(&EVENT_CONTEXT, [moment.pid.into(), moment.tid], out);
    for ((name, field_type), value) in class.fields().iter().zip(values) {
        debug_assert!(value.has_type(*field_type), "{class:?}: {name}");
        value.encode(out);
    }
}

impl FieldValue<'_> {
    fn has_type(&self, field_type: FieldType) -> bool {
        match self {
            FieldValue::U32(_) => matches!(field_type, FieldType::U32 | FieldType::Label(_)),
            FieldValue::U64(_) => field_type == FieldType::U64,
            FieldValue::Text(_) => field_type == FieldType::Text,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            FieldValue::U32(number) => out.extend_from_slice(&number.to_le_bytes()),
            FieldValue::U64(number) => out.extend_from_slice(&number.to_le_bytes()),
            FieldValue::Text(text) => {
                // A zero byte would end the text.
                out.extend(text.bytes().filter(|byte| *byte != 0));
                out.push(0);
            }
        }
    }
}
