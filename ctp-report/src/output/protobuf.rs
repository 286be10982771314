//! Encodes protocol buffer messages, field by field.
//!
//! The format is that of the "Encoding" page of the protocol buffers documentation: a field is a key (field number and
//! wire type) followed by a value. Callers know the field numbers of each message.

// Wire types, the low three bits of a key.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;

/// An encoded message, to which fields are appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<u8>);

impl Message {
    /// The encoded fields.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Removes all fields, and keeps the allocation.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends an unsigned number, an enumeration value or a boolean.
    pub fn number(&mut self, field: u64, value: u64) {
        self.key(field, VARINT);
        self.varint(value);
    }

    /// Appends a number of eight bytes.
    pub fn fixed64(&mut self, field: u64, value: u64) {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a text.
    pub fn text(&mut self, field: u64, text: &str) {
        self.delimited(field, text.as_bytes());
    }

    /// Appends a message.
    pub fn message(&mut self, field: u64, message: &Message) {
        self.delimited(field, &message.0);
    }

    /// Appends numbers as a packed field. Appends nothing if `values` is empty.
    pub fn packed(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut packed = Message::default();
        for value in values {
            packed.varint(value);
        }
        if !packed.is_empty() {
            self.message(field, &packed);
        }
    }

    /// Appends the fields of another message.
    pub fn append(&mut self, fields: &Message) {
        self.0.extend_from_slice(&fields.0);
    }

    fn delimited(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, LENGTH_DELIMITED);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn key(&mut self, field: u64, wire_type: u64) {
        self.varint(field << 3 | wire_type);
    }

    fn varint(&mut self, mut value: u64) {
        while 0x80 <= value {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The bytes are the examples of the documentation of protocol buffers.
    #[test]
    fn fields_are_encoded_as_documented() {
        let mut inner = Message::default();
        inner.number(1, 150);
        assert_eq!(inner.bytes(), [0x08, 0x96, 0x01]);
        let mut outer = Message::default();
        outer.message(3, &inner);
        assert_eq!(outer.bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        outer.clear();
        outer.text(2, "testing");
        assert_eq!(outer.bytes(), b"\x12\x07testing");
        outer.clear();
        outer.packed(6, [3, 270, 86_942]);
        assert_eq!(
            outer.bytes(),
            [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]
        );
    }

    #[test]
    fn fixed_numbers_have_all_bytes() {
        let mut message = Message::default();
        message.fixed64(2, 0x0102);
        assert_eq!(message.bytes(), [0x11, 2, 1, 0, 0, 0, 0, 0, 0]);
        message.clear();
        message.packed(3, []);
        assert!(message.is_empty());
    }
}
