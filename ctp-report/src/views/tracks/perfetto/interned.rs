//! Texts that are written once, with a number that stands for them from then on.

use std::collections::HashMap;

use crate::output::protobuf::Message;

/// Fields of `EventCategory`, `EventName`, `DebugAnnotationName` and `InternedString`, which are alike.
const IID: u64 = 1;
const TEXT: u64 = 2;

/// How many texts a table holds, and how many bytes they have. Further texts are written each time, which bounds
/// the memory.
const MAX_TEXTS: usize = 1 << 16;
const MAX_BYTES: usize = 4 << 20;

/// The texts of one kind.
#[derive(Debug)]
pub struct InternTable {
    /// The field of `InternedData` for texts of this kind.
    field: u64,
    numbers: HashMap<String, u64>,
    /// The bytes of all texts.
    bytes: usize,
}

impl InternTable {
    /// Names of categories.
    pub fn of_categories() -> Self {
        InternTable::new(1)
    }

    /// Names of events.
    pub fn of_names() -> Self {
        InternTable::new(2)
    }

    /// Names of debug annotations.
    pub fn of_details() -> Self {
        InternTable::new(3)
    }

    /// Values of debug annotations.
    pub fn of_values() -> Self {
        InternTable::new(29)
    }

    fn new(field: u64) -> Self {
        InternTable {
            field,
            numbers: HashMap::new(),
            bytes: 0,
        }
    }

    /// The number of a text, or `None` if the table is full. A new text is appended to `interned`.
    pub fn number(&mut self, text: &str, interned: &mut Message) -> Option<u64> {
        if let Some(number) = self.numbers.get(text) {
            return Some(*number);
        }
        let bytes = self.bytes.saturating_add(text.len());
        if MAX_TEXTS <= self.numbers.len() || MAX_BYTES < bytes {
            return None;
        }
        self.bytes = bytes;
        let number = self.numbers.len() as u64 + 1;
        self.numbers.insert(text.to_owned(), number);
        let mut entry = Message::default();
        entry.number(IID, number);
        entry.text(TEXT, text);
        interned.message(self.field, &entry);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-21
    #[test]
    fn bytes_of_a_table_are_bounded() {
        let mut table = InternTable::of_names();
        let mut interned = Message::default();
        let long = "n".repeat(MAX_BYTES - 1);
        assert_eq!(table.number(&long, &mut interned), Some(1));
        assert_eq!(table.number("ab", &mut interned), None);
        assert_eq!(table.number("c", &mut interned), Some(2));
        assert_eq!(table.number(&long, &mut interned), Some(1));
        assert_eq!(table.number("d", &mut interned), None);
    }

    #[test]
    fn texts_are_written_once_and_memory_is_bounded() {
        let mut table = InternTable::of_names();
        let mut interned = Message::default();
        assert_eq!(table.number("a", &mut interned), Some(1));
        assert_eq!(interned.bytes(), b"\x12\x05\x08\x01\x12\x01a");
        interned.clear();
        assert_eq!(table.number("a", &mut interned), Some(1));
        assert!(interned.is_empty());
        for i in 1..MAX_TEXTS {
            let number = table.number(&i.to_string(), &mut interned);
            assert_eq!(number, Some(i as u64 + 1));
        }
        interned.clear();
        assert_eq!(table.number("b", &mut interned), None);
        assert_eq!(table.number("a", &mut interned), Some(1));
        assert!(interned.is_empty());
    }
}
