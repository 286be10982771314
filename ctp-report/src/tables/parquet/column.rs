//! The values of a column, collected for a row group.

use super::texts::Texts;
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
    /// Texts.
    Texts(Box<Texts>),
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
                Kind::Text => Values::Texts(Box::default()),
            },
            levels: Vec::new(),
            is_nullable: column.is_nullable,
        }
    }

    /// Removes all rows, and keeps the memory.
    pub fn clear(&mut self) {
        self.levels.clear();
        match &mut self.values {
            Values::Numbers(numbers) => numbers.clear(),
            Values::Flags(flags) => flags.clear(),
            Values::Texts(texts) => texts.clear(),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match &self.values {
            _ if self.is_nullable => self.levels.len(),
            Values::Numbers(numbers) => numbers.len(),
            Values::Flags(flags) => flags.len(),
            Values::Texts(texts) => texts.numbers().len(),
        }
    }

    /// Adds the value of the next row.
    #[inline]
    pub fn push(&mut self, value: Value<'_>) {
        if self.is_nullable {
            self.levels.push(i16::from(!matches!(value, Value::Null)));
        }
        match (&mut self.values, value) {
            (_, Value::Null) => {}
            (Values::Numbers(numbers), Value::Number(number)) => numbers.push(number),
            (Values::Numbers(numbers), Value::Unsigned(number)) => {
                // Columns of unsigned numbers have the same bytes.
                numbers.push(number.cast_signed());
            }
            (Values::Flags(flags), Value::Flag(flag)) => flags.push(flag),
            (Values::Texts(texts), Value::Word(word)) => texts.push_word(word),
            (Values::Texts(texts), Value::Text(text)) => texts.push(text),
            (_, value) => is_of_another_kind(value),
        }
    }
}

/// Rejects a value that the schema does not have. Apart from [`Column::push`], which then needs less of the stack.
#[cold]
fn is_of_another_kind(value: Value<'_>) -> ! {
    unreachable!("{value:?} is not of the kind of its column")
}
