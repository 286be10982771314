//! The values of a column, collected for a row group.

use std::collections::HashMap;

use parquet::data_type::ByteArray;

use crate::tables::schema::{self, Kind, Table};
use crate::tables::value::Value;

/// The values of a column that are not null, and which rows have a value.
pub struct Column {
    /// The values.
    pub values: Values,
    /// For each row, 1 if it has a value, and 0 if not. Empty if all rows must have a value.
    pub levels: Vec<i16>,
    is_nullable: bool,
}

/// Values of a type of Parquet.
pub enum Values {
    /// Numbers, with or without a sign.
    Numbers(Vec<i64>),
    /// True or false.
    Flags(Vec<bool>),
    /// Texts, which share their memory with equal texts.
    Texts(Vec<ByteArray>, HashMap<Box<str>, ByteArray>),
}

impl Column {
    /// The empty columns of a table.
    pub fn of_table(table: &Table) -> Vec<Self> {
        table.columns.iter().map(Column::of).collect()
    }

    fn of(column: &schema::Column) -> Self {
        Column {
            values: match column.kind {
                Kind::Time | Kind::Number | Kind::Unsigned => Values::Numbers(Vec::new()),
                Kind::Flag => Values::Flags(Vec::new()),
                Kind::Text => Values::Texts(Vec::new(), HashMap::new()),
            },
            levels: Vec::new(),
            is_nullable: column.is_nullable,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match &self.values {
            _ if self.is_nullable => self.levels.len(),
            Values::Numbers(numbers) => numbers.len(),
            Values::Flags(flags) => flags.len(),
            Values::Texts(texts, _) => texts.len(),
        }
    }

    /// Adds the value of the next row.
    pub fn push(&mut self, value: Value<'_>) {
        if self.is_nullable {
            self.levels.push(i16::from(value != Value::Null));
        }
        match (&mut self.values, value) {
            (_, Value::Null) => {}
            (Values::Numbers(numbers), Value::Number(number)) => numbers.push(number),
            (Values::Numbers(numbers), Value::Unsigned(number)) => {
                // Columns of unsigned numbers have the same bytes.
                numbers.push(i64::from_ne_bytes(number.to_ne_bytes()));
            }
            (Values::Flags(flags), Value::Flag(flag)) => flags.push(flag),
            (Values::Texts(texts, known), Value::Text(text)) => texts.push(shared(known, text)),
            (_, value) => unreachable!("{value:?} is not of the kind of its column"),
        }
    }
}

/// The bytes of a text, in memory that all equal texts of the row group share.
fn shared(known: &mut HashMap<Box<str>, ByteArray>, text: &str) -> ByteArray {
    if let Some(bytes) = known.get(text) {
        return bytes.clone();
    }
    let bytes = ByteArray::from(text.as_bytes().to_vec());
    known.insert(text.into(), bytes.clone());
    bytes
}
